// Weighs stacks, ranges and slopes.
#include "analysis/categories/phases.h"

#include <algorithm>
#include <array>
#include <map>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace memprof::analysis {
namespace {

constexpr unsigned kFits = 9;         // of ten that a site makes
constexpr std::uint64_t kScalar = 8;  // at most: a loss
constexpr std::size_t kEnoughSizes = 3;
// Blocks of a caching allocator from the first size on may exceed the request by less than the
// second.
constexpr std::uint64_t kUnsplit = std::uint64_t{10} << 20, kRest = std::uint64_t{1} << 20;
constexpr std::uint64_t kDistinctiveBytes = 4096;  // smaller sizes are those of many things

Phase PhaseOfSlope(Slope slope) {
  switch (slope) {
    case Slope::kBefore:
      return Phase::kSetUp;
    case Slope::kUp:
      return Phase::kForward;
    case Slope::kDown:
      return Phase::kBackward;
    case Slope::kFlat:
      return Phase::kOptimizer;
  }
  return Phase::kNone;
}

// The open ranges, on all threads, that have a phase.
class OpenPhases {
 public:
  explicit OpenPhases(const Session& session) : session_(session) {}

  void Look(std::uint32_t event) {
    const EventTable& events = session_.events();
    const std::uint32_t thread = events.thread(event);
    if (events.op(event) == Op::kRangePush) {
      const StringId name(events.label(event));
      const auto [it, fresh] = phases_.try_emplace(name.value, Phase::kNone);
      if (fresh) it->second = PhaseOfRange(session_.string(name));
      std::vector<Phase>& open = open_[thread];
      open.push_back(it->second != Phase::kNone ? it->second : Innermost(open));
      Note(thread, open);
    } else if (events.op(event) == Op::kRangePop) {
      std::vector<Phase>& open = open_[thread];
      if (!open.empty()) open.pop_back();
      Note(thread, open);
    }
  }
  Phase Of(std::uint32_t thread) const {
    const auto own = open_.find(thread);
    if (own != open_.end() && !own->second.empty()) return Innermost(own->second);
    return in_phase_.empty() ? Phase::kNone : in_phase_.begin()->second;
  }

 private:
  static Phase Innermost(const std::vector<Phase>& open) {
    return open.empty() ? Phase::kNone : open.back();
  }
  void Note(std::uint32_t thread, const std::vector<Phase>& open) {
    if (Innermost(open) == Phase::kNone)
      in_phase_.erase(thread);
    else
      in_phase_[thread] = Innermost(open);
  }

  const Session& session_;
  absl::flat_hash_map<std::uint32_t, Phase> phases_;  // by name
  // By thread: the phase of each open range within those around it; the last one applies.
  absl::flat_hash_map<std::uint32_t, std::vector<Phase>> open_;
  std::map<std::uint32_t, Phase> in_phase_;  // threads with a range that has a phase
};

}  // namespace

std::vector<Phase> RangePhases(const Session& session, const std::vector<CategoryUnit>& units) {
  std::vector<Phase> phases(units.size(), Phase::kNone);
  if (session.ranges().empty()) return phases;
  OpenPhases open(session);
  const EventTable& events = session.events();
  std::uint32_t event = 0;
  for (std::size_t u = 0; u < units.size(); ++u) {
    for (; event < units[u].birth.value; ++event) open.Look(event);
    phases[u] = open.Of(events.thread(units[u].birth.value));
  }
  return phases;
}

ParameterSizes::ParameterSizes(const std::vector<CategoryUnit>& units) {
  for (const CategoryUnit& unit : units)
    if (unit.step < 0 && unit.stays) sizes_[unit.process].push_back(unit.bytes);
  for (auto& [process, sizes] : sizes_) {
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  }
}

const std::vector<std::uint64_t>& ParameterSizes::SizesFor(const CategoryUnit& unit) const {
  static const std::vector<std::uint64_t>& none = *new std::vector<std::uint64_t>;
  const auto of_process = sizes_.find(unit.process);
  return of_process == sizes_.end() ? none : of_process->second;
}

bool ParameterSizes::Has(const CategoryUnit& unit, unsigned numerator, unsigned denominator) const {
  const std::vector<std::uint64_t>& sizes = SizesFor(unit);
  const std::uint64_t bytes = unit.bytes;
  if (bytes > (std::uint64_t{1} << 60) || bytes * denominator % numerator != 0) return false;
  const std::uint64_t wanted = bytes * denominator / numerator;
  const auto next = std::lower_bound(sizes.begin(), sizes.end(), wanted);
  if (next != sizes.end() && *next == wanted) return true;
  if (numerator != denominator || wanted < kUnsplit) return false;
  return (next != sizes.end() && *next - wanted < kRest) ||
         (next != sizes.begin() && wanted - *(next - 1) < kRest);
}

