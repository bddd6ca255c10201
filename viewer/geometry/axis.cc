// Scales and ticks of axes.
#include "viewer/geometry/axis.h"

#include <algorithm>
#include <cmath>

#include "viewer/geometry/units.h"

namespace memprof::viewer {
namespace {

using analysis::StepInfo;
using analysis::TimeNs;

// The smallest of 1, 2, 5, 10, 20, … that is at least `value` (>= 1 always).
double RoundUp125(double value) {
  double decade = 1;
  while (decade * 10 <= value) decade *= 10;
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    if (decade * factor >= value) return decade * factor;
  }
  return decade * 10;
}

// The smallest power of two that is at least `value`.
double RoundUpBytes(double value) { return std::exp2(std::ceil(std::log2(std::max(1.0, value)))); }

}  // namespace

double TimeScale::X(TimeNs time) const {
  const double span = static_cast<double>(window.end - window.begin);
  if (span <= 0) return left;
  const double offset = time >= window.begin ? static_cast<double>(time - window.begin)
                                             : -static_cast<double>(window.begin - time);
  return left + offset / span * width;
}

TimeNs TimeScale::At(double x) const {
  const double share = width > 0 ? std::clamp((x - left) / width, 0.0, 1.0) : 0.0;
  const double span = static_cast<double>(window.end - window.begin);
  return window.begin + std::min(static_cast<TimeNs>(share * span), window.end - window.begin);
}

double TimeScale::NsPerPixel() const {
  return static_cast<double>(window.end - window.begin) / std::max(width, 1.0);
}

double ByteScale::Y(double bytes) const {
  return bottom - bytes / static_cast<double>(std::max<std::uint64_t>(max_bytes, 1)) * height;
}

std::vector<Tick> ByteTicks(const ByteScale& scale, double min_spacing) {
  std::vector<Tick> ticks;
  if (scale.height <= 0 || min_spacing <= 0) return ticks;
  const double max = static_cast<double>(std::max<std::uint64_t>(scale.max_bytes, 1));
  const double step = RoundUpBytes(std::max(1.0, max * min_spacing / scale.height));
  for (double value = 0; value <= max; value += step) {
    QString label = FormatBytes(static_cast<std::uint64_t>(value));
    label.replace(QStringLiteral(".00 "), QStringLiteral(" "));
    label.replace(QStringLiteral(".0 "), QStringLiteral(" "));
    label.replace(QStringLiteral(".50 "), QStringLiteral(".5 "));
    ticks.push_back({scale.Y(value), value, value == 0 ? QStringLiteral("0") : label});
  }
  return ticks;
}

std::vector<Tick> TimeTicks(const TimeScale& scale, TimeNs origin, double min_spacing) {
  std::vector<Tick> ticks;
  if (scale.window.end <= scale.window.begin || scale.width <= 0 || min_spacing <= 0) return ticks;
  const double step = RoundUp125(std::max(1.0, scale.NsPerPixel() * min_spacing));
  const TimeNs step_ns = static_cast<TimeNs>(step);
  const TimeNs begin = scale.window.begin > origin ? scale.window.begin - origin : 0;
  TimeNs at = (begin + step_ns - 1) / step_ns * step_ns;
  for (; origin + at <= scale.window.end; at += step_ns) {
    ticks.push_back({scale.X(origin + at), static_cast<double>(at), FormatInstant(at, step_ns)});
  }
  return ticks;
}

std::vector<StepMark> StepMarks(const TimeScale& scale, std::span<const StepInfo> steps,
                                double min_mark, double min_label) {
  std::vector<StepMark> marks;
  const auto first =
      std::lower_bound(steps.begin(), steps.end(), scale.window.begin,
                       [](const StepInfo& step, TimeNs time) { return step.begin < time; });
  const auto last =
      std::upper_bound(first, steps.end(), scale.window.end,
                       [](TimeNs time, const StepInfo& step) { return time < step.begin; });
  const double count = static_cast<double>(last - first);
  if (count == 0) return marks;
  const double spacing = std::max(
      (scale.X((last - 1)->begin) - scale.X(first->begin)) / std::max(1.0, count - 1), 1e-9);
  const auto every = [spacing](double min) {
    return static_cast<std::int64_t>(RoundUp125(std::max(1.0, min / spacing)));
  };
  const std::int64_t mark_every = every(min_mark);
  const std::int64_t label_every = std::max(every(min_label), mark_every);
  double last_label = -1e18;
  for (auto step = first; step != last; ++step) {
    if (step->number % mark_every != 0) continue;
    const double x = scale.X(step->begin);
    // Steps differ in length: a label also keeps its distance from the one before it.
    const bool labelled = step->number % label_every == 0 && x - last_label >= min_label * 0.8;
    if (labelled) last_label = x;
    marks.push_back({x, step->number, labelled});
  }
  return marks;
}

}  // namespace memprof::viewer
