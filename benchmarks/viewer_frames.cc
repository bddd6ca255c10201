// Opens a log in the viewer's window without a display, as a person would use it, and measures what
// a person waits for. Prints one line of JSON; times in milliseconds unless named otherwise.
//
//   viewer_frames LOG [FRAMES [WIDTHxHEIGHT [VIEW...]]]
//
// first_picture_s  from the call that opens the log to the window painted with the whole timeline
// settled_s        to everything that the front view computes
// first_cpu        of a view: from the choice of it to the first picture with something of the log,
//                  CPU time of all threads
// shown_cpu        to everything that it computes
// frame            zooming and panning: from the new window to the view painted with it, as a
//                  whole; CPU time of the window's thread
// pan              in a drag, from the new window to its frame: what changed is painted, and
//                  results of jobs are shown as they come; CPU time of the window's thread
// sharp            the same for the longest frame after a drag, until the view is sharp
// click            from a new instant to the state of the front view and the details painted; CPU
//                  time of all threads
// rss              resident bytes once all that was done; peak: the most while it was done
#include <QApplication>
#include <QElapsedTimer>
#include <QPainter>
#include <QPixmap>
#include <QProgressBar>
#include <QTimer>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
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

// CPU time of the process or of this thread: independent of other work on the machine.
double CpuMilliseconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// Sleeps until there is an event, at most for some milliseconds, and handles it. (With a time
// limit, processEvents() does not sleep: its CPU time would count.)
void Wait() {
  QTimer wake;
  wake.start(5);
  QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
}

