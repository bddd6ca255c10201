// A table of facts as a widget.
#include "viewer/views/fact_view.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QKeyEvent>

#include "viewer/views/bar_delegate.h"
#include "viewer/views/view.h"

namespace memprof::viewer {

void SetUpTable(QTreeView* view, int share_role) {
  view->setUniformRowHeights(true);
  view->setAlternatingRowColors(true);
  view->setFrameShape(QFrame::NoFrame);
  view->setAllColumnsShowFocus(true);
  view->setTextElideMode(Qt::ElideRight);
  view->setItemDelegate(new BarDelegate(share_role, view));
  view->header()->setStretchLastSection(false);
  view->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
}

FactView::FactView(FactTable* table, int wide, QWidget* parent) : QTreeView(parent), table_(table) {
  setModel(table);
  setRootIsDecorated(false);
  SetUpTable(this, FactTable::kShareRole);
  header()->setSectionResizeMode(wide, QHeaderView::Stretch);
  header()->setSortIndicator(-1, Qt::DescendingOrder);
  header()->setSortIndicatorClearable(true);
  setSortingEnabled(true);
  setContextMenuPolicy(Qt::ActionsContextMenu);
  QAction* row = addAction(tr("Copy row"));
  row->setShortcut(QKeySequence::Copy);
  row->setShortcutContext(Qt::WidgetShortcut);
  connect(row, &QAction::triggered, this, [this] { Copy(true); });
  connect(addAction(tr("Copy cell")), &QAction::triggered, this, [this] { Copy(false); });
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
  const auto write = [out](const QStringList& fields) {
    for (qsizetype i = 0; i < fields.size(); ++i)
      *out << (i == 0 ? "" : ",") << CsvField(fields[i]);
    *out << '\n';
  };
  write(table_->Headings());
  for (int i = 0; i < table_->rowCount(); ++i) write(table_->RawRow(i));
  return table_->rowCount() > 0;
}

void FactView::Copy(bool whole_row) const {
  const QModelIndex index = currentIndex();
  if (!index.isValid()) return;
  QApplication::clipboard()->setText(whole_row ? table_->RowText(index.row())
                                               : index.data().toString());
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
