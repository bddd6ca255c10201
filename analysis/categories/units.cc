// Selects units and reads the hills of memory in use.
#include "analysis/categories/units.h"

#include <algorithm>
#include <limits>
#include <span>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "analysis/store/event_cuts.h"
#include "analysis/store/lifetime_walk.h"

namespace memprof::analysis {
namespace {

// A hill ends when only this share of the step's swing is live beyond the memory that stays.
constexpr double kFoot = 0.01;
// Lower hills are not passes over the model.
constexpr double kLowHill = 0.2;

class Selector {
 public:
  explicit Selector(const Session& session) : session_(session), records_(session.records()) {}

  std::vector<CategoryUnit> Select() {
    std::vector<CategoryUnit> units;
    units.reserve(records_.size());  // the unused part is never touched
    for (std::uint32_t i = 0; i < records_.size(); ++i) {
      const AllocationRecord& a = records_[i];
      if (!IsUnit(AllocationId(i))) continue;
      CategoryUnit unit;
      unit.id = AllocationId(i);
      unit.tensor = a.layer == Layer::kTensor ? unit.id : LargestTensor(unit.id);
      unit.bytes = a.requested();
      unit.birth = a.birth;
      unit.death = a.death;
      unit.stack = a.stack;
      unit.device = a.device;
      units.push_back(unit);
    }
    return units;
  }

 private:
  bool IsUnit(AllocationId id) const {
    const AllocationRecord& a = records_[id.value];
    if (a.layer == Layer::kBlock) return true;
    if (a.layer == Layer::kTensor)
      return a.parent.valid() && OccupiesDevice(records_[a.parent.value].layer) &&
             HoldsManyTensors(a.parent);
    return OccupiesDevice(a.layer) && !session_.IsSuballocated(id) && !HoldsManyTensors(id);
  }
  // Whether driver memory is shared by tensors, none of which has half of it.
  bool HoldsManyTensors(AllocationId id) const {
    const AllocationId tensor = LargestTensor(id);
    return tensor.valid() && records_[tensor.value].bytes < records_[id.value].bytes / 2;
  }
  AllocationId LargestTensor(AllocationId id) const {
    AllocationId largest;
    for (const AllocationId child : session_.Children(id)) {
      const AllocationRecord& a = records_[child.value];
      if (a.layer != Layer::kTensor) continue;
      if (!largest.valid() || a.bytes > records_[largest.value].bytes) largest = child;
    }
    return largest;
  }

  const Session& session_;
  const std::span<const AllocationRecord> records_;
};

// Live bytes of units of each place before each unit's birth.
class LevelVisitor {
 public:
  LevelVisitor(const Session& session, const std::vector<bool>& apart,
               const std::vector<CategoryUnit>& units)
      : records_(session.records()), units_(units), apart_(apart), levels_(units.size()) {
    unit_of_.assign(records_.size(), EventId::kNone);
    for (std::uint32_t u = 0; u < units_.size(); ++u) unit_of_[units_[u].id.value] = u;
  }
  void Birth(EventId, AllocationId id) {
    const std::uint32_t u = unit_of_[id.value];
    if (u == EventId::kNone) return;
    std::uint64_t& live = live_[units_[u].place()];
    levels_[u] = live;
    if (!apart_[u]) live += records_[id.value].bytes;
  }
  void Death(EventId, AllocationId id) {
    const std::uint32_t u = unit_of_[id.value];
    if (u != EventId::kNone && !apart_[u]) live_[units_[u].place()] -= records_[id.value].bytes;
  }
  void After(EventId) {}
  const std::vector<std::uint64_t>& levels() const { return levels_; }
  std::uint64_t Live(std::uint32_t place) { return live_[place]; }

