// Who a process was: its job, its attempt and its ranks, by the environment in the log's header.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/base/run_info.h"

namespace memprof::analysis {

struct RunIdentity {
  std::string job;  // "" = nothing names it
  // Restarts of the job before this one.
  std::optional<std::int64_t> attempt;
  std::optional<std::int64_t> rank, local_rank, world_size;
  std::optional<std::int64_t> tensor_rank, pipeline_rank, data_rank, expert_rank;
};

// Of each, the first variable of the table in run_identity.cc that is set to something sensible
// counts.
RunIdentity IdentityOf(const RunInfo& run);

// The value of a variable in the log's header; "" if it is not there.
std::string_view VariableOf(const RunInfo& run, std::string_view name);

}  // namespace memprof::analysis
