// Copying from tables: the row with Ctrl+C, or the row or the cell from the context menu.
#pragma once

#include <qnamespace.h>

class QAbstractItemView;
class QModelIndex;
class QString;

namespace memprof::viewer {

struct CopyOptions {
  int role = Qt::DisplayRole;  // what of a cell is copied
  int drawn = -1;              // a column of pictures, which is left out
  // The actions are the table's context menu. Else whoever makes one adds table->actions().
  bool menu = true;
};

// The cells of a row that are shown, in the order in which they are, separated by tabs. For tables
// and trees.
QString RowText(const QAbstractItemView* table, const QModelIndex& row,
                const CopyOptions& options = {});

void AddCopyActions(QAbstractItemView* table, const CopyOptions& options = {});

}  // namespace memprof::viewer