// Until every view shows its data.
void Settle() {
  // A result may start the next job through a queued call, so checks twice.
  for (int quiet = 0; quiet < 2;) {
    QCoreApplication::processEvents();
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    quiet = JobTracker::ActiveJobs() > 0 ? 0 : quiet + 1;
    if (quiet == 0) Wait();
  }
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

// The image is the screen.
void Paint(QWidget* widget, QImage* screen) { widget->render(screen); }

struct Shown {
  double first_cpu, cpu, wall;
};

// Shows a view that was not shown before.
Shown ShowFirst(MainWindow& window, const ViewEntry& entry, QImage* screen) {
  QElapsedTimer watch;
  watch.start();
  const double begin = CpuMilliseconds(CLOCK_PROCESS_CPUTIME_ID);
  double looking = 0;  // by this function, at the view
  const auto picture = [&] {
    const double before = CpuMilliseconds(CLOCK_THREAD_CPUTIME_ID);
    screen->fill(0);
    Paint(window.page(entry.kind), screen);
    // Progress is nothing of the log.
    for (const QProgressBar* bar : window.page(entry.kind)->findChildren<QProgressBar*>())
      QPainter(screen).fillRect(QRect(bar->mapTo(window.page(entry.kind), QPoint()), bar->size()),
                                Qt::black);
    QImage copy = screen->copy();
    looking += CpuMilliseconds(CLOCK_THREAD_CPUTIME_ID) - before;
    return copy;
  };
  const auto spent = [&] { return CpuMilliseconds(CLOCK_PROCESS_CPUTIME_ID) - begin - looking; };
  window.ShowView(entry.kind);
  const QImage empty = picture();
  double first = spent();
  // The first picture that is another one than at once.
  for (bool changed = false; JobTracker::ActiveJobs() > 0 && !changed;) {
    const int jobs = JobTracker::ActiveJobs();
    Wait();
    first = spent();
    if (JobTracker::ActiveJobs() != jobs || watch.elapsed() > 500) changed = picture() != empty;
  }
  Settle();
  return {first, spent(), Milliseconds(watch)};
}

Times MeasureFrames(MainWindow& window, QWidget* page, int frames, QImage* screen) {
  Times frame;
  for (const TimeWindow& to : Gestures(window.selection().bounds(), frames)) {
    const double before = CpuMilliseconds(CLOCK_THREAD_CPUTIME_ID);
    window.selection().SetWindow(to);
    Paint(page, screen);
    frame.Add(CpuMilliseconds(CLOCK_THREAD_CPUTIME_ID) - before);
    // Results of jobs appear in a later frame.
    QCoreApplication::processEvents();
  }
  Settle();
  return frame;
}

// Drags of ten frames at several zooms; after each, waits for the sharp picture.
void MeasurePans(MainWindow& window, int frames, Times* pan, Times* sharp) {
  std::mt19937_64 random(17);
  const TimeWindow bounds = window.selection().bounds();
  const auto cpu = [] { return CpuMilliseconds(CLOCK_THREAD_CPUTIME_ID); };
  for (int drag = 0; drag < std::max(1, frames / 10); ++drag) {
    const TimeNs width = (bounds.end - bounds.begin) >> (1 + 3 * (drag % 4));
    const TimeNs step = width / 40;
    TimeNs begin = bounds.begin + random() % (bounds.end - bounds.begin - width);
    window.selection().SetWindow({begin, begin + width});
    Settle();
    for (int i = 0; i < 10; ++i) {
      begin = drag % 2 == 0 ? std::min(begin + step, bounds.end - width)
                            : std::max(begin - step, bounds.begin);
      const double before = cpu();
      window.selection().SetWindow({begin, begin + width});
      QCoreApplication::processEvents();
      pan->Add(cpu() - before);
    }
    double most = 0;
    do {
      const double before = cpu();
      Wait();
      most = std::max(most, cpu() - before);
    } while (JobTracker::ActiveJobs() > 0);
    sharp->Add(most);
    Settle();
  }
}

Times MeasureClicks(MainWindow& window, int clicks) {
  Times click;
  std::mt19937_64 random(13);
  const TimeWindow bounds = window.selection().bounds();
  for (int i = 0; i < std::max(1, clicks); ++i) {
    const TimeNs instant = bounds.begin + random() % (bounds.end - bounds.begin);
    const double before = CpuMilliseconds(CLOCK_PROCESS_CPUTIME_ID);
    window.selection().SetInstant(instant);
    // The window repaints only what changed, as on a screen.
    do {
      Wait();
    } while (JobTracker::ActiveJobs() > 0);
    QCoreApplication::processEvents(QEventLoop::AllEvents);
    click.Add(CpuMilliseconds(CLOCK_PROCESS_CPUTIME_ID) - before);
  }
  Settle();
  return click;
}

std::string MeasureView(MainWindow& window, const ViewEntry& entry, int frames, QImage* screen,
                        PeakMemory* memory) {
  memory->Forget();
  const Shown shown = ShowFirst(window, entry, screen);
  Times pan, sharp;
  Times frame = MeasureFrames(window, window.page(entry.kind), frames, screen);
  MeasurePans(window, frames, &pan, &sharp);
  window.selection().ShowAll();
  Settle();
  Times click = MeasureClicks(window, frames / 4);
  char text[1024];
  std::snprintf(text, sizeof text,
                "\"%s\": {\"first_cpu\": %.1f, \"shown_cpu\": %.1f, \"shown\": %.1f, "
                "\"frame\": %s, \"pan\": %s, \"sharp\": %s, \"click\": %s, \"rss\": %ld, "
                "\"peak\": %ld}",
                entry.name, shown.first_cpu, shown.cpu, shown.wall, frame.Json().c_str(),
                pan.Json().c_str(), sharp.Json().c_str(), click.Json().c_str(), PeakMemory::now(),
                PeakMemory::since());
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: viewer_frames LOG [FRAMES [WIDTHxHEIGHT [VIEW...]]]\n", stderr);
    return 2;
  }
  memprof::viewer::KeepHeapSmall();
  qputenv("QT_QPA_PLATFORM", "offscreen");
  qInstallMessageHandler([](QtMsgType, const QMessageLogContext&, const QString&) {});
  QApplication application(argc, argv);
  QApplication::setPalette(memprof::viewer::MakePalette(true));
  const int frames = argc > 2 ? std::atoi(argv[2]) : 200;
  MainWindow window(MainWindow::Settings::kIgnored);
  int width = 1280, height = 800;
  if (argc > 3) std::sscanf(argv[3], "%dx%d", &width, &height);
  window.setFixedSize(std::clamp(width, 320, 16'384), std::clamp(height, 200, 16'384));
  window.show();
  QImage screen(window.size(), QImage::Format_ARGB32_Premultiplied);
  QElapsedTimer watch;
  watch.start();
  window.Open(QString::fromLocal8Bit(argv[1]));
  while (window.document().timelines() == nullptr &&
         window.document().state() != memprof::viewer::Document::State::kFailed)
    Wait();
  if (window.document().timelines() == nullptr) {
    std::fprintf(stderr, "viewer_frames: %s\n", qPrintable(window.document().error()));
    return 1;
  }
  QCoreApplication::processEvents();
  Paint(&window, &screen);
  const double first = Milliseconds(watch) / 1000;
  Settle();
  Paint(&window, &screen);
  const double settled = Milliseconds(watch) / 1000;
  PeakMemory memory;
  const long opened = memory.all(), settled_rss = PeakMemory::now();
  std::string views;
  for (const ViewEntry& entry : memprof::viewer::ViewTable()) {
    const auto is_named = [&](const char* name) { return std::string(entry.name) == name; };
    if (argc > 4 && std::none_of(argv + 4, argv + argc, is_named)) continue;
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
