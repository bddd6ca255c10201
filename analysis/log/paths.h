// The logs meant by names of files and folders.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace memprof::analysis {

// `names`, with each folder replaced by the logs (*.mprof) in it, sorted by name. An error if a
// folder cannot be read or has no log; does not check whether files exist.
absl::StatusOr<std::vector<std::string>> LogsOf(const std::vector<std::string>& names);

}  // namespace memprof::analysis
