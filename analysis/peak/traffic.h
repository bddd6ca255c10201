// What was allocated over a whole run, by place.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/store/sampling.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

// Exact, but for the blocks of a log that is always on that were drawn: those are estimates.
struct PlaceTraffic {
  StackId stack;    // one of them
  std::string key;  // SiteKey()
  Layer layer = Layer::kUnspecified;
  SampledSum bytes, count;
  std::uint64_t largest = 0;
};

// Of the layers in `layers` (LayerBit set); most bytes first. Layers stay separate.
std::vector<PlaceTraffic> TrafficByPlace(const Session& session, Symbols& symbols,
                                         std::uint32_t layers);

}  // namespace memprof::analysis
