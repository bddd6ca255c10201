// Time counted in training steps: every step is equally long, whatever its duration, and time runs
// evenly within it. Steps are mapped to "step time", nanoseconds of the average step, so that all
// arithmetic on windows of time holds for windows of steps too. Pure; thread-safe.
#pragma once

#include <span>
#include <vector>

#include "analysis/base/types.h"
#include "analysis/store/session.h"

namespace memprof::viewer {

class StepClock {
 public:
  // Maps every time to itself.
  StepClock() = default;
  // `steps` by their begin, within `bounds`; what lies before the first counts as at most a step.
  StepClock(std::span<const analysis::StepInfo> steps, analysis::TimeWindow bounds);

  // False without steps: then there is nothing to count in.
  bool known() const { return !real_.empty(); }

  // Both rise weakly, and are inverse to each other to the nanosecond of the longer side.
  analysis::TimeNs ToSteps(analysis::TimeNs time) const { return Map(real_, steps_, time); }
  analysis::TimeNs ToTime(analysis::TimeNs step_time) const {
    return Map(steps_, real_, step_time);
  }
  analysis::TimeWindow ToSteps(analysis::TimeWindow window) const {
    return {ToSteps(window.begin), ToSteps(window.end)};
  }
  analysis::TimeWindow ToTime(analysis::TimeWindow window) const {
    return {ToTime(window.begin), ToTime(window.end)};
  }

 private:
  static analysis::TimeNs Map(const std::vector<analysis::TimeNs>& from,
                              const std::vector<analysis::TimeNs>& to, analysis::TimeNs value);

  // Knots of the piecewise linear map, both rising weakly; outside of them it is shifted only.
  std::vector<analysis::TimeNs> real_, steps_;
};

}  // namespace memprof::viewer
