// Marks of instants above the timeline: failed requests, snapshots and the program's own marks.
// Pure; thread-safe.
#pragma once

#include <QString>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "viewer/geometry/axis.h"

namespace memprof::viewer {

enum class MarkerKind : std::uint8_t { kSnapshot, kFailedRequest };

struct TimelineMarker {
  MarkerKind kind = MarkerKind::kSnapshot;
  analysis::TimeNs time = 0;
  QString label;  // a word or two, shown if there is space
  QString text;   // what happened; rich text
};

// One mark, or several that are too close to be separate.
struct MarkerBox {
  MarkerKind kind = MarkerKind::kSnapshot;  // a failed request if any of them is
  std::size_t first = 0, count = 1;         // markers
  double x = 0;                             // position of its sign
  double label_left = 0;                    // the left limit of a label at the left of the sign
  double label_right = 0;                   // the right limit of its label; x if it has none
};

// From left to right; signs are at least `min_distance` apart, and labels end before the next sign.
// `markers` in order of time. O(boxes × log markers + markers in the window that are drawn).
std::vector<MarkerBox> LayOutMarkers(std::span<const TimelineMarker> markers,
                                     const TimeScale& scale, double min_distance);

// The label of box `i`, of `label_width` as text: at the right of its sign, which is `half_width`
// on each side; cut at the limit. That of the last sign, such as a failure that ended the run, is
// at the left if it only fits there.
struct LabelSpan {
  double left = 0, right = 0;
};
LabelSpan LabelOfMarker(std::span<const MarkerBox> boxes, std::size_t i, double half_width,
                        const std::function<double(const MarkerBox&)>& label_width);

// The box whose sign or label is at `x`; -1 for none. `label_width` returns the width of a box's
// label.
int HitMarker(std::span<const MarkerBox> boxes, double x, double half_width,
              const std::function<double(const MarkerBox&)>& label_width);

// The first marker after `time`, or the last one before it; -1 for none.
int NextMarker(std::span<const TimelineMarker> markers, analysis::TimeNs time);
int MarkerBefore(std::span<const TimelineMarker> markers, analysis::TimeNs time);

}  // namespace memprof::viewer
