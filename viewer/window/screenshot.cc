// Draws a log into a picture without a display.
#include "viewer/window/screenshot.h"

#include <QPixmap>
#include <cstdio>

#include "viewer/window/main_window.h"

namespace memprof::viewer {

int TakeScreenshot(const Options& options) {
  MainWindow window(MainWindow::Settings::kIgnored);
  // Fixed, so that the picture has the requested size, whatever size the views prefer.
  window.setFixedSize(options.size / options.scale);
  window.ShowView(ViewKind::kTimeline);
  window.ShowFirst(options);
  window.selection().SetAxis(options.axis.value_or(AxisKind::kTime));
  window.show();
  window.OpenTogether(options.logs);
  window.WaitUntilSettled();
  if (window.document().state() == Document::State::kFailed) {
    std::fprintf(stderr, "memprof-viewer: %s\n", qPrintable(window.document().error()));
    return 1;
  }
  if (!window.grab().save(options.screenshot, "PNG")) {
    std::fprintf(stderr, "memprof-viewer: cannot write the picture %s\n",
                 qPrintable(options.screenshot));
    return 1;
  }
  return 0;
}

}  // namespace memprof::viewer
