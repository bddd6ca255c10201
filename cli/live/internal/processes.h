// The logs that running processes write.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace memprof::cli {

// Of the process and of those that it has started. Errors, one line: kNotFound (no such process),
// kPermissionDenied, kFailedPrecondition (none of them is recorded).
absl::StatusOr<std::vector<std::string>> LogsOfProcess(pid_t pid);

}  // namespace memprof::cli
