// Adds drawn blocks to the exact sites, then joins those of a place.
#include "analysis/peak/traffic.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/peak/sites.h"
#include "analysis/symbols/site_key.h"

namespace memprof::analysis {
namespace {

using OfStack = std::map<std::pair<StackId, Layer>, PlaceTraffic>;

void AddDrawnBlocks(const Session& session, std::uint32_t layers, OfStack* traffic) {
  for (const EventId id : SamplingOf(session)->drawn) {
    if (session.IsListedAgain(id)) continue;
    const DrawnBlock block = DrawnAt(session, id);
    if ((layers & LayerBit(block.layer)) == 0) continue;
    PlaceTraffic& place = (*traffic)[{block.stack, block.layer}];
    place.stack = block.stack;
    place.layer = block.layer;
    place.bytes.AddDrawn(block.weight, static_cast<double>(block.bytes));
    place.count.AddDrawn(block.weight, 1);
    place.largest = std::max(place.largest, block.bytes);
  }
}

}  // namespace

std::vector<PlaceTraffic> TrafficByPlace(const Session& session, Symbols& symbols,
                                         std::uint32_t layers) {
  SiteQuery query;
  query.metric = Metric::kAllocatedBytes;
  query.layers = layers;
  std::vector<PlaceTraffic> traffic;
  OfStack drawn;
  AddDrawnBlocks(session, layers, &drawn);
  for (const Site& site : FindSites(session, query)) {
    const AllocationRecord& largest = session.record(site.largest);
    traffic.push_back({.stack = site.stack, .layer = largest.layer, .largest = largest.bytes});
    traffic.back().bytes.AddExact(static_cast<double>(site.bytes));
    traffic.back().count.AddExact(static_cast<double>(site.blocks));
  }
  for (auto& [stack, place] : drawn) traffic.push_back(std::move(place));
  std::vector<PlaceTraffic> places;
  std::map<std::pair<std::string, Layer>, std::size_t> index;
  for (PlaceTraffic& of_stack : traffic) {
    of_stack.key = SiteKey(symbols, of_stack.stack);
    const auto [at, fresh] = index.try_emplace({of_stack.key, of_stack.layer}, places.size());
    if (fresh) {
      places.push_back(std::move(of_stack));
      continue;
    }
    PlaceTraffic& place = places[at->second];
    place.bytes += of_stack.bytes;
    place.count += of_stack.count;
    place.largest = std::max(place.largest, of_stack.largest);
  }
  std::ranges::stable_sort(places, std::ranges::greater(),
                           [](const PlaceTraffic& place) { return place.bytes.value; });
  return places;
}

}  // namespace memprof::analysis
