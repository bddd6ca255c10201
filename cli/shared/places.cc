#include "cli/shared/places.h"

#include <algorithm>
#include <map>
#include <utility>

#include "cli/shared/names.h"

namespace memprof::cli {

using analysis::Allocation;
using analysis::Layer;
using analysis::Session;

std::vector<Place> JoinByPlace(analysis::Symbols& symbols, const std::vector<analysis::Site>& sites,
                               const Session& session) {
  std::vector<Place> places;
  std::map<std::pair<std::string, Layer>, std::size_t> index;
  for (const analysis::Site& site : sites) {
    std::string key = SiteKey(symbols, site.stack);
    const Allocation& largest = session.allocation(site.largest);
    const auto [it, fresh] = index.try_emplace({key, largest.layer}, places.size());
    if (fresh)
      places.push_back({SiteLabel(symbols, site.stack), std::move(key), 0, 0, site.largest});
    Place& place = places[it->second];
    place.bytes += site.bytes;
    place.blocks += site.blocks;
    if (largest.bytes > session.allocation(place.largest).bytes) place.largest = site.largest;
  }
  std::stable_sort(places.begin(), places.end(),
                   [](const Place& a, const Place& b) { return a.bytes > b.bytes; });
  return places;
}

}  // namespace memprof::cli
