// Shows a grid of a fleet in the viewer's page without a display, and measures what a person waits
// for. Prints one line of JSON; times in milliseconds unless named otherwise.
//
//   fleet_frames GRID [FRAMES]
//
// read_s   reading the file, with the medians and the scale of colours
// first    from the grid to the page painted with all of it
// frame    zooming and panning: from the new view to the page painted with it, its job included
// choose   from a chosen rank to the page painted
// peak     resident bytes at most
#include <QApplication>
#include <QElapsedTimer>
#include <QImage>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "benchmarks/peak_bytes.h"
#include "viewer/jobs/heap.h"
#include "viewer/views/fleet_canvas.h"
#include "viewer/views/fleet_view.h"
#include "viewer/views/theme.h"

namespace {

using memprof::viewer::FleetView;
using memprof::viewer::HeatView;
using memprof::viewer::JobTracker;

double Milliseconds(const QElapsedTimer& watch) {
  return static_cast<double>(watch.nsecsElapsed()) / 1e6;
}

void Settle() {
  do {
    QCoreApplication::processEvents(QEventLoop::AllEvents);
  } while (JobTracker::ActiveJobs() > 0);
  QCoreApplication::processEvents(QEventLoop::AllEvents);
}

void Print(const char* name, std::vector<double> times) {
  std::sort(times.begin(), times.end());
  std::printf(", \"%s\": {\"median\": %.1f, \"most\": %.1f}", name, times[times.size() / 2],
              times.back());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: fleet_frames GRID [FRAMES]\n", stderr);
    return 2;
  }
  memprof::viewer::KeepHeapSmall();
  qputenv("QT_QPA_PLATFORM", "offscreen");
  qInstallMessageHandler([](QtMsgType, const QMessageLogContext&, const QString&) {});
  QApplication application(argc, argv);
  QApplication::setPalette(memprof::viewer::MakePalette(true));
  QElapsedTimer watch;
  watch.start();
  const auto grid = memprof::viewer::ReadFleetGrid(QString::fromLocal8Bit(argv[1]));
  if (!grid.ok()) {
    std::fprintf(stderr, "fleet_frames: %s\n", std::string(grid.status().message()).c_str());
    return 1;
  }
  std::printf("{\"ranks\": %zu, \"columns\": %zu, \"read_s\": %.2f", (*grid)->rows.size(),
              (*grid)->columns, Milliseconds(watch) / 1000);
  FleetView view;
  view.setFixedSize(1280, 800);
  view.show();
  QImage screen(view.size(), QImage::Format_ARGB32_Premultiplied);
  watch.start();
  view.SetGrid(*grid);
  Settle();
  view.render(&screen);
  std::printf(", \"first\": %.1f", Milliseconds(watch));
  std::mt19937_64 random(11);
  std::vector<double> frame, choose;
  const HeatView whole = view.canvas()->WholeView();
  const auto part = [&](std::size_t size, std::size_t* begin, std::size_t* end) {
    const std::size_t wide = size - random() % (size * 2 / 3 + 1);
    *begin = random() % (size - wide + 1);
    *end = *begin + std::max<std::size_t>(1, wide);
  };
  for (int i = 0; i < std::max(1, argc > 2 ? std::atoi(argv[2]) : 50); ++i) {
    HeatView to;
    part(whole.row_end, &to.row_begin, &to.row_end);
    part(whole.column_end, &to.column_begin, &to.column_end);
    watch.start();
    view.canvas()->SetView(to);
    Settle();
    view.render(&screen);
    frame.push_back(Milliseconds(watch));
    watch.start();
    view.canvas()->Choose(random() % whole.row_end);
    Settle();
    choose.push_back(Milliseconds(watch));
  }
  Print("frame", frame);
  Print("choose", choose);
  std::printf(", \"peak\": %ld}\n", memprof::benchmarks::PeakBytes());
  JobTracker::WaitForAll();
  return 0;
}
