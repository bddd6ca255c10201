// One pixel column after the other of a stacked timeline.
#include "viewer/geometry/timeline_columns.h"

#include <algorithm>

namespace memprof::viewer {

using analysis::Series;

TimelineColumns MakeColumns(const TimelineBands& bands, const TimeScale& scale, int columns) {
  TimelineColumns out;
  out.window = scale.window;
  out.clock = scale.clock;
  if (columns <= 0 || scale.window.end <= scale.window.begin) return out;
  out.columns = columns;
  const std::vector<analysis::TimeNs> edges = ColumnEdges(scale, columns);
  const auto n = static_cast<std::size_t>(columns);
  for (const Band& band : bands.bands) {
    std::vector<std::uint64_t>& low = out.low.emplace_back(n, 0);
    std::vector<std::uint64_t>& high = out.high.emplace_back(n, 0);
    for (std::size_t i = 0; i < n; ++i) {
      const Series::Sample sample = band.edge.Between(edges[i], edges[i + 1]);
      low[i] = sample.min;
      high[i] = sample.max;
    }
  }
  return out;
}

std::vector<std::uint64_t> ValuesAt(const TimelineBands& bands, analysis::TimeNs time) {
  std::vector<std::uint64_t> values;
  values.reserve(bands.bands.size());
  for (const Band& band : bands.bands) values.push_back(band.series.At(time));
  return values;
}

AxisRange ChooseAxis(std::uint64_t highest, std::uint64_t capacity) {
  const double high = static_cast<double>(std::max<std::uint64_t>(highest, 1));
  const double limit = static_cast<double>(capacity);
  if (capacity > 0 && limit <= high * 1.6) {
    return {static_cast<std::uint64_t>(std::max(limit, high) * 1.05) + 1, true};
  }
  return {static_cast<std::uint64_t>(high * 1.12) + 1, false};
}

}  // namespace memprof::viewer
