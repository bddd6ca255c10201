// Gives every allocation a phase, and sums up.
#include "analysis/steps/phases.h"

#include <algorithm>

#include "analysis/categories/phases.h"
#include "analysis/categories/stacks.h"
#include "analysis/categories/units.h"
#include "analysis/store/lifetime_walk.h"

namespace memprof::analysis {
namespace {

constexpr std::uint8_t kSilent = 0xff;      // no evidence of its phase
constexpr std::uint8_t kNotCounted = 0xfe;  // of another layer than that of the steps

std::uint8_t StepPhaseOf(Phase phase) {
  switch (phase) {
    case Phase::kForward:
      return static_cast<std::uint8_t>(StepPhase::kForward);
    case Phase::kBackward:
      return static_cast<std::uint8_t>(StepPhase::kBackward);
    case Phase::kOptimizer:
      return static_cast<std::uint8_t>(StepPhase::kOptimizer);
    case Phase::kInput:
      return static_cast<std::uint8_t>(StepPhase::kOther);
    default:
      return kSilent;
  }
}

// By allocation: a StepPhase, or one of the constants above.
std::vector<std::uint8_t> PhasesOf(const Session& session, Symbols* symbols,
                                   std::span<const StepInfo> steps) {
  const std::vector<CategoryUnit> units = FindCategoryUnits(session, steps);
  const CategoryStacks stacks(session, symbols, units);
  const std::vector<Phase> ranges = RangePhases(session, units);
  const StepLayer layer = ChooseStepLayer(session);
  std::vector<std::uint8_t> phases;
  for (const AllocationRecord& a : session.records())
    phases.push_back(IsOfStepLayer(layer, a.layer) ? kSilent : kNotCounted);
  for (std::size_t u = 0; u < units.size(); ++u) {
    if (phases[units[u].id.value] == kNotCounted) continue;
    std::uint8_t phase = StepPhaseOf(stacks.Of(units[u].stack).phase);
    if (phase == kSilent) phase = StepPhaseOf(ranges[u]);
    phases[units[u].id.value] = phase;
  }
  return phases;
}

class PhaseVisitor {
 public:
  PhaseVisitor(const Session& session, std::span<const StepInfo> steps,
               const std::vector<std::uint8_t>& phases)
      : session_(session), steps_(steps), phases_(phases), figures_(steps.size()) {}

  void Birth(EventId event, AllocationId id) {
    const std::uint8_t phase = phases_[id.value];
    if (phase == kNotCounted) return;
    Enter(event);
    const std::uint64_t bytes = session_.record(id).bytes;
    live_ += bytes;
    if (step_ < 0) return;
    const TimeNs now = session_.events().time(event.value);
    if (phase != kSilent && phase != phase_) ChangeTo(phase, now);
    PhaseFigures& figures = Current();
    ++figures.allocations;
    figures.allocated_bytes += bytes;
    figures.peak_bytes = std::max(figures.peak_bytes, live_);
  }
  void Death(EventId event, AllocationId id) {
    if (phases_[id.value] == kNotCounted) return;
    Enter(event);
    live_ -= session_.record(id).bytes;
  }
  void After(EventId) {}

  std::vector<StepPhases> Finish() {
    while (static_cast<std::size_t>(step_ + 1) < steps_.size()) Next();
    if (step_ >= 0) EndStep();
    return std::move(figures_);
  }

 private:
  PhaseFigures& Current() { return figures_[static_cast<std::size_t>(step_)][phase_]; }
  void ChangeTo(std::uint8_t phase, TimeNs now) {
    Current().takes += now - std::min(now, since_);
    phase_ = phase;
    since_ = now;
  }
  void EndStep() { ChangeTo(phase_, steps_[static_cast<std::size_t>(step_)].end); }
  void Next() {
    if (step_ >= 0) EndStep();
    ++step_;
    phase_ = static_cast<std::uint8_t>(StepPhase::kOther);
    since_ = steps_[static_cast<std::size_t>(step_)].begin;
  }
  void Enter(EventId event) {
    while (static_cast<std::size_t>(step_ + 1) < steps_.size() &&
           steps_[static_cast<std::size_t>(step_ + 1)].event <= event)
      Next();
  }

  const Session& session_;
  std::span<const StepInfo> steps_;
  const std::vector<std::uint8_t>& phases_;
  std::vector<StepPhases> figures_;
  std::int64_t step_ = -1;
  std::uint8_t phase_ = 0;
  TimeNs since_ = 0;
  std::uint64_t live_ = 0;
};

}  // namespace

std::string_view StepPhaseName(StepPhase phase) {
  static constexpr std::string_view kNames[kStepPhases] = {"forward", "backward", "optimizer",
                                                           "other"};
  return kNames[static_cast<std::size_t>(phase)];
}

std::vector<StepPhases> DescribePhases(const Session& session, Symbols* symbols,
                                       std::span<const StepInfo> steps) {
  if (steps.empty()) return {};
  const std::vector<std::uint8_t> phases = PhasesOf(session, symbols, steps);
  PhaseVisitor visitor(session, steps, phases);
  WalkLifetimes(session, visitor);
  return visitor.Finish();
}

StepPhases UsualPhases(std::span<const StepPhases> phases, std::span<const StepFigures> figures,
                       std::size_t* of) {
  StepPhases usual{};
  std::size_t steps = 0;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    if (!figures[i].whole || figures[i].likeness < kStepAlike ||
        (i + 1 == phases.size() && steps > 0))
      continue;
    ++steps;
    for (std::size_t p = 0; p < kStepPhases; ++p) {
      usual[p].allocations += phases[i][p].allocations;
      usual[p].allocated_bytes += phases[i][p].allocated_bytes;
      usual[p].takes += phases[i][p].takes;
      usual[p].peak_bytes = std::max(usual[p].peak_bytes, phases[i][p].peak_bytes);
    }
  }
  *of = steps;
  if (steps == 0) return usual;
  for (PhaseFigures& phase : usual) {
    phase.allocations = (phase.allocations + steps / 2) / steps;
    phase.allocated_bytes /= steps;
    phase.takes /= steps;
  }
  return usual;
}

}  // namespace memprof::analysis
