// Reading logs for the window.
#include "viewer/models/load_log.h"

#include "analysis/log_paths.h"
#include "analysis/session_merge.h"
#include "analysis/steps_found.h"

namespace memprof::viewer {

using analysis::Session;

absl::StatusOr<std::shared_ptr<const Session>> LoadLogs(const std::vector<std::string>& paths,
                                                        const std::function<void(double)>& report,
                                                        const std::stop_token& stop,
                                                        std::vector<std::string>* skipped) {
  analysis::LoadOptions options;
  options.step_finder = analysis::FindStepsToUse;
  int shown = -1;
  options.progress = [&](double share) {
    const int percent = static_cast<int>(share * 100);
    if (percent != shown) report(share);
    shown = percent;
    return !stop.stop_requested();
  };
  const auto logs = analysis::LogsOf(paths);
  if (!logs.ok()) return logs.status();
  if (logs->size() == 1) return Session::Load(logs->front(), options);
  return analysis::LoadReadable(*logs, options, [skipped](const absl::Status& why) {
    if (skipped != nullptr) skipped->emplace_back(why.message());
  });
}

}  // namespace memprof::viewer
