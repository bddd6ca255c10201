// Draws a log into a picture without a display.
#include "viewer/window/screenshot.h"

#include <QPixmap>
#include <cstdio>

#include "viewer/views/notice_bar.h"
#include "viewer/window/caption.h"
#include "viewer/window/fleet_window.h"
#include "viewer/window/main_window.h"

namespace memprof::viewer {

namespace {

int Save(QWidget* window, const QString& path, const QString& caption = {}) {
  if (GrabWithCaption(window, caption).save(path, "PNG")) return 0;
  std::fprintf(stderr, "memprof-viewer: cannot write the picture %s\n", qPrintable(path));
  return 1;
}

int TakeScreenshotOfFleet(const Options& options) {
  FleetWindow window(MainWindow::Settings::kIgnored);
  window.setFixedSize(options.size / options.scale);
  window.show();
  window.Open(options.logs.front());
  window.WaitUntilSettled();
  if (window.error().isEmpty()) return Save(&window, options.screenshot);
  std::fprintf(stderr, "memprof-viewer: %s\n", qPrintable(window.error()));
  return 1;
}

}  // namespace

int TakeScreenshot(const Options& options) {
  if (options.logs.size() == 1 && IsFleet(options.logs.front()))
    return TakeScreenshotOfFleet(options);
  MainWindow window(MainWindow::Settings::kIgnored);
  // Fixed, so that the picture has the requested size, whatever size the views prefer.
  window.setFixedSize(options.size / options.scale);
  window.ShowView(ViewKind::kTimeline);
  window.ShowFirst(options);
  window.show();
  window.OpenTogether(options.logs);
  window.WaitUntilSettled();
  if (window.document().state() == Document::State::kFailed) {
    std::fprintf(stderr, "memprof-viewer: %s\n", qPrintable(window.document().error()));
    return 1;
  }
  if (const QString missed = window.notice()->text(); !missed.isEmpty()) {
    std::fprintf(stderr, "memprof-viewer: %s\n", qPrintable(missed));
    window.notice()->hide();
    window.WaitUntilSettled();
  }
  return Save(&window, options.screenshot, options.caption ? window.Caption() : QString());
}

}  // namespace memprof::viewer
