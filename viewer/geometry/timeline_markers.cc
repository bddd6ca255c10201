// Marks of instants above the timeline.
#include "viewer/geometry/timeline_markers.h"

#include <algorithm>
#include <cmath>

namespace memprof::viewer {
namespace {

std::size_t FirstFrom(std::span<const TimelineMarker> markers, analysis::TimeNs time) {
  const auto it = std::lower_bound(
      markers.begin(), markers.end(), time,
      [](const TimelineMarker& marker, analysis::TimeNs t) { return marker.time < t; });
  return static_cast<std::size_t>(it - markers.begin());
}

}  // namespace

std::vector<MarkerBox> LayOutMarkers(std::span<const TimelineMarker> markers,
                                     const TimeScale& scale, double min_distance) {
  std::vector<MarkerBox> boxes;
  const double right = scale.left + scale.width;
  std::size_t i = FirstFrom(markers, scale.window.begin);
  while (i < markers.size() && markers[i].time <= scale.window.end) {
    MarkerBox box{markers[i].kind, i, 1, scale.X(markers[i].time), scale.left, right};
    std::size_t next = i + 1;
    // Those within the distance become one.
    while (next < markers.size() && markers[next].time <= scale.window.end &&
           scale.X(markers[next].time) - box.x < min_distance) {
      if (markers[next].kind == MarkerKind::kFailedRequest) box.kind = MarkerKind::kFailedRequest;
      ++next;
    }
    box.count = next - i;
    if (!boxes.empty()) boxes.back().label_right = box.x - min_distance / 2;
    boxes.push_back(box);
    i = next;
  }
  return boxes;
}

LabelSpan LabelOfMarker(std::span<const MarkerBox> boxes, std::size_t i, double half_width,
                        const std::function<double(const MarkerBox&)>& label_width) {
  const MarkerBox& box = boxes[i];
  const double width = label_width(box), begin = box.x + half_width;
  if (i + 1 == boxes.size() && begin + width > box.label_right) {
    const double end = box.x - half_width;
    const double free = i == 0
                            ? box.label_left
                            : LabelOfMarker(boxes.first(i), i - 1, half_width, label_width).right;
    if (end - width >= free) return {end - width, end};
  }
  return {begin, std::max(begin, std::min(begin + width, box.label_right))};
}

int HitMarker(std::span<const MarkerBox> boxes, double x, double half_width,
              const std::function<double(const MarkerBox&)>& label_width) {
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (std::abs(x - boxes[i].x) <= half_width) return static_cast<int>(i);
    const LabelSpan label = LabelOfMarker(boxes, i, half_width, label_width);
    if (x >= label.left && x <= label.right && label.left < label.right) return static_cast<int>(i);
  }
  return -1;
}

int NextMarker(std::span<const TimelineMarker> markers, analysis::TimeNs time) {
  const std::size_t i = FirstFrom(markers, time == analysis::kForever ? time : time + 1);
  return i < markers.size() ? static_cast<int>(i) : -1;
}

int MarkerBefore(std::span<const TimelineMarker> markers, analysis::TimeNs time) {
  return static_cast<int>(FirstFrom(markers, time)) - 1;
}

}  // namespace memprof::viewer