 private:
  const std::span<const AllocationRecord> records_;
  const std::vector<CategoryUnit>& units_;
  const std::vector<bool>& apart_;
  std::vector<std::uint64_t> levels_;
  std::vector<std::uint32_t> unit_of_;
  absl::flat_hash_map<std::uint32_t, std::uint64_t> live_;  // by place
};

// Slopes of the units `rows`, all of one place and step.
void ReadStep(const Session& session, const std::vector<std::uint64_t>& levels,
              const std::vector<bool>& apart, const std::vector<std::uint32_t>& rows,
              std::uint64_t level_after, std::uint32_t* hills, std::vector<CategoryUnit>* units) {
  std::vector<std::uint64_t> gathered, bytes;
  bytes.reserve(rows.size());
  for (const std::uint32_t u : rows)
    bytes.push_back(apart[u] ? 0 : session.record((*units)[u].id).bytes);
  // Units of one place follow each other, mostly.
  std::span<const std::uint64_t> step_levels = gathered;
  if (rows.back() - rows.front() + 1 == rows.size()) {
    step_levels = std::span(levels).subspan(rows.front(), rows.size());
  } else {
    gathered.reserve(rows.size());
    for (const std::uint32_t u : rows) gathered.push_back(levels[u]);
    step_levels = gathered;
  }
  std::vector<std::uint32_t> hill_ends;
  const std::vector<Slope> slopes = FindSlopes(step_levels, bytes, level_after, &hill_ends);
  EventId last_death;  // of the units of the last hill
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const CategoryUnit& unit = (*units)[rows[i]];
    if (hill_ends[i] == rows.size() && !apart[rows[i]] && !unit.stays && unit.death.valid() &&
        (!last_death.valid() || unit.death > last_death))
      last_death = unit.death;
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CategoryUnit& unit = (*units)[rows[i]];
    unit.slope = slopes[i];
    const std::uint32_t end = hill_ends[i];
    if (i > 0 && end != hill_ends[i - 1]) ++*hills;
    unit.hill = *hills;
    if (!unit.death.valid()) {
      unit.outlives_hill = true;
    } else if (end < rows.size()) {
      unit.outlives_hill = unit.death > (*units)[rows[end]].birth;
    } else {
      // Nothing is allocated after the last hill, so the hill ends with the last death of its
      // units.
      unit.outlives_hill = unit.stays || (last_death.valid() && unit.death > last_death);
    }
  }
  ++*hills;
}

}  // namespace

std::vector<Slope> FindSlopes(std::span<const std::uint64_t> levels,
                              std::span<const std::uint64_t> bytes, std::uint64_t level_after,
                              std::vector<std::uint32_t>* hill_ends) {
  const std::size_t n = levels.size();
  std::vector<Slope> slopes(n, Slope::kFlat);
  hill_ends->assign(n, static_cast<std::uint32_t>(n));
  if (n == 0) return slopes;
  std::vector<std::uint64_t> floor(levels.begin(), levels.end());
  floor.back() = std::min(floor.back(), level_after);
  for (std::size_t i = n; i-- > 1;) floor[i - 1] = std::min(floor[i - 1], floor[i]);
  double swing = 0;  // of the memory that does not stay
  for (std::size_t i = 0; i < n; ++i)
    swing = std::max(swing, static_cast<double>(levels[i] - floor[i]));
  for (std::size_t begin = 0; begin < n;) {
    std::size_t end = begin;
    for (bool risen = false; end < n; ++end) {
      const auto above = static_cast<double>(levels[end] - floor[end]);
      if (risen && above <= kFoot * swing) break;
      risen |= above >= kLowHill * swing;
    }
    std::size_t top = begin;
    for (std::size_t i = begin; i < end; ++i)
      if (levels[i] + bytes[i] > levels[top] + bytes[top]) top = i;
    const double height = static_cast<double>(levels[top] - floor[top]);
    for (std::size_t i = begin; i < end; ++i) {
      (*hill_ends)[i] = static_cast<std::uint32_t>(end);
      if (height >= kLowHill * swing && swing > 0) slopes[i] = i <= top ? Slope::kUp : Slope::kDown;
    }
    begin = end;
  }
  return slopes;
}

