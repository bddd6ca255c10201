// The manners of tables: what all of them do alike, whatever they list.
#pragma once

class QString;
class QSortFilterProxyModel;
class QSplitter;
class QTableView;
class QTreeView;

namespace memprof::viewer {

// Rows of one height, no frame, the room left over not given to the last column.
void SetUpTable(QTreeView* table);
// With bars behind numbers, and columns as wide as what they hold.
void SetUpTable(QTreeView* table, int share_role);
// Rows of `sorted`, in the order in which they were given until a heading is clicked; rows and
// cells can be copied.
void SetUpTable(QTreeView* table, QSortFilterProxyModel* sorted, const QString& name);
// Whole rows are chosen, one at a time; no grid, no numbers of rows.
void SetUpTable(QTableView* table, const QString& name);

// Gives a column of names the room that the others leave, but on a wide screen no more than names
// need: figures stay beside them.
void FitNames(QTreeView* table, int column);

// Gives the upper of two parts the height that it wants, at least `least` and at most `most`, and
// the other what is left. In pixels.
void SetUpperHeight(QSplitter* splitter, int wanted, int least, int most);

}  // namespace memprof::viewer
