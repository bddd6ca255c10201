// The drawings of the HTML report: memory over time, the flame of a peak, survivors by step.
#pragma once

#include <string>

#include "analysis/leaks/leaks.h"
#include "analysis/peak/sites.h"
#include "analysis/store/session.h"
#include "analysis/timeline/timeline.h"

namespace memprof::cli {

// Bytes over the whole run as SVG, and the figures of its pixel columns as JSON for the pointer.
// Each column shows the least and the most that held in it, so no peak is hidden. `capacity` is
// drawn where it is near; 0 = unknown.
std::string TimelineHtml(const analysis::Session& session, const analysis::DeviceTimeline& device,
                         std::uint64_t capacity);

// Frames as boxes as wide as their bytes, callers above callees. What is too narrow to be seen is
// left out.
std::string FlameHtml(const analysis::FlameTree& tree);

// Bytes of a leak's survivors by the step of their birth, as bars.
std::string SurvivorsHtml(const analysis::Leak& leak);

}  // namespace memprof::cli
