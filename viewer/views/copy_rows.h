// Copies from tables: the row with Ctrl+C, or the row or the cell by the context menu.
#pragma once

#include <qnamespace.h>

class QAbstractItemView;
class QModelIndex;
class QString;

namespace memprof::viewer {

struct CopyOptions {
  int role = Qt::DisplayRole;  // what of a cell is copied
  int drawn = -1;              // a column of pictures, which is left out
  // The actions form the table's context menu. If false, the caller adds table->actions() to its
  // own menu.
  bool menu = true;
};

// The visible cells of a row in their visible order, separated by tabs. For tables and trees.
QString RowText(const QAbstractItemView* table, const QModelIndex& row,
                const CopyOptions& options = {});

void AddCopyActions(QAbstractItemView* table, const CopyOptions& options = {});

}  // namespace memprof::viewer
