// Call sites joined by place.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/peak/savings.h"
#include "analysis/peak/sites.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

// Stacks with the same site, by whatever path: the rows of tables.
struct Place {
  StackId stack;    // the first of them
  std::string key;  // SiteKey()
  std::uint64_t bytes = 0, blocks = 0;
  AllocationId largest;
};
// Largest first. Sites of different layers stay separate.
std::vector<Place> JoinByPlace(Symbols& symbols, const std::vector<Site>& sites,
                               const Session& session);

// The peak of (device, of) without each place: without everything that it allocated in the run. A
// layer without a row for a place counts with the place's first row.
std::vector<PeakSaving> WithoutPlaces(const Session& session, Symbols& symbols,
                                      const PeakSavings& savings, int device, PeakLayer of,
                                      const std::vector<Place>& places);

}  // namespace memprof::analysis
