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

// The logs of these paths as one session, with steps that are found where none are marked. A path
// may be a folder. `report` hears, at most once for each percent, how much is read (0 … 1). Once it
// is asked to stop, it ends early, with whatever. Of several logs, what cannot be read is left out:
// `skipped` gets a line on each. Thread-safe; takes seconds for large logs.
absl::StatusOr<std::shared_ptr<const analysis::Session>> LoadLogs(
    const std::vector<std::string>& paths, const std::function<void(double)>& report,
    const std::stop_token& stop, std::vector<std::string>* skipped = nullptr);

}  // namespace memprof::viewer
