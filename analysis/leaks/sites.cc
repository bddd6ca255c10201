// Groups judged allocations into sites.
#include "analysis/leaks/sites.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace memprof::analysis {
namespace {

struct LeakSiteKey {
  std::uint32_t stack = 0;
  std::int32_t device = 0;
  Layer layer = Layer::kUnspecified;
  std::uint32_t process = 0;
  std::uint64_t size = 0;  // only without a stack
  bool operator==(const LeakSiteKey&) const = default;
};

struct LeakSiteKeyHash {
  std::size_t operator()(const LeakSiteKey& key) const {
    std::uint64_t hash = key.stack * 0x9e3779b97f4a7c15u;
    hash ^= (hash >> 29) + (static_cast<std::uint64_t>(key.device + 2) << 8) +
            static_cast<std::uint64_t>(key.layer) + (static_cast<std::uint64_t>(key.process) << 32);
    hash *= 0xbf58476d1ce4e5b9u;
    hash ^= key.size * 0x94d049bb133111ebu;
    return static_cast<std::size_t>(hash ^ (hash >> 31));
  }
};

// An import is reported once: the import itself, not its buffers and arrays, as long as it is open.
class OpenImports {
 public:
  explicit OpenImports(const Session& session) : session_(session) {
    for (const AllocationRecord& a : session.records()) {
      if (!AliveAtExit(session, a)) continue;
      if (a.layer == Layer::kImported && !IsImportView(a.import_kind)) imports_.insert(a.address);
      own_views_ |= a.import_kind == ImportKind::kOwn;
    }
    if (!own_views_) return;
    for (const AllocationRecord& a : session.records())
      if (AliveAtExit(session, a) && OccupiesDevice(a.layer)) own_.insert(a.address);
  }

  // Whether it is a view of an open import, or of memory that the process still has.
  bool Shows(const AllocationRecord& view) const {
    if (!IsImportView(view.import_kind) || !view.birth.valid()) return false;
    const std::uint64_t shown = session_.events().aux0(view.birth.value);
    return view.import_kind == ImportKind::kOwn ? own_.contains(shown) : imports_.contains(shown);
  }

 private:
  const Session& session_;
  std::unordered_set<std::uint64_t> imports_;  // handles
  std::unordered_set<std::uint64_t> own_;      // addresses
  bool own_views_ = false;
};

// What it adds to the bytes held when its site is judged, beyond those at the end of the warm-up.
// Modulo 2^64, because the sums of a damaged log may overflow.
std::uint64_t RiseBy(const AllocationRecord& a, const StepClock& clock, EventId warm) {
  if (!a.birth.valid() || a.birth >= clock.judged_at()) return 0;
  const bool before = a.birth < warm && (a.alive() || a.death >= warm);
  return (AliveWhenJudged(clock, a) ? a.bytes : 0) - (before ? a.bytes : 0);
}

}  // namespace

std::vector<bool> SelectJudged(const Session& session) {
  const auto allocations = session.records();
  std::set<int> framework_devices;
  for (const AllocationRecord& a : allocations) {
    if (a.layer == Layer::kBlock) framework_devices.insert(a.device);
  }
  const OpenImports open(session);
  std::vector<bool> judged(allocations.size(), false);
  for (std::uint32_t i = 0; i < allocations.size(); ++i) {
    const AllocationRecord& a = allocations[i];
    if (a.layer == Layer::kImported) {
      judged[i] = !open.Shows(a);
    } else if (a.layer == Layer::kBlock || OccupiesHost(a.layer)) {
      judged[i] = true;
    } else if (a.layer == Layer::kVmmPhysical) {
      // An allocator's growing segments consist of such memory; its blocks are judged instead.
      judged[i] = !framework_devices.contains(a.device);
    } else if (OccupiesDevice(a.layer)) {
      judged[i] = !session.IsSuballocated(AllocationId(i));
    }
  }
  return judged;
}

std::vector<std::vector<LeakSite>> GroupLeakSites(const Session& session,
                                                  std::span<const StepClock> clocks) {
  const std::vector<bool> judged = SelectJudged(session);
  const auto allocations = session.records();
  std::unordered_map<LeakSiteKey, std::uint32_t, LeakSiteKeyHash> index;
  std::vector<std::vector<LeakSite>> all(clocks.size());
  std::vector<EventId> warm;  // by process: the end of its warm-up
  for (const StepClock& clock : clocks) {
    const std::int64_t steps = WarmupSteps(clock.completed());
    warm.push_back(steps <= clock.completed() ? clock.BeginOf(steps) : EventId());
  }
  for (std::uint32_t i = 0; i < allocations.size(); ++i) {
    if (!judged[i]) continue;
    const AllocationRecord& a = allocations[i];
    const std::uint32_t process = session.ProcessOf(a.birth);
    if (process >= clocks.size()) continue;
    const StepClock& clock = clocks[process];
    std::vector<LeakSite>& sites = all[process];
    const LeakSiteKey key{a.stack.value, a.device, a.layer, process, a.stack.valid() ? 0 : a.bytes};
    const auto [it, fresh] = index.try_emplace(key, static_cast<std::uint32_t>(sites.size()));
    if (fresh) {
      sites.emplace_back();
      sites.back().process = process;
      sites.back().device = a.device;
      sites.back().layer = a.layer;
      sites.back().stack = a.stack;
    }
    LeakSite& site = sites[it->second];
    const AllocationId id(i);
    site.members.push_back(id);
    site.rise += RiseBy(a, clock, warm[process]);
    if (AliveAtExit(session, a)) site.alive_at_end.push_back(id);
    if (AliveWhenJudged(clock, a)) {
      site.judged_alive.push_back(id);
    } else if (!AliveAtExit(session, a) && a.death.valid() && a.death < clock.judged_at()) {
      const std::int64_t birth = clock.IndexAt(a.birth);
      if (birth >= 0) {  // lifetimes of set-up are no evidence for the loop
        site.longest_lifetime = std::max(site.longest_lifetime, clock.IndexAt(a.death) - birth);
      }
    }
  }
  return all;
}

