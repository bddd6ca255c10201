// Whether it was a leak that filled the device: then the last request's own reason says little.
#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "analysis/oom_internal.h"

namespace memprof::analysis::oom {
namespace {

bool IsWantOfMemory(FailureCause cause) {
  return cause == FailureCause::kCapacity || cause == FailureCause::kFragmentation ||
         cause == FailureCause::kOtherPool || cause == FailureCause::kSegmentSize;
}

// What would last is told before what would have helped for one request more.
void NameFirst(const Scene& scene, SiteGroups& groups,
               const absl::flat_hash_set<std::uint32_t>& growing, FailureReport* report) {
  const auto of_growth = [&growing](const Remedy& remedy) {
    return remedy.fits && remedy.kind == RemedyKind::kSites &&
           std::all_of(remedy.sites.begin(), remedy.sites.end(),
                       [&growing](const SiteUse& use) { return growing.contains(use.site); });
  };
  std::vector<Remedy>& remedies = report->remedies;
  if (std::none_of(remedies.begin(), remedies.end(), of_growth)) {
    Remedy all{.kind = RemedyKind::kSites};
    std::vector<bool> absent(groups.size(), false);
    for (const SiteUse& use : report->sites) {
      if (!growing.contains(use.site)) continue;
      absent[use.site] = true;
      all.bytes += use.bytes;
      all.sites.push_back(use);
    }
    all.fits = EvaluateWithout(scene, groups, absent).fits;
    if (!all.fits) return;
    remedies.push_back(std::move(all));
  }
  std::stable_partition(remedies.begin(), remedies.end(), of_growth);
}

}  // namespace

void FindGrowth(const Scene& scene, Symbols& symbols, SiteGroups& groups,
                const std::vector<Leak>& leaks, FailureReport* report) {
  if (!IsWantOfMemory(report->cause)) return;
  FailureGrowth growth;
  std::uint64_t largest = 0;
  absl::flat_hash_set<std::uint32_t> seen;
  for (const Leak& leak : leaks) {
    if (leak.device != scene.request.device) continue;
    growth.bytes_per_step += leak.bytes_per_step;
    const std::uint32_t group = groups.Of(leak.stack);
    const auto use = std::find_if(report->sites.begin(), report->sites.end(),
                                  [group](const SiteUse& u) { return u.site == group; });
    if (use == report->sites.end() || !seen.insert(group).second) continue;
    growth.bytes += use->bytes;
    if (use->bytes <= largest) continue;
    largest = use->bytes;
    growth.stack = leak.stack;
  }
  const DeviceSpace& space = scene.space;
  const std::uint64_t unused = space.own_pool.bytes + space.other_pools.bytes + space.cached.bytes;
  if (!growth.stack.valid() || growth.bytes < scene.need() || growth.bytes <= unused) return;
  growth.site = symbols.Site(growth.stack);
  growth.sites = seen.size();
  report->growth = std::move(growth);
  NameFirst(scene, groups, seen, report);
}

}  // namespace memprof::analysis::oom
