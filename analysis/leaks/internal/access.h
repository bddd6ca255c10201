// Whether surviving memory is still used.
#pragma once

#include <unordered_map>
#include <vector>

#include "analysis/leaks/sites.h"

namespace memprof::analysis {

struct AccessFacts {
  bool known = false;  // launches with their pointers are in the log
  // By allocation: its last launch, copy or memset.
  std::unordered_map<std::uint32_t, EventId> last_use;
};

// `survivors` are alive together right before the event `before`, so their addresses do not overlap
// within a device; they and the uses are of `process`. O(uses * log survivors).
AccessFacts FindAccesses(const Session& session, std::vector<AllocationId> survivors,
                         EventId before, std::uint32_t process = 0);

}  // namespace memprof::analysis
