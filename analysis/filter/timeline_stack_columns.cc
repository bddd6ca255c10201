// The least and the most of a stack's bands over any times.
#include <algorithm>

#include "analysis/filter/internal/stack_cursor.h"
#include "analysis/filter/internal/stack_data.h"
#include "analysis/filter/timeline_stack.h"

namespace memprof::analysis {
namespace {

// The first event at or after each time, with the slack that Edges allows.
std::vector<std::uint32_t> ColumnBegins(const StackData& data, std::span<const TimeNs> times,
                                        double slack) {
  constexpr std::uint32_t kBlock = StackData::kBlock, kManyEvents = 8 * kBlock;
  std::vector<std::uint32_t> first(times.size());
  for (std::size_t i = 0; i < times.size(); ++i) first[i] = data.FirstEventFrom(times[i]);
  for (std::size_t i = 1; slack > 0 && i + 1 < times.size(); ++i) {
    if (first[i + 1] - first[i] < kManyEvents) continue;
    const std::uint32_t begin = first[i] / kBlock * kBlock;
    const TimeNs moved = data.block_time[first[i] / kBlock];
    const bool near = moved <= times[i] && static_cast<double>(times[i] - moved) <=
                                               slack * static_cast<double>(times[i + 1] - times[i]);
    if (near) first[i] = std::max(begin, first[i - 1]);
  }
  return first;
}

TimelineStack::Columns MakeColumns(const StackData& data, std::span<const TimeNs> times, bool own,
                                   double slack, std::size_t in_use) {
  TimelineStack::Columns columns;
  const std::size_t n = times.empty() ? 0 : times.size() - 1;
  columns.low.assign(data.bands.size(), std::vector<std::uint64_t>(n));
  columns.high = columns.low;
  columns.in_use.assign(n, 0);
  if (data.bands.empty() || n == 0) return columns;
  StackCursor cursor(data);
  const std::vector<std::uint32_t> first = ColumnBegins(data, times, slack);
  for (std::size_t i = 0; i < n; ++i) {
    const StackRange range = cursor.RangeOf({times[i], times[i + 1]}, first[i], first[i + 1], own);
    for (std::size_t b = 0; b < data.bands.size(); ++b) {
      columns.low[b][i] = range.least[b];
      columns.high[b][i] = range.most[b];
    }
    if (in_use < data.kept.size()) columns.in_use[i] = range.most[in_use];
  }
  return columns;
}

}  // namespace

TimelineStack::Columns TimelineStack::Edges(std::span<const TimeNs> times, double slack) const {
  return MakeColumns(*data_, times, false, slack, SlotOf(Line::kInUse));
}
TimelineStack::Columns TimelineStack::Bytes(std::span<const TimeNs> times) const {
  return MakeColumns(*data_, times, true, 0, data_->kept.size());
}

}  // namespace memprof::analysis
