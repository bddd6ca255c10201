// Places of sites.
#include "analysis/peak/places.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/symbols/site_key.h"

namespace memprof::analysis {

std::vector<Place> JoinByPlace(Symbols& symbols, const std::vector<Site>& sites,
                               const Session& session) {
  std::vector<Place> places;
  std::map<std::pair<std::string, Layer>, std::size_t> index;
  for (const Site& site : sites) {
    std::string key = SiteKey(symbols, site.stack);
    const AllocationRecord& largest = session.record(site.largest);
    const auto [it, fresh] = index.try_emplace({key, largest.layer}, places.size());
    if (fresh) places.push_back({site.stack, std::move(key), 0, 0, site.largest});
    Place& place = places[it->second];
    place.bytes += site.bytes;
    place.blocks += site.blocks;
    if (largest.bytes > session.record(place.largest).bytes) place.largest = site.largest;
  }
  std::stable_sort(places.begin(), places.end(),
                   [](const Place& a, const Place& b) { return a.bytes > b.bytes; });
  return places;
}

std::vector<PeakSaving> WithoutPlaces(const Session& session, Symbols& symbols,
                                      const PeakSavings& savings, int device, PeakLayer of,
                                      const std::vector<Place>& places) {
  std::map<std::pair<std::string, Layer>, std::uint32_t> exact;
  std::map<std::string, std::uint32_t> by_key;
  for (std::uint32_t i = 0; i < places.size(); ++i) {
    exact.try_emplace({places[i].key, session.record(places[i].largest).layer}, i);
    by_key.try_emplace(places[i].key, i);
  }
  std::map<std::pair<std::uint32_t, Layer>, std::uint32_t> known;  // by stack
  return savings.Without(device, of, places.size(), [&](AllocationId, const AllocationRecord& a) {
    const auto [row, fresh] = known.try_emplace({a.stack.value, a.layer}, kNoGroup);
    if (!fresh) return row->second;
    const std::string key = SiteKey(symbols, a.stack);
    const auto place = exact.find({key, a.layer});
    const auto same_site = by_key.find(key);
    if (place != exact.end())
      row->second = place->second;
    else if (same_site != by_key.end())
      row->second = same_site->second;
    return row->second;
  });
}

}  // namespace memprof::analysis
