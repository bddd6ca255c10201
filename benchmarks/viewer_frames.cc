// Opens a log in the viewer's window without a display, as a person would use it, and measures what
// a person waits for. Prints one line of JSON; times in milliseconds unless named otherwise.
//
//   viewer_frames LOG [FRAMES [VIEW...]]
//
// first_picture_s  from the call that opens the log to the window painted with the whole timeline
// settled_s        to everything that the front view computes
// frame            zooming and panning: from the new window to the view painted with it
// click            from a new instant to the state of the front view and the details painted
// rss              resident bytes once all that was done; peak: the most while it was done
#include <QApplication>
#include <QElapsedTimer>
#include <QPixmap>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "viewer/jobs/heap.h"
#include "viewer/views/theme.h"
#include "viewer/views/view.h"
#include "viewer/window/main_window.h"
#include "viewer/window/view_table.h"

namespace {

using memprof::analysis::TimeNs;
using memprof::analysis::TimeWindow;
using memprof::viewer::JobTracker;
using memprof::viewer::MainWindow;
using memprof::viewer::ViewEntry;

double Milliseconds(const QElapsedTimer& watch) {
  return static_cast<double>(watch.nsecsElapsed()) / 1e6;
}

struct Times {
  std::vector<double> all;
  void Add(double time) { all.push_back(time); }
  std::string Json() {
    if (all.empty()) return "null";
    std::sort(all.begin(), all.end());
    const auto at = [&](double share) {
      return all[std::min(all.size() - 1,
                          static_cast<std::size_t>(share * static_cast<double>(all.size())))];
    };
    char text[128];
    std::snprintf(text, sizeof text, "{\"median\": %.3f, \"p95\": %.3f, \"most\": %.3f}", at(0.5),
                  at(0.95), all.back());
    return text;
  }
};

// A line of /proc/self/status with an amount of memory, in bytes.
long StatusBytes(const char* line_begin) {
  long kib = 0;
  char line[256];
  const std::size_t length = std::strlen(line_begin);
  std::FILE* status = std::fopen("/proc/self/status", "r");
  while (status != nullptr && std::fgets(line, sizeof line, status) != nullptr)
    if (std::strncmp(line, line_begin, length) == 0) kib = std::atol(line + length);
  if (status != nullptr) std::fclose(status);
  return kib * 1024;
}

// The peak memory of this program since the last Forget(), and in all.
class PeakMemory {
 public:
  long all() { return most_ = std::max(most_, since()); }
  static long since() { return StatusBytes("VmHWM:"); }
  static long now() { return StatusBytes("VmRSS:"); }
  void Forget() {
    all();
    // If the kernel does not allow it, the peak of a view includes those of all views before it.
    if (std::FILE* reset = std::fopen("/proc/self/clear_refs", "w")) {
      std::fputs("5", reset);
      std::fclose(reset);
    }
  }

