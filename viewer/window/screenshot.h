// Draws a log into a picture without a display.
#pragma once

#include "viewer/window/options.h"

namespace memprof::viewer {

// Needs a QApplication on the offscreen platform. Returns the exit status: 0, or 1 with one line on
// stderr if the log cannot be read or the picture cannot be written.
int TakeScreenshot(const Options& options);

}  // namespace memprof::viewer
