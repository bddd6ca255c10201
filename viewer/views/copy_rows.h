// Copying from tables: the row with Ctrl+C, or the row or the cell from the context menu.
#pragma once

class QTreeView;

namespace memprof::viewer {

// Cells of a row are separated by tabs.
void AddCopyActions(QTreeView* table);

}  // namespace memprof::viewer
