// Scales and ticks of axes.
#include "viewer/geometry/axis.h"

#include <algorithm>
#include <cmath>

#include "viewer/geometry/units.h"
#include "viewer/geometry/window_math.h"

namespace memprof::viewer {
namespace {

using analysis::StepInfo;
using analysis::TimeNs;
using analysis::TimeWindow;

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

// Labels the marks divisible by `every` that keep `min_distance` from the label before; returns
// how many had to stay without.
std::ptrdiff_t LabelMarks(std::vector<StepMark>& marks, std::int64_t every, double min_distance) {
  std::ptrdiff_t missing = 0;
  double last = -1e18;
  for (StepMark& mark : marks) {
    mark.labelled = false;
    if (mark.number % every != 0) continue;
    mark.labelled = mark.position - last >= min_distance;
    if (mark.labelled) {
      last = mark.position;
    } else {
      ++missing;
    }
  }
  return missing;
}

}  // namespace

double TimeScale::X(TimeNs time) const {
  const TimeWindow shown = clock != nullptr ? clock->ToSteps(window) : window;
  if (clock != nullptr) time = clock->ToSteps(time);
  const double span = static_cast<double>(shown.end - shown.begin);
  if (span <= 0) return left;
  const double offset = time >= shown.begin ? static_cast<double>(time - shown.begin)
                                            : -static_cast<double>(shown.begin - time);
  return left + offset / span * width;
}

TimeNs TimeScale::At(double x) const {
  const TimeWindow shown = clock != nullptr ? clock->ToSteps(window) : window;
  const double share = width > 0 ? std::clamp((x - left) / width, 0.0, 1.0) : 0.0;
  const double span = static_cast<double>(shown.end - shown.begin);
  const TimeNs time =
      shown.begin + std::min(static_cast<TimeNs>(share * span), shown.end - shown.begin);
  return clock != nullptr ? std::clamp(clock->ToTime(time), window.begin, window.end) : time;
}

double TimeScale::NsPerPixel() const {
  return static_cast<double>(window.end - window.begin) / std::max(width, 1.0);
}

TimeWindow ZoomAt(const TimeScale& scale, TimeNs anchor, double factor, TimeWindow bounds) {
  if (scale.clock == nullptr) return ZoomAt(scale.window, anchor, factor, bounds);
  const StepClock& clock = *scale.clock;
  return clock.ToTime(
      ZoomAt(clock.ToSteps(scale.window), clock.ToSteps(anchor), factor, clock.ToSteps(bounds)));
}

TimeWindow PanBy(const TimeScale& scale, double pixels, TimeWindow bounds) {
  const double share = pixels / std::max(scale.width, 1.0);
  const auto pan = [share](TimeWindow window, TimeWindow limits) {
    return Pan(window, share * static_cast<double>(window.end - window.begin), limits);
  };
  if (scale.clock == nullptr) return pan(scale.window, bounds);
  return scale.clock->ToTime(pan(scale.clock->ToSteps(scale.window), scale.clock->ToSteps(bounds)));
}

std::vector<TimeNs> ColumnEdges(const TimeScale& scale, int columns) {
  std::vector<TimeNs> edges;
  if (columns <= 0) return edges;
  const TimeWindow shown =
      scale.clock != nullptr ? scale.clock->ToSteps(scale.window) : scale.window;
  const std::uint64_t span = shown.end > shown.begin ? shown.end - shown.begin : 0;
  const auto n = static_cast<std::uint64_t>(columns);
  // The grid has n columns from each multiple of `span` to the next. The window begins `inside` one
  // of these parts, and at the nearest edge.
  const std::uint64_t inside = span > 0 ? shown.begin % span : 0;
  const double share = span > 0 ? static_cast<double>(inside) / static_cast<double>(span) : 0;
  const auto first = static_cast<std::uint64_t>(std::llround(share * columns));
  edges.reserve(n + 1);
  for (std::uint64_t i = first; i <= first + n; ++i) {
    const std::uint64_t in_part = span / n * (i % n) + span % n * (i % n) / n;
    std::uint64_t offset = span;
    if (i < n) {
      offset = in_part > inside ? in_part - inside : 0;
    } else if (i < 2 * n && in_part < inside) {
      offset = span - (inside - in_part);
    }
    const TimeNs edge = shown.begin + offset;
    edges.push_back(scale.clock != nullptr ? scale.clock->ToTime(edge) : edge);
  }
  // Mapping back and forth may be off by a nanosecond; the window must be exact.
  edges.front() = scale.window.begin;
  edges.back() = scale.window.end;
  for (TimeNs& edge : edges) edge = std::clamp(edge, scale.window.begin, scale.window.end);
  return edges;
}

double ByteScale::Y(double bytes) const {
  const std::uint64_t span = max_bytes > min_bytes ? max_bytes - min_bytes : 1;
  return bottom - (bytes - static_cast<double>(min_bytes)) / static_cast<double>(span) * height;
}

std::vector<Tick> ByteTicks(const ByteScale& scale, double min_spacing) {
  std::vector<Tick> ticks;
  if (scale.height <= 0 || min_spacing <= 0) return ticks;
  const double max = static_cast<double>(std::max<std::uint64_t>(scale.max_bytes, 1));
  const double min = static_cast<double>(scale.min_bytes);
  const double step = RoundUpBytes(std::max(1.0, (max - min) * min_spacing / scale.height));
  for (double value = std::ceil(min / step) * step; value <= max; value += step)
    ticks.push_back({scale.Y(value), value, FormatByteTick(value, step)});
  return ticks;
}

std::vector<Tick> TimeTicks(const TimeScale& scale, TimeNs origin, double min_spacing) {
  std::vector<Tick> ticks;
  if (scale.window.end <= scale.window.begin || scale.width <= 0 || min_spacing <= 0) return ticks;
  const double step = RoundUp125(std::max(1.0, scale.NsPerPixel() * min_spacing));
  if (scale.window.end < origin || step >= 0x1p63) return ticks;
  const TimeNs step_ns = static_cast<TimeNs>(step);
  const TimeNs begin = scale.window.begin > origin ? scale.window.begin - origin : 0;
  // Counted, so that nothing is added to times near the largest.
  const std::uint64_t last = (scale.window.end - origin) / step_ns;
  for (std::uint64_t i = begin / step_ns + (begin % step_ns != 0),
                     more = i <= last ? last - i + 1 : 0;
       more > 0; ++i, --more) {
    const TimeNs at = i * step_ns;
    const double x = scale.X(origin + at);
    if (scale.clock != nullptr && !ticks.empty() && x - ticks.back().position < 0.8 * min_spacing) {
      continue;
    }
    ticks.push_back({x, static_cast<double>(at), FormatInstant(at, step_ns)});
  }
  return ticks;
}

std::vector<Tick> NumberTicks(std::int64_t first, std::int64_t last, double left, double width,
                              double min_spacing) {
  std::vector<Tick> ticks;
  if (last < first || width <= 0) return ticks;
  const double share = width / (static_cast<double>(last) - static_cast<double>(first) + 1);
  const double rounded = RoundUp125(std::max(1.0, min_spacing / share));
  if (!(rounded < 0x1p63)) return ticks;
  const auto every = static_cast<std::int64_t>(rounded);
  // Counted, so that nothing is added to numbers near the largest.
  const std::int64_t begin = first / every + (first % every > 0);
  const std::int64_t end = last / every - (last % every < 0);
  const std::int64_t count = begin <= end ? end - begin + 1 : 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t number = (begin + i) * every;
    const double offset = static_cast<double>(number) - static_cast<double>(first);
    ticks.push_back(
        {left + (offset + 0.5) * share, static_cast<double>(number), QString::number(number)});
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
  std::int64_t label_every = std::max(every(min_label), mark_every);
  for (auto step = first; step != last; ++step) {
    if (step->number % mark_every != 0) continue;
    marks.push_back({scale.X(step->begin), step->number, false});
  }
  // Steps differ in length: labels keep their distance, and are spread wider until few are missing,
  // so that they read as 10, 20, 30 and not as 10, 11, 14.
  while (LabelMarks(marks, label_every, min_label * 0.8) * 8 >
             std::count_if(marks.begin(), marks.end(),
                           [&](const StepMark& mark) { return mark.number % label_every == 0; }) &&
         label_every < static_cast<std::int64_t>(count)) {
    label_every = static_cast<std::int64_t>(RoundUp125(static_cast<double>(label_every) + 1));
  }
  return marks;
}

}  // namespace memprof::viewer
