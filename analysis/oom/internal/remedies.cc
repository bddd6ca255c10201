// What would have made a request fit: each remedy is computed from the pieces of that instant.
#include <algorithm>
#include <unordered_map>

#include "analysis/oom/internal/scene_parts.h"

namespace memprof::analysis::oom {
namespace {

// Each of this many sites is tried alone.
constexpr std::size_t kMaxSites = 500;

std::uint64_t Short(std::uint64_t have, std::uint64_t need) {
  return have < need ? need - have : 0;
}

// A remedy that gives the driver, or one large piece, `bytes` more than the `have` bytes.
Remedy Gives(RemedyKind kind, std::uint64_t bytes, std::uint64_t have, std::uint64_t need) {
  Remedy remedy{.kind = kind, .bytes = bytes};
  remedy.short_by = Short(have + bytes, need);
  remedy.fits = remedy.short_by == 0;
  return remedy;
}

// The neighbouring blocks with the fewest bytes that, freed, leave a piece of `need` bytes in a
// segment of the right pool; none if no segment is so large.
Remedy CheapestBlocks(const Scene& scene, std::uint64_t need) {
  Remedy best{.kind = RemedyKind::kFreeBlocks};
  std::uint64_t best_cost = ~std::uint64_t{0};
  for (std::size_t s = 0; s < scene.segments.size(); ++s) {
    if (!scene.own[s]) continue;
    const std::vector<MapPiece>& pieces = scene.segments[s].pieces;
    std::uint64_t size = 0, cost = 0;
    std::size_t end = 0;
    for (std::size_t begin = 0; begin < pieces.size(); ++begin) {
      while (end < pieces.size() && size < need) {
        size += pieces[end].bytes;
        if (!pieces[end].hole()) cost += pieces[end].bytes;
        ++end;
      }
      if (size < need) break;
      if (cost > 0 && cost < best_cost) {
        best_cost = cost;
        best.blocks.clear();
        for (std::size_t i = begin; i < end; ++i)
          if (!pieces[i].hole()) best.blocks.push_back(pieces[i].allocation);
      }
      size -= pieces[begin].bytes;
      if (!pieces[begin].hole()) cost -= pieces[begin].bytes;
    }
  }
  if (best.blocks.empty()) return best;
  best.bytes = best_cost;
  best.fits = true;
  return best;
}

// The sites that are enough on their own: the one that grew most since the step before, and the one
// with the least memory.
std::vector<Remedy> SingleSites(const Scene& scene, SiteGroups& groups,
                                const FailureReport& report) {
  std::vector<Remedy> remedies;
  std::vector<bool> absent(groups.size(), false);
  const auto suffices = [&](const SiteUse& use) {
    absent[use.site] = true;
    const bool fits = EvaluateWithout(scene, groups, absent).fits;
    absent[use.site] = false;
    return fits;
  };
  const auto add = [&remedies](const SiteUse& use) {
    remedies.push_back({.kind = RemedyKind::kSites, .fits = true, .bytes = use.bytes});
    remedies.back().sites = {use};
  };
  for (const SiteChange& change : report.changes) {
    if (!report.same_call || change.after <= change.before) continue;
    const auto use = std::find_if(report.sites.begin(), report.sites.end(),
                                  [&](const SiteUse& u) { return u.site == change.site; });
    if (use == report.sites.end() || !suffices(*use)) continue;
    add(*use);
    break;
  }
  for (std::size_t i = std::min(report.sites.size(), kMaxSites); i-- > 0;) {
    if (!suffices(report.sites[i])) continue;
    if (remedies.empty() || remedies[0].sites[0].site != report.sites[i].site) add(report.sites[i]);
    break;
  }
  return remedies;
}

// Several sites, all of which are needed: the largest ones, without those that turn out to be
// unnecessary.
Remedy SeveralSites(const Scene& scene, SiteGroups& groups, const std::vector<SiteUse>& uses) {
  Remedy remedy{.kind = RemedyKind::kSites};
  std::vector<bool> absent(groups.size(), false);
  std::size_t used = 0;
  Without without;
  while (used < uses.size() && !without.fits) {
    absent[uses[used++].site] = true;
    without = EvaluateWithout(scene, groups, absent);
  }
  remedy.fits = without.fits;
  if (!without.fits) {
    remedy.bytes = without.gives;
    remedy.short_by = Short(scene.space.free + without.gives, scene.need());
    return remedy;
  }
  for (std::size_t i = used; i-- > 0;) {
    absent[uses[i].site] = false;
    if (!EvaluateWithout(scene, groups, absent).fits) absent[uses[i].site] = true;
  }
  for (std::size_t i = 0; i < used; ++i) {
    if (!absent[uses[i].site]) continue;
    remedy.sites.push_back(uses[i]);
    remedy.bytes += uses[i].bytes;
  }
  return remedy;
}

// The largest request that would have been served then. If the allocator requests no more than a
// page beyond its need from the driver, free memory there counts, else only what it holds itself.
Remedy MostThatFits(const Scene& scene) {
  const DeviceSpace& space = scene.space;
  Remedy remedy{.kind = RemedyKind::kSmallerRequest};
  const std::uint64_t pages = space.free / kPage * kPage;
  if (!scene.request.framework) {
    remedy.bytes = space.free;
  } else {
    const bool direct = scene.request.driver.valid() &&
                        scene.need() <= RoundUp(scene.request.bytes, kPage) && !scene.small_pool;
    remedy.bytes = std::max(space.largest_own, direct ? pages : 0);
  }
  remedy.fits = remedy.bytes > 0;
  remedy.short_by = Short(remedy.bytes, scene.request.bytes);
  return remedy;
}

void AddAllocatorRemedies(const Scene& scene, std::vector<Remedy>& remedies) {
  const DeviceSpace& space = scene.space;
  const std::uint64_t bytes = scene.request.bytes, need = scene.need();
  if (space.cached.bytes > 0)
    remedies.push_back(Gives(RemedyKind::kReleaseCache, space.cached.bytes, space.free, need));
  if (scene.segments.empty()) return;
  if (scene.request.framework) {
    if (need > RoundUp(bytes, kPage))
      remedies.push_back(Gives(RemedyKind::kSmallSegments, 0, space.free, RoundUp(bytes, kPage)));
    if (space.largest_other > space.largest_own)
      remedies.push_back(Gives(RemedyKind::kOnePool, space.largest_other, 0, bytes));
  }
  const std::uint64_t pages = space.free / kPage * kPage;
  if (space.whole_pages > 0)
    remedies.push_back(
        Gives(RemedyKind::kExpandable, space.whole_pages, pages, RoundUp(bytes, kPage)));
  const std::uint64_t holes = space.own_pool.bytes + space.other_pools.bytes + space.cached.bytes;
  if (holes > 0) remedies.push_back(Gives(RemedyKind::kPacked, holes, space.free, bytes));
  if (scene.request.framework) {
    const Remedy blocks = CheapestBlocks(scene, bytes);
    if (blocks.fits) remedies.push_back(blocks);
  }
}

}  // namespace

Without EvaluateWithout(const Scene& scene, SiteGroups& groups, const std::vector<bool>& absent) {
  Without without;
  const auto is_absent = [&](AllocationId id) {
    return absent[groups.Of(scene.session->record(id).stack)];
  };
  for (std::size_t s = 0; s < scene.segments.size(); ++s) {
    const MapSegment& segment = scene.segments[s];
    std::uint64_t run = 0, largest = 0;
    bool freed = false, empty = true;
    for (const MapPiece& piece : segment.pieces) {
      const bool gone = !piece.hole() && is_absent(piece.allocation);
      freed = freed || gone;
      if (!piece.hole() && !gone) {
        run = 0;
        empty = false;
        continue;
      }
      run += piece.bytes;
      largest = std::max(largest, run);
    }
    if (freed && empty) without.gives += segment.bytes;
    if (freed && scene.own[s]) without.largest = std::max(without.largest, largest);
  }
  for (const AllocationId id : scene.direct)
    if (is_absent(id)) without.gives += scene.session->record(id).bytes;
  without.fits = (scene.request.framework && without.largest >= scene.request.bytes) ||
                 (without.gives > 0 && scene.space.free + without.gives >= scene.need());
  return without;
}

std::vector<Remedy> FindRemedies(const Scene& scene, SiteGroups& groups,
                                 const FailureReport& report) {
  const DeviceSpace& space = scene.space;
  const std::uint64_t need = scene.need();
  std::vector<Remedy> remedies;
  AddAllocatorRemedies(scene, remedies);
  if (space.pools > 0)
    remedies.push_back(Gives(RemedyKind::kTrimPools, space.pools, space.free, need));
  const std::vector<Remedy> single = SingleSites(scene, groups, report);
  remedies.insert(remedies.end(), single.begin(), single.end());
  if (single.empty() && !report.sites.empty())
    remedies.push_back(SeveralSites(scene, groups, report.sites));
  if (space.others.value_or(0) > 0)
    remedies.push_back(Gives(RemedyKind::kOtherProcesses, *space.others, space.free, need));
  const Remedy smaller = MostThatFits(scene);
  if (smaller.bytes < scene.request.bytes) remedies.push_back(smaller);
  if (need > space.free && space.total > 0)
    remedies.push_back(Gives(RemedyKind::kLargerDevice, need - space.free, space.free, need));
  // Sufficient ones come first, in the order of the enumeration, which begins with the least
  // drastic.
  std::stable_sort(remedies.begin(), remedies.end(), [](const Remedy& a, const Remedy& b) {
    if (a.fits != b.fits) return a.fits;
    return a.fits ? a.kind < b.kind : a.short_by < b.short_by;
  });
  return remedies;
}

}  // namespace memprof::analysis::oom
