// The manners of tables.
#include "viewer/views/table_setup.h"

#include <QHeaderView>
#include <QSortFilterProxyModel>
#include <QTableView>
#include <QTreeView>

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

}  // namespace memprof::viewer
