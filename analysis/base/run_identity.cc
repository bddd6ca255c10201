// Launchers' and schedulers' variables.
#include "analysis/base/run_identity.h"

#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace memprof::analysis {
namespace {

// Another variable, or another meaning, is one row here and, if the recorder does not write it yet,
// one in libmemprof/src/log/header.cc.
struct NumberRow {
  std::string_view variable;
  std::optional<std::int64_t> RunIdentity::*meaning;
  std::int64_t first = 0;  // what the variable counts from
};
constexpr NumberRow kNumbers[] = {
    {"SLURM_RESTART_COUNT", &RunIdentity::attempt},
    {"TORCHELASTIC_RESTART_COUNT", &RunIdentity::attempt},
    {"AWS_BATCH_JOB_ATTEMPT", &RunIdentity::attempt, 1},
    // A launcher inside of a scheduler's task knows better than the scheduler.
    {"RANK", &RunIdentity::rank},
    {"OMPI_COMM_WORLD_RANK", &RunIdentity::rank},
    {"PMI_RANK", &RunIdentity::rank},
    {"PMIX_RANK", &RunIdentity::rank},
    {"SLURM_PROCID", &RunIdentity::rank},
    {"JOB_COMPLETION_INDEX", &RunIdentity::rank},  // of a pod: with one process each
    {"LOCAL_RANK", &RunIdentity::local_rank},
    {"OMPI_COMM_WORLD_LOCAL_RANK", &RunIdentity::local_rank},
    {"MPI_LOCALRANKID", &RunIdentity::local_rank},
    {"SLURM_LOCALID", &RunIdentity::local_rank},
    {"WORLD_SIZE", &RunIdentity::world_size},
    {"OMPI_COMM_WORLD_SIZE", &RunIdentity::world_size},
    {"PMI_SIZE", &RunIdentity::world_size},
    {"SLURM_NTASKS", &RunIdentity::world_size},
    {"TP_RANK", &RunIdentity::tensor_rank},
    {"PP_RANK", &RunIdentity::pipeline_rank},
    {"DP_RANK", &RunIdentity::data_rank},
    {"EP_RANK", &RunIdentity::expert_rank},
};

// With a second variable, the job is one task of an array: "4711_3".
struct JobRow {
  std::string_view variable, task;
};
constexpr JobRow kJobs[] = {
    {"SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID"},
    {"SLURM_JOB_ID", ""},
    {"PBS_JOBID", ""},
    {"LSB_JOBID", ""},
    {"FLUX_JOB_ID", ""},
    {"AWS_BATCH_JOB_ID", ""},
    {"JOB_NAME", ""},
    {"RAY_JOB_ID", ""},
    {"TORCHELASTIC_RUN_ID", ""},
    {"PMIX_NAMESPACE", ""},
};

std::string JobOf(const RunInfo& run) {
  for (const JobRow& row : kJobs) {
    const std::string_view job = VariableOf(run, row.variable);
    if (job.empty() || job == "none") continue;  // torchrun's default
    const std::string_view task = row.task.empty() ? "" : VariableOf(run, row.task);
    return task.empty() ? std::string(job) : absl::StrCat(std::string(job), "_", std::string(task));
  }
  return "";
}

}  // namespace

std::string_view VariableOf(const RunInfo& run, std::string_view name) {
  for (const std::string_view entry : run.environment)
    if (entry.starts_with(name) && entry.size() > name.size() && entry[name.size()] == '=')
      return entry.substr(name.size() + 1);
  return "";
}

RunIdentity IdentityOf(const RunInfo& run) {
  constexpr std::int64_t kMost = 1'000'000;
  RunIdentity identity;
  identity.job = JobOf(run);
  for (const NumberRow& row : kNumbers) {
    std::optional<std::int64_t>& meaning = identity.*row.meaning;
    std::int64_t number = 0;
    if (meaning || !absl::SimpleAtoi(std::string(VariableOf(run, row.variable)), &number)) continue;
    if (number >= row.first && number < kMost) meaning = number - row.first;
  }
  return identity;
}

}  // namespace memprof::analysis
