// Launchers' and schedulers' variables.
#include "analysis/base/run_identity.h"

#include <optional>
#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "proto/run_variables.h"

namespace memprof::analysis {
namespace {

std::optional<std::int64_t>* NumberOf(log::RunVariable meaning, RunIdentity* identity) {
  switch (meaning) {
    case log::RunVariable::kAttempt:
      return &identity->attempt;
    case log::RunVariable::kRank:
      return &identity->rank;
    case log::RunVariable::kLocalRank:
      return &identity->local_rank;
    case log::RunVariable::kWorldSize:
      return &identity->world_size;
    case log::RunVariable::kTensorRank:
      return &identity->tensor_rank;
    case log::RunVariable::kPipelineRank:
      return &identity->pipeline_rank;
    case log::RunVariable::kDataRank:
      return &identity->data_rank;
    case log::RunVariable::kExpertRank:
      return &identity->expert_rank;
    default:
      return nullptr;
  }
}

// The first that is set; "none" is torchrun's id of a run that was given none.
std::string_view TextOf(const RunInfo& run, log::RunVariable meaning) {
  for (const log::RunVariableRow& row : log::kRunVariables) {
    if (row.meaning != meaning) continue;
    const std::string_view text = VariableOf(run, row.name);
    if (!text.empty() && text != "none") return text;
  }
  return "";
}

// "4711_3" for a task of an array.
std::string JobOf(const RunInfo& run) {
  const std::string_view array = TextOf(run, log::RunVariable::kArrayJob);
  const std::string_view task = TextOf(run, log::RunVariable::kArrayTask);
  if (array.empty()) return std::string(TextOf(run, log::RunVariable::kJob));
  return task.empty() ? std::string(array)
                      : absl::StrCat(std::string(array), "_", std::string(task));
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
  for (const log::RunVariableRow& row : log::kRunVariables) {
    std::optional<std::int64_t>* meant = NumberOf(row.meaning, &identity);
    std::int64_t number = 0;
    if (meant == nullptr || *meant ||
        !absl::SimpleAtoi(std::string(VariableOf(run, row.name)), &number))
      continue;
    if (number >= row.first && number < kMost) *meant = number - row.first;
  }
  return identity;
}

}  // namespace memprof::analysis