bool ParameterSizes::HasNearly(const CategoryUnit& unit) const {
  if (Has(unit)) return true;
  const std::vector<std::uint64_t>& sizes = SizesFor(unit);
  const std::uint64_t bytes = unit.bytes;
  if (bytes <= kRest) return false;
  const std::uint64_t off = std::min(kRest, bytes / 4);
  const auto next = std::lower_bound(sizes.begin(), sizes.end(), bytes - off);
  return next != sizes.end() && *next < bytes + off;
}

namespace {

constexpr std::array<std::array<unsigned, 2>, 3> kRatios = {{{1, 1}, {2, 1}, {1, 2}}};

// Which of kRatios a unit's size is of a parameter's, as bits. Few sizes are most of the units.
class RecentFits {
 public:
  explicit RecentFits(const ParameterSizes& sizes) : sizes_(sizes) {}

  std::uint8_t Of(const CategoryUnit& unit) {
    Answer& answer = answers_[(unit.bytes >> 9 ^ unit.bytes >> 17) % answers_.size()];
    if (answer.known && answer.bytes == unit.bytes && answer.process == unit.process)
      return answer.fits;
    answer = {unit.bytes, unit.process, true, 0};
    for (std::size_t r = 0; r < kRatios.size(); ++r)
      answer.fits |= static_cast<std::uint8_t>(sizes_.Has(unit, kRatios[r][0], kRatios[r][1]) << r);
    return answer.fits;
  }

 private:
  struct Answer {
    std::uint64_t bytes = 0;
    std::uint8_t process = 0;
    bool known = false;
    std::uint8_t fits = 0;
  };
  const ParameterSizes& sizes_;
  std::array<Answer, 1024> answers_{};
};

}  // namespace

std::vector<std::uint8_t> SizeRatios(const std::vector<CategoryUnit>& units,
                                     const ParameterSizes& sizes) {
  std::vector<std::uint8_t> ratios;
  if (sizes.empty()) return ratios;
  ratios.reserve(units.size());
  RecentFits recent(sizes);
  for (const CategoryUnit& unit : units) ratios.push_back(recent.Of(unit));
  return ratios;
}

std::vector<std::uint8_t> MatchSizes(const std::vector<CategoryUnit>& units,
                                     const CategoryStacks& stacks,
                                     std::span<const std::uint8_t> ratios, bool hills_read) {
  std::vector<std::uint8_t> matches(units.size(), 0);
  if (ratios.empty()) return matches;
  struct Group {
    std::uint32_t members = 0;
    std::array<std::uint32_t, 3> fitting{};
    // Distinct ones, until they are enough.
    std::array<std::uint64_t, kEnoughSizes> sizes{};
    std::size_t distinct = 0;
    void AddSize(std::uint64_t bytes) {
      if (distinct == kEnoughSizes) return;
      const auto end = sizes.begin() + static_cast<std::ptrdiff_t>(distinct);
      if (std::find(sizes.begin(), end, bytes) == end) sizes[distinct++] = bytes;
    }
  };
  absl::flat_hash_map<std::pair<std::uint8_t, std::uint32_t>, Group> groups;  // by process, site
  const auto counts = [&](const CategoryUnit& unit) {
    return unit.step >= 0 && !unit.scratch && (unit.outlives_hill || !hills_read) &&
           stacks.Of(unit.stack).phase != Phase::kWorkspace;
  };
  const auto fits = [&](std::size_t u, std::size_t ratio) { return (ratios[u] >> ratio & 1) != 0; };
  for (std::size_t u = 0; u < units.size(); ++u) {
    const CategoryUnit& unit = units[u];
    if (!counts(unit)) continue;
    Group& group = groups[{unit.process, stacks.Of(unit.stack).site}];
    ++group.members;
    group.AddSize(unit.bytes);
    for (std::size_t r = 0; r < kRatios.size(); ++r) group.fitting[r] += fits(u, r) ? 1 : 0;
  }
  for (std::size_t u = 0; u < units.size(); ++u) {
    if (!counts(units[u])) continue;
    const std::uint32_t site = stacks.Of(units[u].stack).site;
    if (site == CategoryStacks::kNone) {  // the size is the only evidence
      matches[u] = hills_read && units[u].bytes >= kDistinctiveBytes && fits(u, 0) ? 1 : 0;
      continue;
    }
    const Group& group = groups[{units[u].process, site}];
    const auto best = std::max_element(group.fitting.begin(), group.fitting.end());
    const auto ratio = static_cast<std::size_t>(best - group.fitting.begin());
    // With few sizes, a site may have them by chance, and small sizes more easily than large ones.
    if ((ratio != 0 || units[u].bytes < kDistinctiveBytes) && group.distinct < kEnoughSizes)
      continue;
    if (*best * 10 >= group.members * kFits && fits(u, ratio))
      matches[u] = static_cast<std::uint8_t>(ratio + 1);
  }
  return matches;
}

