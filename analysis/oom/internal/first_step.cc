// A run that failed in its first step, or in the first step of an optimizer: what of that step was
// still to come.
#include <algorithm>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "analysis/base/text.h"
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
  bool state = false;     // the optimizer makes its state
  bool prepares = false;  // before it works: Adagrad makes its state at once, and a run may load it
  std::string by;         // the optimizer's file
  bool pass() const { return forward || backward; }
  bool optimizes() const { return optimizer && !pass(); }
};

StackPhases ReadStack(Symbols& symbols, StackId stack) {
  StackPhases phases;
  for (const SourceFrame& frame : symbols.ResolveStack(stack)) {
    const Phase phase = PhaseOfFrame(frame);
    phases.parameter |= phase == Phase::kParameter;
    phases.forward |= phase == Phase::kForward;
    phases.backward |= phase == Phase::kBackward || phase == Phase::kGradient;
    phases.optimizer |= phase == Phase::kOptimizer;
    if (phase != Phase::kOptimizer) continue;
    phases.state |= frame.function.find("_init_group") != std::string::npos;
    phases.prepares |= frame.function.find("__init__") != std::string::npos ||
                       frame.function.find("load_state_dict") != std::string::npos;
    if (phases.by.empty()) phases.by = Lower(BaseName(frame.file));
  }
  return phases;
}

// What of the step is there when the request fails, by the stacks of all memory before.
class StepSoFar {
 public:
  StepSoFar(const Scene& scene, Symbols& symbols)
      : scene_(scene), symbols_(symbols), own_(ReadStack(symbols, scene.request.stack)) {
    for (const AllocationRecord& a : scene.session->records()) {
      if (a.birth > scene.request.event) break;
      if (a.device == scene.request.device && a.layer != Layer::kTensor && a.stack.valid()) Add(a);
    }
  }

  const StackPhases& own() const { return own_; }
  // Whether a pass had begun after a backward pass or after an optimizer's work.
  bool second_pass() const { return second_pass_; }
  // Whether the optimizer that requested had worked before the last pass.
  bool worked_before() const { return worked_.contains(own_.by); }
  bool backward() const { return backward_ || own_.backward; }
  bool optimizer() const { return !since_pass_.empty(); }
  std::uint64_t parameters() const { return parameters_; }
  std::uint64_t gradients() const { return std::min(gradients_, parameters_); }
  // Of the optimizer that requested, if one did. Where it is known what makes state, temporaries
  // are none.
  std::uint64_t state() const {
    if (!own_.optimizes()) return all_state_;
    const auto made = made_.find(own_.by);
    if (made != made_.end()) return made->second;
    const auto held = held_.find(own_.by);
    return held == held_.end() ? 0 : held->second;
  }

 private:
  void Add(const AllocationRecord& a) {
    const auto [at, fresh] = stacks_.try_emplace(a.stack.value);
    if (fresh) at->second = ReadStack(symbols_, a.stack);
    const StackPhases& phases = at->second;
    if (phases.pass()) BeginPass(phases.backward);
    const FailedRequest& request = scene_.request;
    const bool counts = request.framework ? a.layer == Layer::kBlock : OccupiesDevice(a.layer);
    const bool live = counts && (!a.death.valid() || a.death > request.event);
    const std::uint64_t bytes = live ? a.bytes : 0;
    if (phases.optimizes()) {
      if (a.bytes > parameters_ / kSmallPart && !phases.prepares) since_pass_.insert(phases.by);
      all_state_ += bytes;
      held_[phases.by] += bytes;
      if (phases.state) made_[phases.by] += bytes;
    } else if (phases.backward) {
      gradients_ += bytes;
    } else if (phases.parameter) {
      parameters_ += bytes;
    }
  }
  void BeginPass(bool backward) {
    second_pass_ |= !since_pass_.empty() || (backward_ && !backward);
    backward_ |= backward;
    worked_.merge(since_pass_);
    since_pass_.clear();
  }

  const Scene& scene_;
  Symbols& symbols_;
  const StackPhases own_;
  absl::flat_hash_map<std::uint32_t, StackPhases> stacks_;
  bool backward_ = false, second_pass_ = false;
  absl::flat_hash_set<std::string> worked_, since_pass_;  // optimizers
  std::uint64_t parameters_ = 0, gradients_ = 0, all_state_ = 0;
  absl::flat_hash_map<std::string, std::uint64_t> held_, made_;  // by optimizer: live bytes, state
};

bool StepEnded(const Scene& scene) {
  const auto steps = StepsOf(scene);
  return std::any_of(steps.begin(), steps.end(), [&](const StepInfo& step) {
    return step.end != 0 && step.end <= scene.request.time;
  });
}

}  // namespace

void FindFirstStep(const Scene& scene, Symbols& symbols, FailureReport* report) {
  const StepSoFar step(scene, symbols);
  const StackPhases& own = step.own();
  FirstStep first{.backward = step.backward(),
                  .optimizer = own.optimizes() || step.optimizer(),
                  .steps_before = step.second_pass() || StepEnded(scene),
                  .parameters = step.parameters()};
  if (own.optimizes() ? step.worked_before() && !own.state : first.steps_before) return;
  if (first.parameters == 0) return;
  first.state_there = step.state();
  first.gradients_there = step.gradients();
  if (!first.optimizer) first.gradients = first.parameters - first.gradients_there;
  // Frozen parameters have neither gradients nor state.
  const bool all_there = first.optimizer && first.gradients_there > 0;
  const std::uint64_t trained = all_there ? first.gradients_there : first.parameters;
  first.optimizer_state = kMoments * trained - std::min(first.state_there, kMoments * trained);
  // It was made or loaded before the first pass.
  if (!first.optimizer && first.state_there > first.parameters / kSmallPart)
    first.optimizer_state = 0;
  first.adam = own.optimizes() && own.by.find("adam") != std::string::npos;
  first.temporaries = own.optimizes() && !own.state && first.optimizer_state == 0;
  if (first.gradients + first.optimizer_state > 0 || own.optimizes()) report->first_step = first;
}

}  // namespace memprof::analysis::oom