std::vector<CategoryUnit> FindCategoryUnits(const Session& session,
                                            std::span<const StepInfo> steps) {
  std::vector<CategoryUnit> units = Selector(session).Select();
  // Of several processes each uses its own steps.
  const bool own = steps.data() == session.steps().data();
  std::vector<std::vector<EventId>> begins(std::max<std::size_t>(session.processes().size(), 1));
  for (std::uint32_t process = 0; process < begins.size(); ++process)
    for (const StepInfo& info : own ? session.StepsOf(process) : steps)
      if (info.event.valid()) begins[process].push_back(info.event);
  const std::vector<EventCuts> cuts(begins.begin(), begins.end());
  constexpr std::int32_t kNone = std::numeric_limits<std::int32_t>::max();
  std::vector<std::int32_t> last_made(begins.size(), kNone);  // step, by process
  absl::flat_hash_map<std::uint32_t, std::uint32_t> newest;   // unit, by place
  for (std::size_t u = units.size(); u-- > 0;) {
    CategoryUnit& unit = units[u];
    if (begins.size() > 1) unit.process = static_cast<std::uint8_t>(session.ProcessOf(unit.birth));
    const auto [newer, none] = newest.try_emplace(unit.place(), static_cast<std::uint32_t>(u));
    unit.scratch = unit.death.valid() && (none || unit.death < units[newer->second].birth);
    newer->second = static_cast<std::uint32_t>(u);
    const std::vector<EventId>& of_process = begins[unit.process];
    const EventId last = of_process.empty() ? EventId() : of_process.back();
    unit.stays = !unit.death.valid() || (last.valid() && unit.death > last && unit.birth < last);
    const std::size_t next_step = cuts[unit.process].UpTo(unit.birth);
    unit.step = static_cast<std::int32_t>(next_step) - 1;
    unit.crosses = !unit.death.valid() ||
                   (next_step < of_process.size() && unit.death > of_process[next_step]);
    std::int32_t& last_step = last_made[unit.process];
    if (last_step == kNone) last_step = unit.step;
    unit.in_last_step = unit.step == last_step;
  }
  return units;
}

void ReadHills(const Session& session, const std::vector<bool>& apart,
               const absl::flat_hash_set<std::uint8_t>& gradients_apart,
               std::vector<CategoryUnit>* units) {
  LevelVisitor visitor(session, apart, *units);
  WalkLifetimes(session, visitor);
  absl::flat_hash_set<std::uint8_t> with_steps;  // processes
  for (const CategoryUnit& unit : *units)
    if (unit.step >= 0) with_steps.insert(unit.process);
  struct UnderWay {
    std::int32_t step = -1;
    std::vector<std::uint32_t> rows;
  };
  absl::flat_hash_map<std::uint32_t, UnderWay> places;
  std::uint32_t hills = 1;  // 0: before the first step
  // Unless gradients are left out, they are freed last, with the optimizer, after the end of the
  // hill.
  const auto finish = [&](UnderWay& of, std::uint64_t level_after) {
    if (of.rows.empty()) return;
    const std::uint8_t process = (*units)[of.rows.front()].process;
    if (!gradients_apart.contains(process)) level_after = ~std::uint64_t{0};
    if (of.step >= 0 || !with_steps.contains(process))
      ReadStep(session, visitor.levels(), apart, of.rows, level_after, &hills, units);
    of.rows.clear();
  };
  for (std::uint32_t u = 0; u < units->size(); ++u) {
    UnderWay& of = places[(*units)[u].place()];
    if ((*units)[u].step != of.step) finish(of, visitor.levels()[u]);
    of.step = (*units)[u].step;
    of.rows.push_back(u);
  }
  for (auto& [place, of] : places) finish(of, visitor.Live(place));
}

}  // namespace memprof::analysis
