// Sums allocations by call site.
#include "analysis/peak/sites.h"

#include <algorithm>

#include "analysis/peak/internal/site_query.h"

namespace memprof::analysis {

std::vector<AllocationId> SelectAllocations(const Session& session, const SiteQuery& query) {
  std::vector<AllocationId> selected;
  const auto allocations = session.records();
  const auto accept = [&query](AllocationId id, const AllocationRecord& a) {
    return (query.layers & LayerBit(a.layer)) != 0 &&
           (query.device == kNoDevice || query.device == a.device) &&
           (query.passing == nullptr || query.passing->Has(id));
  };
  if (query.metric == Metric::kLiveBytes && query.at != kForever) {
    for (const AllocationId id : session.LiveAt(query.at, query.layers)) {
      if (accept(id, session.record(id))) selected.push_back(id);
    }
    return selected;
  }
  const bool live = query.metric == Metric::kLiveBytes;
  for (std::uint32_t i = 0; i < allocations.size(); ++i) {
    const AllocationRecord& a = allocations[i];
    if (live ? !a.alive()
             : !query.window.Contains(session.events().time(a.birth.value)) ||
                   session.IsListedAgain(a.birth))
      continue;
    if (accept(AllocationId(i), a)) selected.push_back(AllocationId(i));
  }
  return selected;
}

std::vector<Site> GroupBySite(const Session& session, std::span<const AllocationId> ids,
                              bool by_count) {
  std::vector<Site> sites;
  // One slot a stack, and a last one for allocations without.
  std::vector<std::uint32_t> slot(session.stack_count() + 1, EventId::kNone);
  for (const AllocationId id : ids) {
    const AllocationRecord& a = session.record(id);
    const bool known = a.stack.valid() && a.stack.value < session.stack_count();
    std::uint32_t& index = slot[known ? a.stack.value : session.stack_count()];
    if (index == EventId::kNone) {
      index = static_cast<std::uint32_t>(sites.size());
      sites.push_back({known ? a.stack : StackId(), 0, 0, id});
    }
    Site& site = sites[index];
    site.bytes += a.bytes;
    ++site.blocks;
    if (a.bytes > session.record(site.largest).bytes) site.largest = id;
  }
  std::stable_sort(sites.begin(), sites.end(), [by_count](const Site& a, const Site& b) {
    return by_count ? a.blocks > b.blocks : a.bytes > b.bytes;
  });
  return sites;
}

std::vector<Site> FindSites(const Session& session, const SiteQuery& query) {
  const std::vector<AllocationId> selected = SelectAllocations(session, query);
  return GroupBySite(session, selected, query.metric == Metric::kAllocationCount);
}

}  // namespace memprof::analysis