// Whether nothing of the layer of `id` was allocated between `freed` and its own birth: it replaces
// what was freed.
static bool Replaces(const Session& session, AllocationId id, EventId freed) {
  constexpr std::uint32_t kFew = 8;  // of other layers, which one allocation causes
  const Layer layer = session.record(id).layer;
  for (std::uint32_t i = id.value; i-- > 0 && session.record(AllocationId(i)).birth > freed;)
    if (session.record(AllocationId(i)).layer == layer || id.value - i > kFew) return false;
  return true;
}

std::vector<std::uint64_t> LowsOf(const Session& session, const StepClock& clock,
                                  const LeakSite& site, bool bridged) {
  std::vector<std::pair<EventId, std::int64_t>> changes;
  // A workspace that settles at its size is no growth: only a buffer that has doubled counts.
  const bool doubled = bridged && session.record(site.members.back()).bytes >=
                                      2 * session.record(site.members.front()).bytes;
  for (std::size_t i = 0; i < site.members.size(); ++i) {
    const AllocationRecord& a = session.record(site.members[i]);
    if (!a.birth.valid() || a.birth >= clock.judged_at()) continue;
    changes.emplace_back(a.birth, static_cast<std::int64_t>(a.bytes));
    if (a.alive() || !a.death.valid()) continue;
    // A buffer that is freed just before a larger one takes its place counts as held meanwhile.
    const bool last = i + 1 == site.members.size();
    const EventId next = last ? EventId() : session.record(site.members[i + 1]).birth;
    const bool replaced =
        doubled && !last && a.death < next && Replaces(session, site.members[i + 1], a.death);
    const EventId end = replaced ? next : a.death;
    if (end < clock.judged_at()) changes.emplace_back(end, -static_cast<std::int64_t>(a.bytes));
  }
  // Within one event, allocations precede frees, so that a buffer that grows in place counts as
  // held all the time.
  std::sort(changes.begin(), changes.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second > b.second;
  });
  std::vector<std::uint64_t> lows(static_cast<std::size_t>(clock.completed()));
  std::uint64_t live = 0;  // modulo 2^64, because the sums of a damaged log may overflow
  std::size_t next = 0;
  for (std::int64_t step = 0; step < clock.completed(); ++step) {
    for (; next < changes.size() && changes[next].first < clock.BeginOf(step); ++next)
      live += static_cast<std::uint64_t>(changes[next].second);
    std::uint64_t low = live;
    for (; next < changes.size() && changes[next].first < clock.BeginOf(step + 1); ++next) {
      live += static_cast<std::uint64_t>(changes[next].second);
      low = std::min(low, live);
    }
    lows[static_cast<std::size_t>(step)] = low;
  }
  return lows;
}

SiteHistory HistoryOf(const Session& session, const StepClock& clock, const LeakSite& site) {
  SiteHistory history;
  history.steps = clock.completed();
  history.longest_lifetime = site.longest_lifetime;
  std::map<std::uint64_t, std::int64_t> last_of_size;
  for (const AllocationId id : site.judged_alive) {
    const AllocationRecord& survivor = session.record(id);
    const std::int64_t step = clock.IndexAt(survivor.birth);
    if (step < 0) continue;
    if (history.birth_steps.empty() || history.birth_steps.back() != step) {
      history.birth_steps.push_back(step);
      history.birth_bytes.push_back(0);
    }
    history.birth_bytes.back() += survivor.bytes;
    const auto [it, fresh] = last_of_size.try_emplace(survivor.bytes, step);
    history.sizes_return |= !fresh && it->second != step;
  }
  history.lows = LowsOf(session, clock, site, true);
  return history;
}

SiteHistory HeldHistoryOf(const SiteHistory& blocks) {
  SiteHistory held = StackedGrowth(blocks.lows);
  held.longest_lifetime = std::max(held.longest_lifetime, blocks.longest_lifetime);
  held.sizes_return = true;
  return held;
}

}  // namespace memprof::analysis
