// Where memory was asked for, as a person counts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/peak/savings.h"
#include "analysis/peak/sites.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

// Stacks with one site, whatever the way there, as one: what tables show.
struct Place {
  StackId stack;    // the first of them
  std::string key;  // SiteKey()
  std::uint64_t bytes = 0, blocks = 0;
  AllocationId largest;
};
// Largest first. Sites of different layers stay apart.
std::vector<Place> JoinByPlace(Symbols& symbols, const std::vector<Site>& sites,
                               const Session& session);

// The peak of (device, of) without each place: without all that it allocated in the run. A layer
// that a place has no row for counts with its first row.
std::vector<PeakSaving> WithoutPlaces(const Session& session, Symbols& symbols,
                                      const PeakSavings& savings, int device, PeakLayer of,
                                      const std::vector<Place>& places);

}  // namespace memprof::analysis
