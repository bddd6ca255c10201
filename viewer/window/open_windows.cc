#include "viewer/window/open_windows.h"

#include <vector>

#include "viewer/jobs/fleet_grid_maker.h"
#include "viewer/window/fleet_window.h"

namespace memprof::viewer {

void OpenWindows(const Options& options, MainWindow::Settings settings) {
  std::vector<QStringList> windows;
  if (!options.separate) windows.push_back(options.logs);
  for (const QString& log : options.logs)
    if (options.separate) windows.push_back({log});
  if (windows.empty()) windows.emplace_back();
  for (const QStringList& logs : windows) {
    if (logs.size() == 1 && IsFleet(logs.front())) {
      OpenFleetWindow(logs.front(), settings);
      continue;
    }
    auto* window = new MainWindow(settings);
    window->setAttribute(Qt::WA_DeleteOnClose);
    window->ShowFirst(options);
    window->show();
    if (!logs.isEmpty()) window->OpenTogether(logs);
  }
}

}  // namespace memprof::viewer
