// One pixel column after the other of a stacked timeline.
#include "viewer/geometry/timeline_columns.h"

#include <algorithm>
#include <utility>

namespace memprof::viewer {

namespace {

using analysis::TimeNs;

// A sixteenth of a column is invisible.
constexpr double kSlack = 1.0 / 16;

// For each column, the one of `before` with the same content; -1 for none. With slack, a column
// depends on its neighbours' ends too, and those at the window's ends have no neighbour.
std::vector<std::ptrdiff_t> SameColumns(const std::vector<TimeNs>& edges,
                                        const std::vector<TimeNs>& before) {
  const auto n = static_cast<std::ptrdiff_t>(edges.size()) - 1;
  std::vector<std::ptrdiff_t> same(static_cast<std::size_t>(n), -1);
  for (std::ptrdiff_t i = 1; i + 2 <= n; ++i) {
    const auto at =
        std::lower_bound(before.begin(), before.end(), edges[static_cast<std::size_t>(i)]);
    if (at == before.begin() || before.end() - at < 3) continue;
    if (std::equal(at - 1, at + 3, edges.begin() + i - 1))
      same[static_cast<std::size_t>(i)] = at - before.begin();
  }
  return same;
}

}  // namespace

TimelineColumns MakeColumns(const TimelineBands& bands, const TimeScale& scale, int columns,
                            const TimelineColumns& before) {
  TimelineColumns out;
  out.window = scale.window;
  out.clock = scale.clock;
  if (columns <= 0 || scale.window.end <= scale.window.begin) return out;
  out.columns = columns;
  out.edges = ColumnEdges(scale, columns);
  out.low.assign(bands.stack->bands().size(),
                 std::vector<std::uint64_t>(static_cast<std::size_t>(columns)));
  out.high = out.low;
  out.in_use.assign(static_cast<std::size_t>(columns), 0);
  const auto copy = [&out](const auto& from, std::ptrdiff_t first, std::ptrdiff_t count,
                           std::ptrdiff_t to) {
    for (std::size_t b = 0; b < out.low.size(); ++b) {
      std::copy_n(from.low[b].begin() + first, count, out.low[b].begin() + to);
      std::copy_n(from.high[b].begin() + first, count, out.high[b].begin() + to);
    }
    std::copy_n(from.in_use.begin() + first, count, out.in_use.begin() + to);
  };
  const std::vector<std::ptrdiff_t> same = SameColumns(out.edges, before.edges);
  for (std::ptrdiff_t begin = 0, end = 0; begin < columns; begin = end) {
    const auto is_new = [&same](std::ptrdiff_t i) { return same[static_cast<std::size_t>(i)] < 0; };
    while (end < columns && is_new(end) == is_new(begin)) ++end;
    if (is_new(begin)) {
      // With the neighbours.
      const std::ptrdiff_t from = std::max<std::ptrdiff_t>(begin - 1, 0),
                           to = std::min<std::ptrdiff_t>(end + 1, columns);
      copy(bands.stack->Edges({out.edges.begin() + from, out.edges.begin() + to + 1}, kSlack),
           begin - from, end - begin, begin);
    } else {
      copy(before, same[static_cast<std::size_t>(begin)], end - begin, begin);
    }
  }
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

// The highest values that hold over `width` columns, at each column.
std::vector<std::uint64_t> Lasting(const std::vector<std::uint64_t>& values, std::size_t width) {
  const std::size_t n = values.size();
  width = std::min(width, n);
  std::vector<std::uint64_t> lasting(n, 0);
  for (std::size_t i = 0; i + width <= n; ++i) {
    const auto from = values.begin() + static_cast<std::ptrdiff_t>(i);
    const std::uint64_t least = *std::min_element(from, from + static_cast<std::ptrdiff_t>(width));
    for (std::size_t j = i; j < i + width; ++j) lasting[j] = std::max(lasting[j], least);
  }
  return lasting;
}

// Every peak that does not last is held for `width` columns.
void Widen(std::vector<std::uint64_t>& values, std::size_t width) {
  const std::vector<std::uint64_t> before = values, lasting = Lasting(values, width);
  const std::size_t n = values.size();
  for (std::size_t i = 0; i < n; ++i) {
    if (before[i] <= lasting[i]) continue;
    const std::size_t from = std::min(i, n - std::min(width, n));
    for (std::size_t j = from; j < std::min(from + width, n); ++j)
      values[j] = std::max(values[j], before[i]);
  }
}

void Cut(std::vector<std::uint64_t>& values, const ByteWindow& shown) {
  for (std::uint64_t& value : values) value = std::clamp(value, shown.low, shown.high) - shown.low;
}

// The largest double that is a 64-bit count.
std::uint64_t ToBytes(double bytes) {
  return static_cast<std::uint64_t>(std::min(bytes, 18446744073709547520.0));
}

}  // namespace

TimelineColumns ForDrawing(const TimelineColumns& columns, int width, const ByteWindow& shown) {
  TimelineColumns out = columns;
  for (std::size_t b = 0; b < out.high.size(); ++b) {
    if (width > 1) Widen(out.high[b], static_cast<std::size_t>(width));
    // A band that was made wider lifts what lies on it.
    for (std::size_t i = 0; b > 0 && i < out.high[b].size(); ++i)
      out.high[b][i] = std::max(out.high[b][i], out.high[b - 1][i]);
    Cut(out.high[b], shown);
    Cut(out.low[b], shown);
  }
  if (width > 1) Widen(out.in_use, static_cast<std::size_t>(width));
  Cut(out.in_use, shown);
  return out;
}

ByteWindow FitBytes(const TimelineColumns& columns, std::size_t bands, std::uint64_t top) {
  bands = std::min(bands, columns.low.size());
  if (bands == 0 || columns.columns == 0) return {0, std::max<std::uint64_t>(top, 1)};
  const auto& low = columns.low[bands - 1];
  const auto& high = columns.high[bands - 1];
  const double least = static_cast<double>(*std::min_element(low.begin(), low.end()));
  const double most = static_cast<double>(*std::max_element(high.begin(), high.end()));
  const double space = std::max(1.0, (most - least) * 0.06);
  return MakeByteWindow(least - space, most + space, top);
}

AxisRange ChooseAxis(std::uint64_t highest, std::uint64_t capacity) {
  const double high = static_cast<double>(std::max<std::uint64_t>(highest, 1));
  const double limit = static_cast<double>(capacity);
  if (capacity > 0 && limit <= high * 1.6) {
    return {ToBytes(std::max(limit, high) * 1.05) + 1, true};
  }
  return {ToBytes(high * 1.12) + 1, false};
}

}  // namespace memprof::viewer
