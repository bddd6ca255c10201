// A run that failed before its first step was done: what of that step was still to come.
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "analysis/categories/words.h"
#include "analysis/oom/internal/scene_parts.h"

namespace memprof::analysis::oom {
namespace {

// Adam keeps two moments of each parameter, the largest state of the usual optimizers.
constexpr std::uint64_t kMoments = 2;

// Memory below this part of the parameters is no optimizer state; it may be a loss scaler.
constexpr std::uint64_t kSmallPart = 1000;

struct StackPhases {
  bool parameter = false, forward = false, backward = false, optimizer = false;
  bool pass() const { return forward || backward; }
};

StackPhases ReadStack(Symbols& symbols, StackId stack) {
  StackPhases phases;
  for (const SourceFrame& frame : symbols.ResolveStack(stack)) {
    const Phase phase = PhaseOfFrame(frame);
    phases.parameter |= phase == Phase::kParameter;
    phases.forward |= phase == Phase::kForward;
    phases.backward |= phase == Phase::kBackward || phase == Phase::kGradient;
    phases.optimizer |= phase == Phase::kOptimizer;
  }
  return phases;
}

}  // namespace

void FindFirstStep(const Scene& scene, Symbols& symbols, FailureReport* report) {
  const Session& session = *scene.session;
  const FailedRequest& request = scene.request;
  for (const StepInfo& step : StepsOf(scene))
    if (step.end != 0 && step.end <= request.time) return;
  absl::flat_hash_map<std::uint32_t, StackPhases> stacks;
  FirstStep first;
  std::uint64_t gradients = 0, state = 0;  // live, and at most so much
  for (const AllocationRecord& a : session.records()) {
    if (a.birth > request.event) break;
    if (a.device != request.device || a.layer == Layer::kTensor || !a.stack.valid()) continue;
    const auto [at, fresh] = stacks.try_emplace(a.stack.value);
    if (fresh) at->second = ReadStack(symbols, a.stack);
    const StackPhases& phases = at->second;
    if (phases.pass() && first.optimizer) return;  // a pass of the next step
    first.backward |= phases.backward;
    const bool counts = request.framework ? a.layer == Layer::kBlock : OccupiesDevice(a.layer);
    const std::uint64_t live =
        counts && (!a.death.valid() || a.death > request.event) ? a.bytes : 0;
    if (phases.optimizer && !phases.pass()) {
      first.optimizer |= a.bytes > first.parameters / kSmallPart;
      state += live;
    } else if (phases.backward) {
      gradients += live;
    } else if (phases.parameter) {
      first.parameters += live;
    }
  }
  if (first.parameters == 0) return;
  if (const StackPhases own = ReadStack(symbols, request.stack); own.optimizer && !own.pass())
    first.optimizer = true;
  else
    first.backward |= own.backward;
  if (!first.optimizer) first.gradients = first.parameters - std::min(gradients, first.parameters);
  first.optimizer_state =
      kMoments * first.parameters - std::min(state, kMoments * first.parameters);
  if (first.gradients + first.optimizer_state > 0) report->first_step = first;
}

}  // namespace memprof::analysis::oom
