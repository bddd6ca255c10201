// Which logs a person means who names files and folders.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace memprof::analysis {

// `names`, with each folder replaced by the logs (*.mprof) in it, in order of their names. An error
// if a folder cannot be read or has none; whether files exist is not looked at.
absl::StatusOr<std::vector<std::string>> LogsOf(const std::vector<std::string>& names);

}  // namespace memprof::analysis
