// Folders for what the viewer makes of logs while it runs: copies, and logs of other formats.
#pragma once

#include <QTemporaryDir>
#include <memory>

namespace memprof::viewer {

// In the user's cache; the destructor removes it. Null if none can be made.
std::unique_ptr<QTemporaryDir> MakeScratchFolder();

// Removes those of viewers that were killed. At the start, since they may be as large as logs.
void RemoveOldScratchFolders();

}  // namespace memprof::viewer
