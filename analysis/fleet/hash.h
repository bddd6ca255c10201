// Hashes that are the same in every process, on every machine and in every release.
#pragma once

#include <string>
#include <string_view>

#include "analysis/base/run_info.h"

namespace memprof::analysis {

// FNV-1a of 128 bits, as 32 hexadecimal digits.
std::string StableHash(std::string_view text);

// The same for every copy of the log, also for a log that has grown since: a hash of host, pid and
// the time of its start. Logs of other tools lack these: then of what ran, and when it ended.
std::string RunIdOf(const RunInfo& run);

}  // namespace memprof::analysis
