// Reads which part of a pass each block belongs to.
#include "analysis/remedies/internal/training.h"

#include <algorithm>
#include <map>
#include <string>

namespace memprof::analysis::remedies {
namespace {

Part PartOf(const CategoryStacks::Facts& facts) {
  // Also a forward pass that a backward pass repeats.
  if (facts.backward || facts.phase == Phase::kBackward) return Part::kBackward;
  if (facts.phase == Phase::kForward) return Part::kForward;
  return facts.phase == Phase::kOptimizer ? Part::kOptimizer : Part::kOther;
}

// Adds blocks in order of birth.
class Passes {
 public:
  explicit Passes(Training* training) : passes_(training->passes) {}

  std::uint32_t Add(Part part, EventId birth) {
    if (part == Part::kForward && (passes_.empty() || last_ != Part::kForward)) {
      if (!passes_.empty()) passes_.back().end = birth;
      passes_.push_back({.forward = birth});
    }
    if (part != Part::kOther) last_ = part;
    last_birth_ = birth;
    if (passes_.empty()) return 0;
    Pass& pass = passes_.back();
    if (part == Part::kBackward && !pass.backward.valid()) pass.backward = birth;
    if (part == Part::kBackward) pass.last_backward = birth;
    if (part == Part::kOptimizer && pass.backward.valid() && !pass.after.valid())
      pass.after = birth;
    return static_cast<std::uint32_t>(passes_.size() - 1);
  }
  // `end`: the log's. A last pass without a backward pass may have run out of memory: its backward
  // pass would have begun then. One that is the only pass is none of a training.
  void Finish(EventId end) {
    if (!passes_.empty()) passes_.back().end = end;
    if (passes_.size() == 1 && !passes_.back().backward.valid()) passes_.clear();
    if (!passes_.empty() && !passes_.back().backward.valid()) {
      passes_.back().backward = After(last_birth_);
      passes_.back().last_backward = passes_.back().backward;
    }
    for (Pass& pass : passes_)
      if (!pass.after.valid()) pass.after = pass.end;
  }

 private:
  std::vector<Pass>& passes_;
  Part last_ = Part::kOptimizer;
  EventId last_birth_;
};

}  // namespace

std::vector<Training> FindTrainings(const Session& session, Symbols* symbols,
                                    const Categories& categories, const PeakLevels& levels) {
  // Logs of earlier recorders do not name the release.
  const bool libraries = std::any_of(
      session.modules().begin(), session.modules().end(),
      [](const ModuleInfo& m) { return m.path.find("/libc10_cuda.so") != std::string::npos; });
  const auto of_torch = [&](std::uint32_t process) {
    return libraries || !session.processes()[process].run.torch_release.empty();
  };
  std::vector<Training> trainings;
  if (symbols == nullptr) return trainings;
  const std::vector<CategoryUnit> units = FindCategoryUnits(session, session.steps());
  const CategoryStacks stacks(session, symbols, units);
  std::map<std::pair<int, std::uint32_t>, std::vector<const CategoryUnit*>> by_place;
  for (const CategoryUnit& unit : units) {
    const AllocationRecord& a = session.record(unit.id);
    const std::uint32_t process = session.ProcessOf(a.birth);
    if (a.layer == Layer::kBlock && a.device != kNoDevice && of_torch(process))
      by_place[{a.device, process}].push_back(&unit);
  }
  for (const auto& [place, members] : by_place) {
    Training training{.device = place.first, .process = place.second};
    training.level = levels.Find(place.first, PeakLayer::kBlocks);
    if (training.level == nullptr) continue;
    training.peak = training.level->peak().event;
    Passes passes(&training);
    for (const CategoryUnit* unit : members) {
      const AllocationRecord& a = session.record(unit->id);
      const Part part = PartOf(stacks.Of(a.stack));
      training.blocks.push_back({.id = unit->id,
                                 .part = part,
                                 .category = categories.Of(unit->id).category,
                                 .pass = passes.Add(part, a.birth),
                                 .bytes = a.bytes,
                                 .birth = a.birth,
                                 .death = a.death,
                                 .stack = a.stack});
    }
    passes.Finish(EventId(static_cast<std::uint32_t>(session.events().size())));
    if (!training.passes.empty()) trainings.push_back(std::move(training));
  }
  return trainings;
}

}  // namespace memprof::analysis::remedies
