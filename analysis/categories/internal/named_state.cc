// Collects the names of parameters.
#include "analysis/categories/internal/named_state.h"

#include "analysis/symbols/module_paths.h"

namespace memprof::analysis {

NamedState::NamedState(const Session& session) {
  const RangesOfThreads naming(session,
                               [](std::string_view name) { return name == kParametersRange; });
  if (naming.empty()) return;
  for (const AllocationRecord& record : session.records()) {
    if (record.layer != Layer::kTensor || !naming.At(record.birth)) continue;
    const TensorInfo* tensor = session.tensor(record.tensor());
    if (tensor != nullptr && !tensor->name.empty()) parameters_.insert(tensor->name);
  }
}

Category NamedState::CategoryOf(std::string_view name) const {
  if (parameters_.empty()) return Category::kUnknown;
  if (parameters_.contains(name)) return Category::kParameters;
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || !parameters_.contains(name.substr(0, dot)))
    return Category::kUnknown;
  return name.substr(dot) == ".grad" ? Category::kGradients : Category::kOptimizerState;
}

}  // namespace memprof::analysis
