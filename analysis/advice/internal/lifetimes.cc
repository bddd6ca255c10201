// Patterns of lifetimes and uses: memory that is never used, comes too early, stays too long, lies
// idle, or could be another's.
#include <algorithm>
#include <queue>

#include "analysis/advice/internal/drafts.h"

namespace memprof::analysis::advice {
namespace {

// A gap with fewer launches is too short to copy memory elsewhere and back.
constexpr std::uint64_t kIdleLaunches = 10;

double ByteSeconds(std::uint64_t bytes, TimeNs ns) {
  return static_cast<double>(bytes) * static_cast<double>(ns) * 1e-9;
}

// The event that ended `a`, or the log's end.
EventId EndOf(const Drafts& drafts, const AllocationRecord& a) {
  return a.death.valid() ? a.death : EventId(static_cast<std::uint32_t>(drafts.events().size()));
}

// One allocation's time between two events in which nothing used it.
struct Gap {
  Pattern pattern;
  EventId begin, end;
  LevelChange change;
};

void AddGap(Drafts& drafts, AllocationId id, const AllocationRecord& a, const Gap& gap,
            std::uint64_t launches) {
  Draft& draft = drafts.At(gap.pattern, a);
  const TimeNs time = drafts.Between(gap.begin, gap.end);
  drafts.Count(draft, a.bytes, {gap.begin, id, {}, {}});
  draft.launches += launches;
  draft.gap += time;
  draft.finding.byte_seconds += ByteSeconds(a.bytes, time);
  draft.changes.push_back(gap.change);
  const bool unknown = drafts.accesses().UnknownLaunchesBetween(a, gap.begin, gap.end) > 0;
  draft.unknown += unknown;
  Weaken(draft,
         unknown || a.layer == Layer::kManaged ? Confidence::kPossible : Confidence::kLikely);
}

// Whether it was allocated before the last step and still used in it: its next use would be in the
// next step, which the log does not have.
bool IsLastingState(const StepClock& clock, const AllocationRecord& a, EventId last_use) {
  return clock.judged_at().valid() && clock.IndexAt(a.birth) < clock.completed() &&
         clock.IndexAt(last_use) >= clock.completed();
}

void FindIdle(Drafts& drafts, AllocationId id, const AllocationRecord& a,
              std::span<const Access> uses) {
  for (std::size_t i = 0; i + 1 < uses.size(); ++i) {
    const EventId begin = uses[i].event, end = uses[i + 1].event;
    if (end.value - begin.value <= kIdleLaunches) continue;
    const std::uint64_t launches = drafts.accesses().LaunchesBetween(a, begin, end);
    if (launches < kIdleLaunches || drafts.BirthsBetween(a, begin, end) == 0) continue;
    const LevelChange away = {EventId(begin.value + 1), end, Removed(a).bytes};
    AddGap(drafts, id, a, {Pattern::kIdle, begin, end, away}, launches);
  }
}

// Memory that reuses the memory of another allocation: how long it is held, and when it was last
// used.
struct Storage {
  EventId last_use, end;
  AllocationId owner;
};
struct EarlierLastUse {
  bool operator()(const Storage& a, const Storage& b) const { return a.last_use > b.last_use; }
};
struct LaterEnd {
  bool operator()(const Storage& a, const Storage& b) const { return a.end < b.end; }
};

struct Used {
  AllocationId id;
  EventId first, last;
};

void ReuseWithin(Drafts& drafts, const std::vector<Used>& objects) {
  std::priority_queue<Storage, std::vector<Storage>, EarlierLastUse> in_use;
  std::priority_queue<Storage, std::vector<Storage>, LaterEnd> done;
  for (const Used& object : objects) {
    const AllocationRecord& a = drafts.session().record(object.id);
    const EventId end = EndOf(drafts, a);
    for (; !in_use.empty() && in_use.top().last_use < object.first; in_use.pop())
      done.push(in_use.top());
    if (done.empty() || done.top().end <= a.birth) {
      in_use.push({object.last, end, object.id});
      continue;
    }
    Storage storage = done.top();
    done.pop();
    Draft& draft = drafts.At(Pattern::kReusable, a);
    drafts.Count(draft, a.bytes, {a.birth, object.id, storage.owner, {}});
    draft.changes.push_back(Removed(a));
    const TimeNs both = drafts.Between(a.birth, std::min(storage.end, end));
    draft.gap += both;
    draft.finding.byte_seconds += ByteSeconds(a.bytes, both);
    if (end > storage.end) draft.changes.push_back({storage.end, end, -Removed(a).bytes});
    const bool unknown = drafts.accesses().UnknownLaunchesBetween(a, storage.last_use,
                                                                  std::min(storage.end, end)) > 0;
    draft.unknown += unknown;
    Weaken(draft,
           unknown || a.layer == Layer::kManaged ? Confidence::kPossible : Confidence::kLikely);
    in_use.push({object.last, std::max(storage.end, end), storage.owner});
  }
}

}  // namespace

void FindUnused(Drafts& drafts) {
  const Accesses& accesses = drafts.accesses();
  const auto records = drafts.session().records();
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    const AllocationId id(i);
    const AllocationRecord& a = records[i];
    if (!drafts.UsesCanBeSeen(id) || !accesses.Of(id).empty()) continue;
    const EventId end = EndOf(drafts, a);
    const AccessEvidence& evidence = accesses.EvidenceFor(a);
    const std::uint64_t launches = accesses.LaunchesBetween(a, a.birth, end);
    if (evidence.launches == 0 || (launches > 0 && !evidence.pointers())) continue;
    const bool unknown = accesses.UnknownLaunchesBetween(a, a.birth, end) > 0;
    Draft& draft = drafts.At(Pattern::kUnused, a);
    const TimeNs time = drafts.Between(a.birth, end);
    drafts.Count(draft, a.bytes, {a.birth, id, {}, {}});
    draft.launches += launches;
    draft.gap += time;
    draft.unknown += unknown;
    draft.finding.byte_seconds += ByteSeconds(a.bytes, time);
    draft.changes.push_back(Removed(a));
    if (a.layer == Layer::kManaged || unknown) {
      Weaken(draft, Confidence::kPossible);
    } else if (launches > 0) {
      Weaken(draft, Confidence::kLikely);
    }
  }
}

