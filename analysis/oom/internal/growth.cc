// Whether a leak has filled the device: then the cause of the last request itself matters little.
#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "analysis/oom/internal/scene_parts.h"

namespace memprof::analysis::oom {
namespace {

bool IsWantOfMemory(FailureCause cause) {
  return cause == FailureCause::kCapacity || cause == FailureCause::kFragmentation ||
         cause == FailureCause::kOtherPool || cause == FailureCause::kSegmentSize;
}

// The bytes that a remedy leaves for the requests after this one.
std::uint64_t BeyondRequest(const Scene& scene, const Remedy& remedy) {
  const std::uint64_t have = scene.space.free, need = scene.need();
  switch (remedy.kind) {
    case RemedyKind::kSmallerRequest:
    case RemedyKind::kSmallSegments:
    case RemedyKind::kFreeBlocks:
    case RemedyKind::kLargerDevice:
      return 0;
    case RemedyKind::kOnePool:
      return remedy.bytes - std::min(remedy.bytes, scene.request.bytes);
    default:
      return have + remedy.bytes - std::min(have + remedy.bytes, need);
  }
}

Remedy WithoutSites(const Scene& scene, SiteGroups& groups, std::vector<SiteUse> sites) {
  Remedy remedy{.kind = RemedyKind::kSites, .sites = std::move(sites)};
  std::vector<bool> absent(groups.size(), false);
  for (const SiteUse& use : remedy.sites) {
    absent[use.site] = true;
    remedy.bytes += use.bytes;
  }
  remedy.fits = EvaluateWithout(scene, groups, absent).fits;
  remedy.beyond = remedy.fits ? BeyondRequest(scene, remedy) : 0;
  return remedy;
}

// Remedies with a lasting effect precede those that would have helped one more request only.
void NameFirst(const Scene& scene, SiteGroups& groups,
               const absl::flat_hash_set<std::uint32_t>& growing, FailureReport* report) {
  const auto of_growth = [&growing](const Remedy& remedy) {
    return remedy.fits && remedy.kind == RemedyKind::kSites &&
           std::all_of(remedy.sites.begin(), remedy.sites.end(),
                       [&growing](const SiteUse& use) { return growing.contains(use.site); });
  };
  std::vector<Remedy>& remedies = report->remedies;
  if (std::none_of(remedies.begin(), remedies.end(), of_growth)) {
    std::vector<SiteUse> uses;
    for (const SiteUse& use : report->sites)
      if (growing.contains(use.site)) uses.push_back(use);
    Remedy all = WithoutSites(scene, groups, std::move(uses));
    if (!all.fits) return;
    remedies.push_back(std::move(all));
  }
  std::stable_partition(remedies.begin(), remedies.end(), of_growth);
}

// For a step that would have grown further, the largest remedies are better than those that are
// just sufficient.
void AddLargest(const Scene& scene, SiteGroups& groups, FailureReport* report) {
  if (report->sites.empty()) return;
  const SiteUse& largest = report->sites[0];
  for (const Remedy& remedy : report->remedies)
    if (remedy.kind == RemedyKind::kSites && remedy.sites.size() == 1 &&
        remedy.sites[0].site == largest.site)
      return;
  Remedy remedy = WithoutSites(scene, groups, {largest});
  if (remedy.fits) report->remedies.push_back(std::move(remedy));
}

// The leaks of the leak finder; `growing` gets their groups.
FailureGrowth FindLeaking(const Scene& scene, Symbols& symbols, SiteGroups& groups,
                          const std::vector<Leak>& leaks, const FailureReport& report,
                          absl::flat_hash_set<std::uint32_t>* growing) {
  FailureGrowth growth;
  std::uint64_t largest = 0;
  for (const Leak& leak : leaks) {
    if (leak.device != scene.request.device) continue;
    growth.bytes_per_step += leak.bytes_per_step;
    const std::uint32_t group = groups.Of(leak.stack);
    const auto use = std::find_if(report.sites.begin(), report.sites.end(),
                                  [group](const SiteUse& u) { return u.site == group; });
    if (use == report.sites.end() || !growing->insert(group).second) continue;
    growth.bytes += use->bytes;
    if (use->bytes <= largest) continue;
    largest = use->bytes;
    growth.stack = leak.stack;
  }
  if (growth.stack.valid()) growth.site = symbols.Site(growth.stack);
  growth.sites = growing->size();
  return growth;
}

}  // namespace

void FindGrowth(const Scene& scene, Symbols& symbols, SiteGroups& groups,
                const std::vector<Leak>& leaks, FailureReport* report) {
  if (!IsWantOfMemory(report->cause)) return;
  const DeviceSpace& space = scene.space;
  const std::uint64_t unused = space.own_pool.bytes + space.other_pools.bytes + space.cached.bytes;
  std::uint64_t live = 0;
  for (const SiteUse& use : report->sites) live += use.bytes;
  const auto fills = [&](const FailureGrowth& growth) {
    return growth.stack.valid() && growth.bytes > unused &&
           (growth.bytes >= scene.need() || growth.bytes >= live / 2);
  };
  absl::flat_hash_set<std::uint32_t> growing;
  FailureGrowth growth = FindLeaking(scene, symbols, groups, leaks, *report, &growing);
  const bool by_steps = fills(growth) && growth.bytes_per_step > 0;
  if (!by_steps) {
    absl::flat_hash_set<std::uint32_t> of_line;
    const auto iterations = FindIterations(scene, symbols, groups, &of_line);
    if (iterations && fills(*iterations)) {
      growth = *iterations;
      growing = std::move(of_line);
    }
  }
  FindFirstStep(scene, symbols, report);
  // An optimizer that makes its state parameter by parameter looks like iterations that grow.
  const bool of_optimizer = report->first_step && report->first_step->optimizer;
  if (fills(growth) && (!of_optimizer || by_steps)) {
    report->growth = std::move(growth);
    report->first_step.reset();
  }
  if (!report->growth && !report->first_step) FindLargerStep(scene, groups, report);
  if (!report->growth && !report->first_step && !report->larger_step) return;
  if (!report->growth) AddLargest(scene, groups, report);
  for (Remedy& remedy : report->remedies)
    if (remedy.fits) remedy.beyond = BeyondRequest(scene, remedy);
  std::stable_sort(report->remedies.begin(), report->remedies.end(),
                   [](const Remedy& a, const Remedy& b) {
                     return a.fits != b.fits ? a.fits : a.fits && a.beyond > b.beyond;
                   });
  if (report->growth) NameFirst(scene, groups, growing, report);
}

}  // namespace memprof::analysis::oom
