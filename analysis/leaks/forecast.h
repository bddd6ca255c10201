// Predicts when a device will be full if its leaks continue.
#pragma once

#include <string>

#include "analysis/leaks/sites.h"
#include "analysis/store/session.h"
#include "analysis/timeline/ledger.h"
#include "analysis/timeline/timeline.h"

namespace memprof::analysis {

// The bytes that leaks can still take of a device before one of its steps fails; `slope`: what they
// take in a step. Memory that an allocator keeps free between steps does not count if each step
// needs it again. -1 if the capacity is unknown.
double HeadroomForLeaks(const Session& session, const StepClock& clock,
                        const DeviceTimeline& timeline, const MemorySamples& samples, double slope);

// In how many steps memory of `headroom` bytes is full, at `slope` bytes a step; -1 if that is a
// thousand times what was observed or more, which nothing proves.
double StepsToOom(double headroom, double slope, std::int64_t completed);

// "in the next step", "in about 14 steps", "in about 247,000 steps": three digits; `steps` >= 0.
std::string StepsAhead(double steps);

}  // namespace memprof::analysis
