// Reading logs for the window.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/store/session.h"

namespace memprof::viewer {

class RemoteFeeds;

// Loads the logs of these paths as one session, with found steps if none are marked. A path is
// anything that LogFiles takes: a log, a recording of another tool, a folder, a log on another
// machine. Calls `report` with the share read (0 … 1), at most once for each percent. After a
// request to stop, returns early, and the result must not be used. Of several logs, those that
// cannot be read are left out, and `skipped` gets a line on each. Connections to other machines are
// of `feeds`, and stay; without, they end with the call. Thread-safe; takes seconds for large logs.
absl::StatusOr<std::shared_ptr<const analysis::Session>> LoadLogs(
    const std::vector<std::string>& paths, const std::function<void(double)>& report,
    const std::stop_token& stop, std::vector<std::string>* skipped = nullptr,
    std::shared_ptr<RemoteFeeds> feeds = nullptr);

}  // namespace memprof::viewer
