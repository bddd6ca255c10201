// Common settings of all tables.
#pragma once

#include <initializer_list>

class QString;
class QSortFilterProxyModel;
class QSplitter;
class QStyle;
class QTableView;
class QTreeView;

namespace memprof::viewer {

// The style of the application: Fusion, with cells of tables as far apart as their headings, so
// that a number at the right of its column is not taken for a part of the text beside it.
QStyle* MakeStyle();

// Rows of one height, no frame, no stretched last column.
void SetUpTable(QTreeView* table);
// With bars behind numbers, and columns as wide as their content.
void SetUpTable(QTreeView* table, int share_role);
// Rows of `sorted`, in their original order until a heading is clicked; rows and cells can be
// copied.
void SetUpTable(QTreeView* table, QSortFilterProxyModel* sorted, const QString& name);
// Selects whole rows, one at a time; no grid, no row numbers.
void SetUpTable(QTableView* table, const QString& name);

// Hides, in this order, columns for which the table is too narrow. The column `wide` needs `least`
// pixels, others their contents, or where they can be made narrower, their headings.
void HideColumns(QTreeView* table, std::initializer_list<int> first_to_go, int wide, int least);

// Gives a column of names the remaining width, but on a wide screen only what names need, so that
// figures stay near them.
void FitNames(QTreeView* table, int column);

// Gives the upper of two parts the height of `rows` rows of its table, of as many as are whole in
// `most` pixels, but of at least `least` rows; the lower part gets the rest.
void SetUpperRows(QSplitter* splitter, const QTreeView* table, int rows, int least, int most);

}  // namespace memprof::viewer
