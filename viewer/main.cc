// memprof-viewer: the window on a log, or a picture of it.
#include <QApplication>
#include <cstdio>
#include <memory>

#include "viewer/jobs/fleet_grid_maker.h"
#include "viewer/jobs/heap.h"
#include "viewer/jobs/job_tracker.h"
#include "viewer/jobs/remote_feeds.h"
#include "viewer/jobs/scratch_folder.h"
#include "viewer/models/source_maps.h"
#include "viewer/views/table_setup.h"
#include "viewer/views/theme.h"
#include "viewer/window/app_icon.h"
#include "viewer/window/main_window.h"
#include "viewer/window/open_windows.h"
#include "viewer/window/options.h"
#include "viewer/window/screenshot.h"
#include "viewer/window/theme_choice.h"

namespace {

using memprof::viewer::MainWindow;
using memprof::viewer::Options;
using memprof::viewer::ThemeChoice;

void SetUpLook(const Options& options) {
  QApplication::setStyle(memprof::viewer::MakeStyle());
  const bool picture = !options.screenshot.isEmpty();
  // Pictures look the same on every system and for every user.
  if (picture)
    memprof::viewer::ApplyTheme(options.theme == ThemeChoice::kDark ? ThemeChoice::kDark
                                                                    : ThemeChoice::kLight);
  else
    memprof::viewer::ApplyTheme(options.theme.value_or(memprof::viewer::KeptTheme()));
  if (picture) {
    QFont font = QApplication::font();
    font.setPointSizeF(9.5);
    QApplication::setFont(font);
  }
}

// Before there is a QApplication: which platform, how many pixels per unit.
void SetUpPlatform(const Options& options) {
  if (options.screenshot.isEmpty()) return;
  // The platform's own messages are suppressed for pictures.
  qInstallMessageHandler([](QtMsgType type, const QMessageLogContext&, const QString& text) {
    if (type == QtFatalMsg) std::fprintf(stderr, "memprof-viewer: %s\n", qPrintable(text));
  });
  qputenv("QT_QPA_PLATFORM", "offscreen");
  qputenv("QT_SCALE_FACTOR", QByteArray::number(options.scale));
}

// One line if the view and the folder do not go together, else "".
QString CheckFleet(const Options& options) {
  using memprof::viewer::ViewKind;
  const bool fleet = options.logs.size() == 1 && memprof::viewer::IsFleet(options.logs.front());
  if (options.view == ViewKind::kFleet && !fleet)
    return QStringLiteral("--view fleet needs a folder that 'memprof fleet map' made");
  if (fleet && options.view.value_or(ViewKind::kFleet) != ViewKind::kFleet)
    return QStringLiteral("a fleet has the view fleet alone");
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  QStringList arguments;
  for (int i = 1; i < argc; ++i) arguments << QString::fromLocal8Bit(argv[i]);
  const auto [options, error] = memprof::viewer::ParseOptions(arguments);
  if (!error.isEmpty()) {
    std::fprintf(stderr, "memprof-viewer: %s (see memprof-viewer --help)\n", qPrintable(error));
    return 2;
  }
  if (options.help) {
    std::fputs(qPrintable(memprof::viewer::HelpText()), stdout);
    return 0;
  }
  if (const QString wrong = CheckFleet(options); !wrong.isEmpty() && !options.version) {
    std::fprintf(stderr, "memprof-viewer: %s\n", qPrintable(wrong));
    return 2;
  }
  if (options.version) {
    std::puts("memprof-viewer " MEMPROF_VERSION);
    return 0;
  }
  memprof::viewer::KeepHeapSmall();
  SetUpPlatform(options);
  QApplication application(argc, argv);
  QApplication::setApplicationName(QStringLiteral("memprof-viewer"));
  QApplication::setApplicationDisplayName(QStringLiteral("memprof"));
  QApplication::setApplicationVersion(QStringLiteral(MEMPROF_VERSION));
  QApplication::setOrganizationName(QStringLiteral("memprof"));
  // By this name, desktops find the entry in their menus, and with it the icon.
  QGuiApplication::setDesktopFileName(QString::fromLatin1(memprof::viewer::kDesktopName));
  QApplication::setWindowIcon(memprof::viewer::AppIcon());
  SetUpLook(options);
  memprof::viewer::RemoveOldScratchFolders();
  memprof::viewer::SetSourceMaps(options.source_maps);
  memprof::viewer::SetRemoteMemprof(options.remote_memprof);
  int status = 0;
  if (options.screenshot.isEmpty()) {
    memprof::viewer::OpenWindows(options, MainWindow::Settings::kKept);
    status = QApplication::exec();
  } else {
    status = memprof::viewer::TakeScreenshot(options);
  }
  memprof::viewer::JobTracker::WaitForAll();
  return status;
}
