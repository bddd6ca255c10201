// Time measured in training steps: every step has the same length, whatever its duration, and time
// is linear within it. The unit of "step time" is the nanosecond of an average step, so that all
// arithmetic on time windows also applies to windows of steps. Pure; thread-safe.
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
  // `steps` by their begin, within `bounds`; the time before the first counts as at most one step.
  StepClock(std::span<const analysis::StepInfo> steps, analysis::TimeWindow bounds);

  // False without steps.
  bool known() const { return !real_.empty(); }

  // Both are monotonic, and inverse to each other to the nanosecond of the longer side.
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

  // Knots of the piecewise linear map, both not decreasing; outside of them the map is a shift.
  std::vector<analysis::TimeNs> real_, steps_;
};

}  // namespace memprof::viewer
