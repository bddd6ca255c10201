// Groups by prefixes of ways.
#include "analysis/leaks/internal/groups.h"

#include <algorithm>
#include <map>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace memprof::analysis {
namespace {

constexpr std::size_t kDeepest = 4096;  // frames; deeper stacks are in no group
constexpr std::size_t kMaxWayFrames = 64;

std::uint64_t Mix(std::uint64_t hash, std::uint64_t value) {
  hash ^= (value + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
  return (hash ^ (hash >> 29)) * 0x94d049bb133111ebu;
}

// Hashes of the way's prefixes, from the outermost frame on. Empty for no stack.
std::vector<std::uint64_t> WayOf(const Session& session, const LeakSite& site) {
  std::vector<FrameId> frames;
  for (StackId at = site.stack; at.valid(); at = session.StackParent(at)) {
    if (frames.size() == kDeepest) return {};
    frames.push_back(session.StackFrame(at));
  }
  std::vector<std::uint64_t> way;
  absl::flat_hash_set<std::uint32_t> seen;
  std::uint64_t hash =
      Mix(static_cast<std::uint64_t>(site.device + 2), static_cast<std::uint64_t>(site.layer));
  for (auto it = frames.rbegin(); it != frames.rend() && way.size() < kMaxWayFrames; ++it) {
    if (!seen.insert(it->value).second) continue;
    hash = Mix(hash, it->value);
    way.push_back(hash);
  }
  return way;
}

// Birth steps and bytes of all survivors of `indices`, as of sites that free nothing else.
SiteHistory RoughHistory(const Session& session, const StepClock& clock,
                         const std::vector<LeakSite>& sites,
                         const std::vector<std::size_t>& indices) {
  SiteHistory history;
  history.steps = clock.completed();
  history.sizes_return = true;
  std::map<std::int64_t, std::uint64_t> births;
  for (const std::size_t index : indices) {
    history.longest_lifetime = std::max(history.longest_lifetime, sites[index].longest_lifetime);
    for (const AllocationId id : sites[index].judged_alive) {
      const std::int64_t step = clock.IndexAt(session.record(id).birth);
      if (step >= 0) births[step] += session.record(id).bytes;
    }
  }
  history.lows.resize(static_cast<std::size_t>(history.steps));
  for (const auto& [step, bytes] : births) {
    history.birth_steps.push_back(step);
    history.birth_bytes.push_back(bytes);
    if (step < history.steps) history.lows[static_cast<std::size_t>(step)] += bytes;
  }
  for (std::size_t i = 1; i < history.lows.size(); ++i) history.lows[i] += history.lows[i - 1];
  return history;
}

}  // namespace

std::vector<SiteGroup> GroupsThatGrow(const Session& session, const StepClock& clock,
                                      const std::vector<LeakSite>& sites,
                                      const std::vector<bool>& settled, std::int64_t least) {
  struct Way {
    std::size_t length = 0, allocations = 0;
    std::vector<std::size_t> sites;
  };
  absl::flat_hash_map<std::uint64_t, Way> ways;
  std::size_t allocations = 0;
  const std::int64_t warm = WarmupSteps(clock.completed());
  for (std::size_t i = 0; i < sites.size(); ++i) {
    allocations += sites[i].members.size();
    const bool grows = !settled[i] && !sites[i].judged_alive.empty() &&
                       clock.IndexAt(session.record(sites[i].judged_alive.back()).birth) >= warm;
    const std::vector<std::uint64_t> way = WayOf(session, sites[i]);
    for (std::size_t length = 0; length < way.size(); ++length) {
      Way& shared = ways[way[length]];
      shared.length = length + 1;
      shared.allocations += sites[i].members.size();
      if (grows) shared.sites.push_back(i);
    }
  }
  std::vector<const Way*> longest_first;
  for (const auto& [hash, way] : ways)
    if (way.sites.size() > 1 && 2 * way.allocations <= allocations) longest_first.push_back(&way);
  std::sort(longest_first.begin(), longest_first.end(), [](const Way* a, const Way* b) {
    return a->length != b->length ? a->length > b->length : a->sites < b->sites;
  });
  std::vector<SiteGroup> groups;
  for (const Way* way : longest_first) {
    const SiteJudgement judgement = JudgeSite(RoughHistory(session, clock, sites, way->sites));
    if (judgement.score >= kSuspicion && judgement.old_births >= least)
      groups.push_back({way->sites});
  }
  return groups;
}

LeakSite MergeSites(const Session& session, const std::vector<LeakSite>& sites,
                    const std::vector<std::size_t>& indices) {
  LeakSite all;
  std::size_t most = 0;
  for (const std::size_t index : indices) {
    const LeakSite& site = sites[index];
    all.process = site.process;
    all.device = site.device;
    all.layer = site.layer;
    if (site.judged_alive.size() > most) {
      most = site.judged_alive.size();
      all.stack = site.stack;
    }
    all.longest_lifetime = std::max(all.longest_lifetime, site.longest_lifetime);
    const auto append = [](const std::vector<AllocationId>& from, std::vector<AllocationId>* to) {
      to->insert(to->end(), from.begin(), from.end());
    };
    append(site.judged_alive, &all.judged_alive);
    append(site.alive_at_end, &all.alive_at_end);
    append(site.members, &all.members);
  }
  const auto born_before = [&session](AllocationId a, AllocationId b) {
    return session.record(a).birth < session.record(b).birth;
  };
  for (auto* list : {&all.judged_alive, &all.alive_at_end, &all.members})
    std::sort(list->begin(), list->end(), born_before);
  return all;
}

}  // namespace memprof::analysis
