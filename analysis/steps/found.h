// Training steps: from the program's own marks, from its named ranges, or found in the pattern of
// its allocations; with a confidence and the reasons. The method is in docs/steps.md.
#pragma once

#include <cstdint>
#include <string_view>

#include "analysis/store/session.h"

namespace memprof::analysis {

// Where steps may be looked for. kAuto: marks if there are any, else what is most certain.
enum class StepChoice { kAuto, kMarks, kRanges, kPattern };

// Looks for steps where `choice` says. Without any, the origin's source is kNone, the confidence 0,
// and the origin's `why` says what was looked at. O(events) but for sorting what repeats; 10^6
// events take about 0.1 s. Never fails.
FoundSteps FindSteps(const Session& session, StepChoice choice = StepChoice::kAuto);

// Steps that were found with less confidence than this are told, but nothing is computed from them.
inline constexpr double kStepConfidence = 0.8;

// For LoadOptions::step_finder: steps of ranges or of the pattern, if they are certain enough;
// none otherwise.
FoundSteps FindStepsToUse(const Session& session);

// "marks", "ranges", "pattern", "none".
std::string_view StepSourceName(StepSource source);

}  // namespace memprof::analysis
