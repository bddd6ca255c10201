// The variables by which launchers and schedulers name a job, its attempts and its ranks. The
// recorder writes them into the log, and its name from them (%j, %r); readers conclude from them
// which rank of which job a process was.
#pragma once

#include <cstdint>

namespace memprof::log {

enum class RunVariable : std::uint8_t {
  kArrayJob,  // with kArrayTask, the job is one task of an array
  kArrayTask,
  kJob,
  kAttempt,
  kRank,
  kLocalRank,
  kWorldSize,
  kTensorRank,
  kPipelineRank,
  kDataRank,
  kExpertRank,
  kNote,  // for people who read the log
};

struct RunVariableRow {
  const char* name;
  RunVariable meaning;
  std::int64_t first = 0;  // what it counts from
};

// Of several with one meaning, the first that is set counts: a launcher inside of a scheduler's
// task knows better than the scheduler. By their whole names, because other variables of a
// scheduler may hold a secret.
inline constexpr RunVariableRow kRunVariables[] = {
    {"SLURM_ARRAY_JOB_ID", RunVariable::kArrayJob},
    {"SLURM_ARRAY_TASK_ID", RunVariable::kArrayTask},
    {"SLURM_JOB_ID", RunVariable::kJob},
    {"PBS_JOBID", RunVariable::kJob},
    {"LSB_JOBID", RunVariable::kJob},
    {"FLUX_JOB_ID", RunVariable::kJob},
    {"AWS_BATCH_JOB_ID", RunVariable::kJob},
    {"JOB_NAME", RunVariable::kJob},  // a habit of Kubernetes' manifests
    {"RAY_JOB_ID", RunVariable::kJob},
    {"TORCHELASTIC_RUN_ID", RunVariable::kJob},  // "none" if torchrun was given none
    {"PMIX_NAMESPACE", RunVariable::kJob},       // of an mpirun without a scheduler
    {"SLURM_RESTART_COUNT", RunVariable::kAttempt},
    {"TORCHELASTIC_RESTART_COUNT", RunVariable::kAttempt},
    {"AWS_BATCH_JOB_ATTEMPT", RunVariable::kAttempt, 1},
    {"RANK", RunVariable::kRank},
    {"OMPI_COMM_WORLD_RANK", RunVariable::kRank},
    {"PMI_RANK", RunVariable::kRank},
    {"PMIX_RANK", RunVariable::kRank},
    {"SLURM_PROCID", RunVariable::kRank},
    {"JOB_COMPLETION_INDEX", RunVariable::kRank},  // of a pod of Kubernetes: with one process each
    {"LOCAL_RANK", RunVariable::kLocalRank},
    {"OMPI_COMM_WORLD_LOCAL_RANK", RunVariable::kLocalRank},
    {"MPI_LOCALRANKID", RunVariable::kLocalRank},
    {"SLURM_LOCALID", RunVariable::kLocalRank},
    {"WORLD_SIZE", RunVariable::kWorldSize},
    {"OMPI_COMM_WORLD_SIZE", RunVariable::kWorldSize},
    {"PMI_SIZE", RunVariable::kWorldSize},
    {"SLURM_NTASKS", RunVariable::kWorldSize},
    {"TP_RANK", RunVariable::kTensorRank},  // Megatron's and others' habit, as the next three
    {"PP_RANK", RunVariable::kPipelineRank},
    {"DP_RANK", RunVariable::kDataRank},
    {"EP_RANK", RunVariable::kExpertRank},
    {"GROUP_RANK", RunVariable::kNote},
    {"SLURM_NODEID", RunVariable::kNote},
};

}  // namespace memprof::log
