// A run that failed before its first step was done: what of that step was still to come.
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "analysis/category_words.h"
#include "analysis/oom_internal.h"

namespace memprof::analysis::oom {
namespace {

// Adam keeps two moments of each parameter, the largest state of the usual optimizers.
constexpr std::uint64_t kMoments = 2;

struct Said {
  bool parameter = false, backward = false, optimizer = false;
};

Said ReadStack(Symbols& symbols, StackId stack) {
  Said said;
  for (const SourceFrame& frame : symbols.ResolveStack(stack)) {
    const Phase phase = PhaseOfFrame(frame);
    said.parameter |= phase == Phase::kParameter;
    said.backward |= phase == Phase::kBackward || phase == Phase::kGradient;
    said.optimizer |= phase == Phase::kOptimizer;
  }
  return said;
}

}  // namespace

void FindFirstStep(const Scene& scene, Symbols& symbols, FailureReport* report) {
  const Session& session = *scene.session;
  const FailedRequest& request = scene.request;
  for (const StepInfo& step : session.steps())
    if (step.end != 0 && step.end <= request.time) return;
  absl::flat_hash_map<std::uint32_t, Said> stacks;
  FirstStep first;
  for (const AllocationRecord& a : session.records()) {
    if (a.birth > request.event) break;
    if (a.device != request.device || a.layer == Layer::kTensor || !a.stack.valid()) continue;
    const auto [at, fresh] = stacks.try_emplace(a.stack.value);
    if (fresh) at->second = ReadStack(symbols, a.stack);
    const Said& said = at->second;
    if (said.optimizer) return;  // it had come to the optimizer
    first.backward |= said.backward;
    const bool counts = request.framework ? a.layer == Layer::kBlock : OccupiesDevice(a.layer);
    const bool live = !a.death.valid() || a.death > request.event;
    if (counts && live && said.parameter && !said.backward) first.parameters += a.bytes;
  }
  if (first.parameters == 0) return;
  if (!first.backward) first.gradients = first.parameters;
  first.optimizer_state = kMoments * first.parameters;
  report->first_step = first;
}

}  // namespace memprof::analysis::oom
