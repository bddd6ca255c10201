// Time counted in training steps.
#include "viewer/geometry/step_clock.h"

#include <algorithm>
#include <cmath>

namespace memprof::viewer {

using analysis::TimeNs;

StepClock::StepClock(std::span<const analysis::StepInfo> steps, analysis::TimeWindow bounds) {
  if (steps.empty() || bounds.end <= bounds.begin) return;
  const TimeNs first = std::clamp(steps.front().begin, bounds.begin, bounds.end);
  const TimeNs step = std::max<TimeNs>((bounds.end - first) / steps.size(), 1);
  real_.push_back(bounds.begin);
  steps_.push_back(bounds.begin);
  if (first > bounds.begin) {
    real_.push_back(first);
    steps_.push_back(bounds.begin + std::min(first - bounds.begin, step));
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const TimeNs end = i + 1 < steps.size() ? steps[i + 1].begin : bounds.end;
    real_.push_back(std::clamp(end, real_.back(), bounds.end));
    steps_.push_back(steps_.back() + step);
  }
}

TimeNs StepClock::Map(const std::vector<TimeNs>& from, const std::vector<TimeNs>& to,
                      TimeNs value) {
  if (from.empty()) return value;
  if (value <= from.front()) return to.front() - std::min(to.front(), from.front() - value);
  if (value >= from.back()) return to.back() + (value - from.back());
  // The last knot that is not after the value: of several at one time, where the last step begins.
  const auto after = std::upper_bound(from.begin(), from.end(), value);
  const auto i = static_cast<std::size_t>(after - from.begin()) - 1;
  const double share =
      static_cast<double>(value - from[i]) / static_cast<double>(from[i + 1] - from[i]);
  const double span = static_cast<double>(to[i + 1] - to[i]);
  return to[i] + std::min(static_cast<TimeNs>(std::llround(share * span)), to[i + 1] - to[i]);
}

}  // namespace memprof::viewer
