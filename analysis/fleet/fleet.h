// What a fleet is told of one log.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "analysis/fleet/rows.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

// At most so many parts of the steps, and so many sites of a device with rows of their own.
inline constexpr std::int64_t kMostParts = 64;
inline constexpr std::size_t kMostSites = 100;

// `session` is of one log, and `symbols` of it. O(events) except for what advice sorts.
FleetRows RollUp(const std::shared_ptr<const Session>& session, Symbols& symbols);

}  // namespace memprof::analysis
