// One pixel column after the other of a stacked timeline.
#include "viewer/geometry/timeline_columns.h"

#include <algorithm>

namespace memprof::viewer {

using analysis::Series;

TimelineColumns MakeColumns(const TimelineBands& bands, analysis::TimeWindow window, int columns) {
  TimelineColumns out;
  out.window = window;
  if (columns <= 0 || window.end <= window.begin) return out;
  out.columns = columns;
  const auto n = static_cast<std::size_t>(columns);
  out.low.assign(n, 0);
  out.high.assign(n, 0);
  std::vector<double> sum(n, 0);
  for (const Band& band : bands.bands) {
    const std::vector<Series::Sample> samples = band.series.Columns(window, columns);
    std::vector<double>& top = out.band_top.emplace_back(n, 0);
    for (std::size_t i = 0; i < n && i < samples.size(); ++i) {
      sum[i] += static_cast<double>(samples[i].max);
      top[i] = sum[i];
    }
  }
  const std::vector<Series::Sample> total = bands.top.Columns(window, columns);
  for (std::size_t i = 0; i < n && i < total.size(); ++i) {
    out.low[i] = total[i].min;
    out.high[i] = total[i].max;
    if (sum[i] <= 0) continue;
    const double share = static_cast<double>(total[i].max) / sum[i];
    for (std::vector<double>& top : out.band_top) top[i] *= share;
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
