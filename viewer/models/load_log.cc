// Reading logs for the window.
#include "viewer/models/load_log.h"

#include <algorithm>
#include <utility>

#include "analysis/base/status_text.h"
#include "analysis/load/load.h"
#include "analysis/symbols/kept_sources.h"
#include "viewer/jobs/remote_feeds.h"
#include "viewer/models/log_files.h"

namespace memprof::viewer {

using analysis::Session;

absl::StatusOr<std::shared_ptr<const Session>> LoadLogs(const std::vector<std::string>& paths,
                                                        const std::function<void(double)>& report,
                                                        const std::stop_token& stop,
                                                        std::vector<std::string>* skipped,
                                                        std::shared_ptr<RemoteFeeds> feeds) {
  analysis::LoadOptions options;
  int shown = -1;
  options.progress = [&](double share) {
    const int percent = static_cast<int>(share * 100);
    if (percent != shown) report(share);
    shown = percent;
    return !stop.stop_requested();
  };
  LogFiles files(report, stop, std::move(feeds));
  options.skipped = [skipped, &files](const absl::Status& why) {
    if (skipped != nullptr) skipped->push_back(analysis::StatusText(files.Named(why)));
  };
  options.name = [&files](const std::string& file) { return files.NameOf(file); };
  options.elsewhere = [&files](const std::string& file) { return files.ElsewhereOf(file); };
  const auto logs = files.Make(paths, options.skipped);
  if (!logs.ok()) return logs.status();
  auto session = analysis::LoadLogs(*logs, options);
  if (!session.ok()) return files.Named(session.status());
  // Copies are gone when their sources are asked for.
  const bool copied = std::any_of(logs->begin(), logs->end(),
                                  [&](const auto& log) { return files.NameOf(log) != log; });
  if (copied) analysis::KeptSourcesOf(**session, *logs, files.sources());
  return session;
}

}  // namespace memprof::viewer
