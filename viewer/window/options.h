// The command line of memprof-viewer. Pure: needs no QApplication.
#pragma once

#include <QSize>
#include <QString>
#include <QStringList>
#include <optional>

#include "viewer/models/selection.h"

namespace memprof::viewer {

enum class ViewKind {
  kTimeline,
  kAllocations,
  kMap,
  kLeaks,
  kFlame,
  kSource,
  kTensors,
  kFragmentation,
  kAdvice,
  kWhatIf,
  kDiff,
  kProcesses,
  kQuality,
  kFleet,  // of a folder of tables; no view of a log
};
enum class ThemeChoice { kSystem, kLight, kDark };

struct Options {
  bool help = false;
  bool version = false;
  QString screenshot;  // path of the picture; empty = open a window
  std::optional<ViewKind> view;
  std::optional<AxisKind> axis;  // none: the last one used
  QSize size{1280, 800};
  double scale = 1;                  // pixels per device-independent pixel of a picture
  std::optional<ThemeChoice> theme;  // none: the one that the user chose last
  bool caption = false;              // a line under the picture says what it shows
  bool separate = false;             // a window for each log
  QStringList source_maps;           // where sources are: FROM=TO, or a checkout
  QString remote_memprof;            // where memprof is on other machines; empty: in PATH
  QString diff;                      // a log to compare with; empty = none
  QStringList logs;
};

struct ParsedOptions {
  Options options;
  QString error;  // one line; empty = fine. Anything else is wrong usage, status 2.
};

// `arguments` without the program's name.
ParsedOptions ParseOptions(const QStringList& arguments);

QString HelpText();

}  // namespace memprof::viewer