 private:
  long most_ = 0;
};

// Zooms in by steps at random places, pans, and zooms out again.
std::vector<TimeWindow> Gestures(TimeWindow bounds, int frames) {
  std::mt19937_64 random(11);
  std::vector<TimeWindow> windows;
  TimeWindow window = bounds;
  while (static_cast<int>(windows.size()) < frames) {
    const TimeNs width = window.end - window.begin;
    if (windows.size() % 20 == 19 || width < 100'000) {
      window = bounds;
    } else if (windows.size() % 3 == 2) {
      const TimeNs shift = std::min(width / 10, bounds.end - window.end);
      window = {window.begin + shift, window.end + shift};
    } else {
      const TimeNs less = width / 4, left = random() % (less + 1);
      window = {window.begin + left, window.end - (less - left)};
    }
    windows.push_back(window);
  }
  return windows;
}

// The image is the screen: 1280x800 pixels in memory.
void Paint(QWidget* widget, QImage* screen) { widget->render(screen); }

std::string MeasureView(MainWindow& window, const ViewEntry& entry, int frames, QImage* screen,
                        PeakMemory* memory) {
  memory->Forget();
  QElapsedTimer watch;
  watch.start();
  window.ShowView(entry.kind);
  window.WaitUntilSettled();
  const double shown = Milliseconds(watch);
  QWidget* page = window.page(entry.kind);
  Times frame, click;
  for (const TimeWindow& to : Gestures(window.selection().bounds(), frames)) {
    watch.start();
    window.selection().SetWindow(to);
    Paint(page, screen);
    frame.Add(Milliseconds(watch));
    // Results of jobs appear in a later frame.
    QCoreApplication::processEvents();
  }
  window.WaitUntilSettled();
  window.selection().ShowAll();
  window.WaitUntilSettled();
  std::mt19937_64 random(13);
  const TimeWindow bounds = window.selection().bounds();
  for (int i = 0; i < std::max(1, frames / 4); ++i) {
    const TimeNs instant = bounds.begin + random() % (bounds.end - bounds.begin);
    watch.start();
    window.selection().SetInstant(instant);
    // The window repaints only what changed, as on a screen.
    do {
      QCoreApplication::processEvents(QEventLoop::AllEvents);
    } while (JobTracker::ActiveJobs() > 0);
    QCoreApplication::processEvents(QEventLoop::AllEvents);
    click.Add(Milliseconds(watch));
  }
  window.WaitUntilSettled();
  char text[512];
  std::snprintf(
      text, sizeof text,
      "\"%s\": {\"shown\": %.1f, \"frame\": %s, \"click\": %s, \"rss\": %ld, \"peak\": %ld}",
      entry.name, shown, frame.Json().c_str(), click.Json().c_str(), PeakMemory::now(),
      PeakMemory::since());
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: viewer_frames LOG [FRAMES [VIEW...]]\n", stderr);
    return 2;
  }
  memprof::viewer::KeepHeapSmall();
  qputenv("QT_QPA_PLATFORM", "offscreen");
  qInstallMessageHandler([](QtMsgType, const QMessageLogContext&, const QString&) {});
  QApplication application(argc, argv);
  QApplication::setPalette(memprof::viewer::MakePalette(true));
  const int frames = argc > 2 ? std::atoi(argv[2]) : 200;
  MainWindow window(MainWindow::Settings::kIgnored);
  window.setFixedSize(1280, 800);
  window.show();
  QImage screen(window.size(), QImage::Format_ARGB32_Premultiplied);
  QElapsedTimer watch;
  watch.start();
  window.Open(QString::fromLocal8Bit(argv[1]));
  while (window.document().timelines() == nullptr &&
         window.document().state() != memprof::viewer::Document::State::kFailed)
    QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents, 20);
  if (window.document().timelines() == nullptr) {
    std::fprintf(stderr, "viewer_frames: %s\n", qPrintable(window.document().error()));
    return 1;
  }
  QCoreApplication::processEvents();
  Paint(&window, &screen);
  const double first = Milliseconds(watch) / 1000;
  window.WaitUntilSettled();
  Paint(&window, &screen);
  const double settled = Milliseconds(watch) / 1000;
  PeakMemory memory;
  const long opened = memory.all(), settled_rss = PeakMemory::now();
  std::string views;
  for (const ViewEntry& entry : memprof::viewer::ViewTable()) {
    const auto is_named = [&](const char* name) { return std::string(entry.name) == name; };
    if (argc > 3 && std::none_of(argv + 3, argv + argc, is_named)) continue;
    views += (views.empty() ? "" : ", ") + MeasureView(window, entry, frames, &screen, &memory);
  }
  std::printf(
      "{\"events\": %zu, \"first_picture_s\": %.3f, \"settled_s\": %.3f, \"opened_rss\": %ld, "
      "\"settled_rss\": %ld, \"peak_rss\": %ld, \"views\": {%s}}\n",
      window.document().session()->events().size(), first, settled, opened, settled_rss,
      memory.all(), views.c_str());
  JobTracker::WaitForAll();
  return 0;
}