void FindGaps(Drafts& drafts) {
  const Accesses& accesses = drafts.accesses();
  if (!accesses.evidence().pointers()) return;
  const auto records = drafts.session().records();
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    const AllocationId id(i);
    const AllocationRecord& a = records[i];
    const std::span<const Access> uses = accesses.Of(id);
    if (uses.empty() || !drafts.UsesCanBeSeen(id)) continue;
    const EventId first = uses.front().event, last = uses.back().event, end = EndOf(drafts, a);
    const std::uint64_t before = accesses.LaunchesBetween(a, a.birth, first);
    if (before > 0 && drafts.DeathsBetween(a, a.birth, first) > 0) {
      AddGap(drafts, id, a, {Pattern::kEarlyAllocation, a.birth, first, Delayed(a, first)}, before);
    }
    const std::uint64_t after = accesses.LaunchesBetween(a, last, end);
    if (after > 0 && drafts.BirthsBetween(a, last, end) > 0 && !drafts.Has(Pattern::kLeak, a) &&
        !IsLastingState(drafts.clock(), a, last)) {
      AddGap(drafts, id, a, {Pattern::kLateRelease, last, end, Shortened(a, last)}, after);
    }
    FindIdle(drafts, id, a, uses);
  }
}

void FindReusable(Drafts& drafts) {
  const Accesses& accesses = drafts.accesses();
  if (!accesses.evidence().pointers()) return;
  std::map<std::tuple<std::uint32_t, int, Layer, std::uint64_t>, std::vector<Used>> by_size;
  const auto records = drafts.session().records();
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    const AllocationId id(i);
    const std::span<const Access> uses = accesses.Of(id);
    if (uses.empty() || !drafts.UsesCanBeSeen(id)) continue;
    const AllocationRecord& a = records[i];
    if (drafts.Has(Pattern::kLeak, a)) continue;
    // No process can use another's memory again.
    by_size[{drafts.session().ProcessOf(a.birth), a.device, a.layer, a.bytes}].push_back(
        {id, uses.front().event, uses.back().event});
  }
  for (auto& [key, objects] : by_size) {
    std::stable_sort(objects.begin(), objects.end(),
                     [](const Used& a, const Used& b) { return a.first < b.first; });
    ReuseWithin(drafts, objects);
  }
}

}  // namespace memprof::analysis::advice
