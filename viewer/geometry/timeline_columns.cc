// One pixel column after the other of a stacked timeline.
#include "viewer/geometry/timeline_columns.h"

#include <algorithm>
#include <utility>

namespace memprof::viewer {

TimelineColumns MakeColumns(const TimelineBands& bands, const TimeScale& scale, int columns) {
  TimelineColumns out;
  out.window = scale.window;
  out.clock = scale.clock;
  if (columns <= 0 || scale.window.end <= scale.window.begin) return out;
  out.columns = columns;
  // A sixteenth of a column is invisible.
  constexpr double kSlack = 1.0 / 16;
  analysis::TimelineStack::Columns edges = bands.stack->Edges(ColumnEdges(scale, columns), kSlack);
  out.low = std::move(edges.low);
  out.high = std::move(edges.high);
  return out;
}

int TimelineColumns::BandAt(int column, std::uint64_t bytes) const {
  if (column < 0 || column >= columns) return -1;
  const auto i = static_cast<std::size_t>(column);
  for (std::size_t b = 0; b < high.size(); ++b)
    if (bytes < high[b][i]) return static_cast<int>(b);
  return -1;
}

namespace {

// The largest double that is a 64-bit count.
std::uint64_t ToBytes(double bytes) {
  return static_cast<std::uint64_t>(std::min(bytes, 18446744073709547520.0));
}

}  // namespace

AxisRange ChooseAxis(std::uint64_t highest, std::uint64_t capacity) {
  const double high = static_cast<double>(std::max<std::uint64_t>(highest, 1));
  const double limit = static_cast<double>(capacity);
  if (capacity > 0 && limit <= high * 1.6) {
    return {ToBytes(std::max(limit, high) * 1.05) + 1, true};
  }
  return {ToBytes(high * 1.12) + 1, false};
}

}  // namespace memprof::viewer