namespace {

// Units are counted within their hill, because units of other places may be allocated in between.
struct TurningPoint {
  std::size_t units = 0;         // of the hill, read so far
  std::size_t at = 0;            // the first unit after the top
  std::size_t after_scalar = 0;  // the first unit after the last scalar before the top
  bool gradient = false;         // the begin was determined by a gradient
};

// By hill, where its backward pass begins: with the first gradient, if there is one; else at the
// top, which is slightly later, or right after the loss, a scalar shortly before the top.
absl::flat_hash_map<std::uint32_t, TurningPoint> FindTurningPoints(
    const std::vector<std::uint8_t>& matches, const std::vector<CategoryUnit>& units) {
  absl::flat_hash_map<std::uint32_t, TurningPoint> turns;
  for (std::size_t u = 0; u < units.size(); ++u) {
    const CategoryUnit& unit = units[u];
    if (unit.slope != Slope::kUp && unit.slope != Slope::kDown) continue;
    TurningPoint& turn = turns[unit.hill];
    const std::size_t row = turn.units++;
    if (turn.gradient) continue;
    turn.gradient = matches[u] == 1;
    if (turn.gradient || unit.slope == Slope::kUp) turn.at = turn.gradient ? row : row + 1;
    if (unit.slope == Slope::kUp && unit.bytes <= kScalar) turn.after_scalar = row + 1;
  }
  for (auto& [hill, turn] : turns) {
    turn.units = 0;
    const std::size_t near = std::max<std::size_t>(8, turn.at / 10);
    if (turn.after_scalar > 0 && turn.at > turn.after_scalar && turn.at - turn.after_scalar <= near)
      turn.at = turn.after_scalar;
  }
  return turns;
}

bool IsCertain(const absl::flat_hash_map<std::uint32_t, TurningPoint>& turns,
               const CategoryUnit& unit) {
  const auto it = turns.find(unit.hill);
  return it != turns.end() && it->second.gradient;
}

}  // namespace

void RefineSlopes(const std::vector<std::uint8_t>& matches, const CategoryOptions& options,
                  std::vector<CategoryUnit>* units) {
  absl::flat_hash_map<std::uint32_t, TurningPoint> turns = FindTurningPoints(matches, *units);
  for (CategoryUnit& unit : *units) {
    if (unit.slope != Slope::kUp && unit.slope != Slope::kDown) continue;
    TurningPoint& turn = turns.at(unit.hill);
    unit.slope = turn.units++ < turn.at ? Slope::kUp : Slope::kDown;
  }
  if (!options.stacks) return;
  constexpr std::uint32_t kCertain = 1000;  // votes of a hill whose backward pass is certain
  absl::flat_hash_map<std::uint32_t, std::array<std::uint64_t, 4>> votes;  // by stack
  for (const CategoryUnit& unit : *units)
    if (unit.stack.valid())
      votes[unit.stack.value][static_cast<std::size_t>(unit.slope)] +=
          IsCertain(turns, unit) ? kCertain : 1;
  for (CategoryUnit& unit : *units) {
    if (!unit.stack.valid() || unit.slope == Slope::kBefore) continue;
    const auto& slopes = votes[unit.stack.value];
    const auto best = std::max_element(slopes.begin() + 1, slopes.end());
    unit.slope = static_cast<Slope>(best - slopes.begin());
  }
}

std::vector<UnitPhase> FindPhases(const Session& session, const std::vector<CategoryUnit>& units,
                                  const CategoryStacks& stacks, const CategoryOptions& options) {
  std::vector<Phase> ranges(units.size(), Phase::kNone);
  if (options.ranges) ranges = RangePhases(session, units);
  std::vector<UnitPhase> phases(units.size());
  absl::flat_hash_map<std::uint64_t, std::array<std::uint32_t, 2>> leaves;  // forward, backward
  for (std::size_t u = 0; u < units.size(); ++u) {
    UnitPhase& phase = phases[u];
    const Phase slope = PhaseOfSlope(units[u].slope);
    const CategoryStacks::Facts& facts = stacks.Of(units[u].stack);
    if (facts.phase != Phase::kNone) {
      phase = {facts.phase, CategoryReason::kStack, facts.phase == slope};
    } else if (ranges[u] != Phase::kNone) {
      phase = {ranges[u], CategoryReason::kRange, ranges[u] == slope};
    } else {
      phase = {slope, CategoryReason::kLifetime, false};
    }
    if (facts.leaf == 0 || !options.stacks) continue;
    if (phase.phase == Phase::kForward) ++leaves[facts.leaf][0];
    if (phase.phase == Phase::kBackward) ++leaves[facts.leaf][1];
  }
  // Activations that are computed again during the backward pass.
  for (std::size_t u = 0; u < units.size(); ++u) {
    UnitPhase& phase = phases[u];
    if (phase.phase != Phase::kBackward || phase.reason == CategoryReason::kStack) continue;
    const auto leaf = leaves.find(stacks.Of(units[u].stack).leaf);
    if (leaf == leaves.end() || leaf->second[0] * 3 < leaf->second[1]) continue;
    phase.phase = Phase::kForward;
    phase.agreed = false;
  }
  return phases;
}

}  // namespace memprof::analysis
