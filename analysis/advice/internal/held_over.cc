// Memory of one step that stays until the next one has made its own: a result, and the graph that
// it keeps, in a variable that is only overwritten.
#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "analysis/advice/internal/drafts.h"

namespace memprof::analysis::advice {
namespace {

// What was freed by one assignment: nothing was allocated in between.
struct Burst {
  std::vector<AllocationId> blocks;  // the first is what the variable held
  std::uint64_t bytes = 0;
};

// Which of a session's records count: device memory that is judged on its own, of one level.
std::vector<AllocationId> FindCounted(const Drafts& drafts) {
  std::vector<AllocationId> counted;
  const auto records = drafts.session().records();
  for (std::uint32_t i = 0; i < records.size(); ++i)
    if (drafts.judged()[i] && records[i].device != kNoDevice && PeakLayerOf(records[i].layer))
      counted.emplace_back(i);
  return counted;
}

// The blocks of a step that ended in the next one after that had allocated as much at their site,
// by their ends.
std::vector<AllocationId> FindHeld(const Drafts& drafts, std::span<const AllocationId> counted) {
  const StepClock& clock = drafts.clock();
  const auto record = [&](AllocationId id) -> const AllocationRecord& {
    return drafts.session().record(id);
  };
  std::map<std::tuple<int, Layer, StackId>, std::vector<EventId>> births;
  const auto of_site = [&births](const AllocationRecord& a) -> std::vector<EventId>& {
    return births[{a.device, a.layer, a.stack}];
  };
  for (const AllocationId id : counted) of_site(record(id)).push_back(record(id).birth);
  std::vector<AllocationId> held;
  for (const AllocationId id : counted) {
    const AllocationRecord& a = record(id);
    if (!a.death.valid()) continue;
    const std::int64_t step = clock.IndexAt(a.birth), next = clock.IndexAt(a.death);
    if (step < 0 || next != step + 1) continue;
    const std::vector<EventId>& site = of_site(a);
    const auto successor = std::lower_bound(site.begin(), site.end(), clock.BeginOf(next));
    if (successor != site.end() && *successor < a.death) held.push_back(id);
  }
  std::sort(held.begin(), held.end(), [&record](AllocationId a, AllocationId b) {
    return record(a).death < record(b).death;
  });
  return held;
}

std::vector<Burst> FindBursts(const Drafts& drafts) {
  const std::vector<AllocationId> counted = FindCounted(drafts);
  std::vector<EventId> births;  // ascending, as records are
  for (const AllocationId id : counted) births.push_back(drafts.session().record(id).birth);
  std::vector<Burst> bursts;
  const AllocationRecord* last = nullptr;
  for (const AllocationId id : FindHeld(drafts, counted)) {
    const AllocationRecord& a = drafts.session().record(id);
    const bool same = last != nullptr && last->device == a.device &&
                      PeakLayerOf(last->layer) == PeakLayerOf(a.layer) &&
                      std::lower_bound(births.begin(), births.end(), last->death) ==
                          std::lower_bound(births.begin(), births.end(), a.death);
    if (!same) bursts.emplace_back();
    bursts.back().blocks.push_back(id);
    bursts.back().bytes += a.bytes;
    last = &a;
  }
  return bursts;
}

void Add(Drafts& drafts, const Burst& burst) {
  const AllocationRecord& head = drafts.session().record(burst.blocks.front());
  const EventId begin = drafts.clock().BeginOf(drafts.clock().IndexAt(head.death));
  Draft& draft = drafts.At(Pattern::kHeldOver, head);
  drafts.Count(draft, burst.bytes, {head.birth, burst.blocks.front(), {}, {}});
  draft.other = std::max(draft.other, burst.bytes);
  Weaken(draft, Confidence::kPossible);
  for (const AllocationId id : burst.blocks) {
    const AllocationRecord& a = drafts.session().record(id);
    draft.changes.push_back(Shortened(a, EventId(begin.value - 1)));
    draft.finding.byte_seconds +=
        static_cast<double>(a.bytes) * static_cast<double>(drafts.Between(begin, a.death)) * 1e-9;
  }
}

}  // namespace

// Where uses can be seen, a late release is told instead, to the event.
void FindHeldOver(Drafts& drafts) {
  if (drafts.accesses().evidence().pointers() || !drafts.clock().judged_at().valid()) return;
  const std::vector<Burst> bursts = FindBursts(drafts);
  const auto record = [&](const Burst& burst) -> const AllocationRecord& {
    return drafts.session().record(burst.blocks.front());
  };
  std::map<std::tuple<int, Layer, std::uint32_t>, LoopCount> loops;
  const auto loop = [&](const Burst& burst) -> LoopCount& {
    const AllocationRecord& head = record(burst);
    return loops[{head.device, head.layer, drafts.SiteOf(head.stack)}];
  };
  for (const Burst& burst : bursts) loop(burst).Add(drafts.clock(), record(burst).death);
  for (const Burst& burst : bursts)
    if (loop(burst).Loops(drafts.clock()) && !drafts.Has(Pattern::kLeak, record(burst)))
      Add(drafts, burst);
}

}  // namespace memprof::analysis::advice
