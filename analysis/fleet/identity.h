// Who a process was: its job, its attempt and its ranks, by the environment in the log's header;
// and a number for it that no other process has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analysis/base/run_info.h"

namespace memprof::analysis {

struct RunIdentity {
  std::string job;  // "" = nothing names it
  // Restarts of the job before this one.
  std::optional<std::int64_t> attempt;
  std::optional<std::int64_t> rank, local_rank, world_size;
  std::optional<std::int64_t> tensor_rank, pipeline_rank, data_rank, expert_rank;
};

// Of each, the first variable of the table in identity.cc that is set to something sensible counts.
RunIdentity IdentityOf(const RunInfo& run);

// The same for every copy of the log, also for a log that has grown since: a hash of host, pid and
// the time of its start. Logs of other tools lack these: then of what ran, and when it ended.
std::string RunIdOf(const RunInfo& run);

}  // namespace memprof::analysis
