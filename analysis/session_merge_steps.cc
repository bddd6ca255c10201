// Takes the logs with most steps, and of these the earliest begin of each step.
#include "analysis/session_merge_steps.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace memprof::analysis {

FoundSteps MergeFoundSteps(const std::vector<FoundSteps>& parts, TimeNs end) {
  std::size_t most = 0, agreeing = 0;
  for (const FoundSteps& part : parts) most = std::max(most, part.steps.size());
  FoundSteps merged;
  if (most == 0) return merged;
  for (const FoundSteps& part : parts) {
    if (part.steps.size() != most) continue;
    if (agreeing++ == 0) {
      merged = part;
      continue;
    }
    StepOrigin& origin = merged.origin;
    origin.confidence = std::min(origin.confidence, part.origin.confidence);
    origin.warm_up_steps = std::max(origin.warm_up_steps, part.origin.warm_up_steps);
    for (std::size_t i = 0; i < most; ++i) {
      if (part.steps[i].begin >= merged.steps[i].begin) continue;
      merged.steps[i].begin = part.steps[i].begin;
      merged.steps[i].event = part.steps[i].event;
    }
  }
  for (std::size_t i = 0; i < most; ++i)
    merged.steps[i].end = i + 1 < most ? merged.steps[i + 1].begin : end;
  merged.origin.why = absl::StrCat("In ", agreeing, " of the ", parts.size(),
                                   " logs, each by itself: ", merged.origin.why);
  return merged;
}

}  // namespace memprof::analysis
