// Common settings of all tables.
#pragma once

class QString;
class QSortFilterProxyModel;
class QSplitter;
class QTableView;
class QTreeView;

namespace memprof::viewer {

// Rows of one height, no frame, no stretched last column.
void SetUpTable(QTreeView* table);
// With bars behind numbers, and columns as wide as their content.
void SetUpTable(QTreeView* table, int share_role);
// Rows of `sorted`, in their original order until a heading is clicked; rows and cells can be
// copied.
void SetUpTable(QTreeView* table, QSortFilterProxyModel* sorted, const QString& name);
// Selects whole rows, one at a time; no grid, no row numbers.
void SetUpTable(QTableView* table, const QString& name);

// Gives a column of names the remaining width, but on a wide screen only what names need, so that
// figures stay near them.
void FitNames(QTreeView* table, int column);

// Gives the upper of two parts the height `wanted`, between `least` and `most`, and the lower one
// the rest. In pixels.
void SetUpperHeight(QSplitter* splitter, int wanted, int least, int most);

}  // namespace memprof::viewer
