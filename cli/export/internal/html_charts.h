// The drawings of the HTML report: memory over time, the flame graph of a peak, survivors by step.
#pragma once

#include <string>

#include "analysis/leaks/leaks.h"
#include "analysis/peak/sites.h"
#include "analysis/store/session.h"
#include "analysis/timeline/timeline.h"

namespace memprof::cli {

// Bytes over the whole run as SVG, and the values of its pixel columns as JSON for the pointer.
// Each column shows its minimum and maximum, so no peak is hidden. `capacity` is drawn if it is
// near; 0 = unknown.
std::string TimelineHtml(const analysis::Session& session, const analysis::DeviceTimeline& device,
                         std::uint64_t capacity);

// Frames as boxes whose width is their bytes, callers above callees. Boxes that are too narrow are
// left out.
std::string FlameHtml(const analysis::FlameTree& tree);

// Bytes of a leak's survivors by the step of their birth, as bars.
std::string SurvivorsHtml(const analysis::Leak& leak);

}  // namespace memprof::cli
