// When a device will be full if its leaks go on.
#pragma once

#include <string>

#include "analysis/leaks/sites.h"
#include "analysis/store/session.h"
#include "analysis/timeline/ledger.h"
#include "analysis/timeline/timeline.h"

namespace memprof::analysis {

// What leaks can still take of a device before a step of its own needs the rest; `slope` is what
// they take in a step. What an allocator keeps free between steps does not count where each step
// needs it again. -1 where the capacity is unknown.
double HeadroomForLeaks(const Session& session, const StepClock& clock,
                        const DeviceTimeline& timeline, const MemorySamples& samples, double slope);

// "in the next step", "in about 14 steps"; `steps` >= 0.
std::string StepsAhead(double steps);

}  // namespace memprof::analysis
