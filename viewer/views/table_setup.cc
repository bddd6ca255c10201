// Common settings of tables.
#include "viewer/views/table_setup.h"

#include <QHeaderView>
#include <QSortFilterProxyModel>
#include <QSplitter>
#include <QTableView>
#include <QTreeView>
#include <algorithm>

#include "viewer/views/bar_delegate.h"
#include "viewer/views/copy_rows.h"

namespace memprof::viewer {

void SetUpTable(QTreeView* table) {
  table->setUniformRowHeights(true);
  table->setAlternatingRowColors(true);
  table->setFrameShape(QFrame::NoFrame);
  table->setAllColumnsShowFocus(true);
  table->setTextElideMode(Qt::ElideMiddle);
  table->header()->setStretchLastSection(false);
}

void SetUpTable(QTreeView* table, int share_role) {
  SetUpTable(table);
  table->setTextElideMode(Qt::ElideRight);
  table->setItemDelegate(new BarDelegate(share_role, table));
  table->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
}

void SetUpTable(QTreeView* table, QSortFilterProxyModel* sorted, const QString& name) {
  table->setModel(sorted);
  SetUpTable(table);
  table->setRootIsDecorated(false);
  table->setAccessibleName(name);
  table->setSortingEnabled(true);
  table->sortByColumn(-1, Qt::AscendingOrder);
  AddCopyActions(table);
}

void SetUpTable(QTableView* table, const QString& name) {
  table->setAccessibleName(name);
  table->setFrameShape(QFrame::NoFrame);
  table->setShowGrid(false);
  table->setSelectionBehavior(QAbstractItemView::SelectRows);
  table->setSelectionMode(QAbstractItemView::SingleSelection);
  table->setTextElideMode(Qt::ElideMiddle);
  table->setTabKeyNavigation(false);
  table->setCornerButtonEnabled(false);
  table->verticalHeader()->setVisible(false);
}

void FitNames(QTreeView* table, int column) {
  constexpr int kLetters = 72;
  QHeaderView* header = table->header();
  header->setSectionResizeMode(column, QHeaderView::Interactive);
  int room = table->viewport()->width();
  for (int other = 0; other < header->count(); ++other)
    if (other != column && !header->isSectionHidden(other)) room -= header->sectionSize(other);
  const QAbstractItemView* view = table;
  const int wanted = std::max(view->sizeHintForColumn(column) + table->indentation(),
                              kLetters * table->fontMetrics().averageCharWidth());
  header->resizeSection(column, std::max(header->minimumSectionSize(), std::min(room, wanted)));
}

void SetUpperHeight(QSplitter* splitter, int wanted, int least, int most) {
  const int all = splitter->height();
  const int upper = std::clamp(wanted, least, std::max(least, most));
  splitter->setSizes({upper, std::max(1, all - upper)});
}

}  // namespace memprof::viewer
