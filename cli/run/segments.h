// The row of logs of a recording that is always on, over restarts of its program.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace memprof::cli {

// The log at `path`, of a program that has ended, becomes the newest segment ("run.mprof" becomes
// "run.segment-7.mprof", as in libmemprof/src/log/log_segments.cc); the `kept` newest ones stay.
absl::Status KeepAsSegment(const std::string& path, std::uint32_t kept);

}  // namespace memprof::cli
