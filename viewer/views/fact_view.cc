// A table of facts as a widget.
#include "viewer/views/fact_view.h"

#include <QHeaderView>
#include <QKeyEvent>

#include "viewer/views/copy_rows.h"
#include "viewer/views/csv.h"
#include "viewer/views/name_delegate.h"
#include "viewer/views/table_setup.h"
#include "viewer/views/view.h"

namespace memprof::viewer {

FactView::FactView(FactTable* table, int wide, QWidget* parent) : QTreeView(parent), table_(table) {
  setModel(table);
  setRootIsDecorated(false);
  SetUpTable(this, FactTable::kShareRole);
  for (int column = 0; column < table->columnCount(); ++column)
    if (table->HasSites(column)) setItemDelegateForColumn(column, new NameDelegate(this));
  header()->setSectionResizeMode(wide, QHeaderView::Stretch);
  header()->setSortIndicator(-1, Qt::DescendingOrder);
  header()->setSortIndicatorClearable(true);
  setSortingEnabled(true);
  AddCopyActions(this);
  connect(selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& index) {
            if (index.isValid() && !showing_) emit Chosen(table_->row(index.row()));
          });
  connect(this, &QTreeView::doubleClicked, this,
          [this](const QModelIndex& index) { emit Opened(table_->row(index.row())); });
}

void FactView::SetWide(int column) { header()->setSectionResizeMode(column, QHeaderView::Stretch); }

void FactView::Show(int row) {
  if (row == currentIndex().row()) return;
  showing_ = true;
  const QModelIndex index = row < 0 ? QModelIndex() : table_->index(row, 0);
  setCurrentIndex(index);
  if (index.isValid()) scrollTo(index);
  if (!index.isValid()) clearSelection();
  showing_ = false;
}

bool FactView::WriteCsv(QTextStream* out) const {
  WriteCsvLine(out, table_->Headings());
  for (int i = 0; i < table_->rowCount(); ++i) WriteCsvLine(out, table_->RawRow(i));
  return table_->rowCount() > 0;
}

// Keeps the current row visible when the table becomes lower.
void FactView::resizeEvent(QResizeEvent* event) {
  QTreeView::resizeEvent(event);
  if (currentIndex().isValid()) scrollTo(currentIndex());
}

void FactView::keyPressEvent(QKeyEvent* event) {
  const bool enter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
  if (enter && currentIndex().isValid()) {
    emit Opened(table_->row(currentIndex().row()));
    return;
  }
  QTreeView::keyPressEvent(event);
}

}  // namespace memprof::viewer
