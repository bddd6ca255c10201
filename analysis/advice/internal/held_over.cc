// Memory of one step that stays until the next one has made its own: a result, and the graph that
// it keeps, in a variable that is only overwritten.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/advice/internal/drafts.h"

namespace memprof::analysis::advice {
namespace {

// What was freed by one assignment: nothing was allocated in between.
struct Burst {
  std::vector<AllocationId> blocks;  // the first is what the variable held
  std::uint64_t bytes = 0;
};

// Device memory that is judged on its own, by process, device and level: what others allocate in
// between is none of theirs.
using Group = std::vector<AllocationId>;  // in order of birth
std::map<std::tuple<std::uint32_t, int, PeakLayer>, Group> FindGroups(const Drafts& drafts) {
  std::map<std::tuple<std::uint32_t, int, PeakLayer>, Group> groups;
  const Session& session = drafts.session();
  for (std::uint32_t i = 0; i < session.records().size(); ++i) {
    const AllocationRecord& a = session.records()[i];
    const auto level = PeakLayerOf(a.layer);
    if (drafts.judged()[i] && a.device != kNoDevice && level)
      groups[{session.ProcessOf(a.birth), a.device, *level}].emplace_back(i);
  }
  return groups;
}

// The blocks of a step that ended in the next one after that had allocated as much at their site,
// by their ends.
Group FindHeld(const Session& session, const StepClock& clock, const Group& group) {
  std::map<std::pair<Layer, StackId>, std::vector<EventId>> births;
  const auto of_site = [&births](const AllocationRecord& a) -> std::vector<EventId>& {
    return births[{a.layer, a.stack}];
  };
  for (const AllocationId id : group)
    of_site(session.record(id)).push_back(session.record(id).birth);
  Group held;
  for (const AllocationId id : group) {
    const AllocationRecord& a = session.record(id);
    if (!a.death.valid()) continue;
    const std::int64_t step = clock.IndexAt(a.birth), next = clock.IndexAt(a.death);
    if (step < 0 || next != step + 1) continue;
    const std::vector<EventId>& site = of_site(a);
    const auto successor = std::lower_bound(site.begin(), site.end(), clock.BeginOf(next));
    if (successor != site.end() && *successor < a.death) held.push_back(id);
  }
  std::sort(held.begin(), held.end(), [&session](AllocationId a, AllocationId b) {
    return session.record(a).death < session.record(b).death;
  });
  return held;
}

std::vector<Burst> FindBursts(const Session& session, const StepClock& clock, const Group& group) {
  std::vector<EventId> births;  // ascending
  for (const AllocationId id : group) births.push_back(session.record(id).birth);
  const auto born_until = [&births](EventId event) {
    return std::lower_bound(births.begin(), births.end(), event);
  };
  std::vector<Burst> bursts;
  EventId last;
  for (const AllocationId id : FindHeld(session, clock, group)) {
    const AllocationRecord& a = session.record(id);
    if (!last.valid() || born_until(last) != born_until(a.death)) bursts.emplace_back();
    bursts.back().blocks.push_back(id);
    bursts.back().bytes += a.bytes;
    last = a.death;
  }
  return bursts;
}

void Add(Drafts& drafts, const StepClock& clock, const Burst& burst) {
  const AllocationRecord& head = drafts.session().record(burst.blocks.front());
  const EventId begin = clock.BeginOf(clock.IndexAt(head.death));
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

void FindIn(Drafts& drafts, const StepClock& clock, const Group& group) {
  const auto head = [&drafts](const Burst& burst) -> const AllocationRecord& {
    return drafts.session().record(burst.blocks.front());
  };
  std::map<std::pair<Layer, std::uint32_t>, LoopCount> loops;
  const auto loop = [&](const Burst& burst) -> LoopCount& {
    return loops[{head(burst).layer, drafts.SiteOf(head(burst).stack)}];
  };
  const std::vector<Burst> bursts = FindBursts(drafts.session(), clock, group);
  for (const Burst& burst : bursts) loop(burst).Add(clock, head(burst).death);
  for (const Burst& burst : bursts)
    if (loop(burst).Loops(clock) && !drafts.Has(Pattern::kLeak, head(burst)))
      Add(drafts, clock, burst);
}

}  // namespace

// Where uses can be seen, a late release is told instead, to the event.
void FindHeldOver(Drafts& drafts) {
  if (drafts.accesses().evidence().pointers()) return;
  for (const auto& [key, group] : FindGroups(drafts)) {
    const StepClock clock(drafts.session(), std::get<0>(key));
    if (clock.judged_at().valid()) FindIn(drafts, clock, group);
  }
}

}  // namespace memprof::analysis::advice
