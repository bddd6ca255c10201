// The windows of a start of the program.
#pragma once

#include "viewer/window/main_window.h"
#include "viewer/window/options.h"

namespace memprof::viewer {

// One window for all logs, one each if they are to be separate, and that of a fleet for its folder.
// They delete themselves when they are closed.
void OpenWindows(const Options& options, MainWindow::Settings settings);

}  // namespace memprof::viewer
