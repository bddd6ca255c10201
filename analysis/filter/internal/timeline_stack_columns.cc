// The least and the most of a stack's bands over any times.
#include <algorithm>

#include "analysis/filter/internal/timeline_stack.h"
#include "analysis/filter/stack_cursor.h"

namespace memprof::analysis {

void TimelineStack::Join(std::size_t begin, std::size_t end, Range& range) const {
  for (std::size_t slot = 0; slot < kept_.size(); ++slot) {
    const Curve& curve = curves_[slot];
    curve.pyramid.Join(curve.least, curve.most, begin, end, range.least[slot], range.most[slot]);
  }
}

TimelineStack::Range TimelineStack::RangeOf(StackCursor& cursor, TimeWindow window,
                                            std::uint32_t first, std::uint32_t last,
                                            bool own) const {
  Range range;
  range.least.fill(~std::uint64_t{0});
  range.most.fill(0);
  Outputs outputs;
  const auto look = [&] {
    Evaluate(cursor.state(), outputs);
    std::uint64_t below = 0;
    for (std::size_t slot = 0; slot < kept_.size(); ++slot) {
      std::uint64_t value = outputs[kept_[slot]];
      if (own) {
        value -= std::min(below, value);
        below = outputs[kept_[slot]];
      }
      range.least[slot] = std::min(range.least[slot], value);
      range.most[slot] = std::max(range.most[slot], value);
    }
  };
  if (window.end <= window.begin) {  // what holds at that instant
    cursor.Seek(window.begin == kForever ? events() : FirstEventFrom(window.begin + 1));
    look();
    return range;
  }
  if (first == last || first == events() || session_->events().time(first) > window.begin) {
    cursor.Seek(first);  // what held before still holds when the range begins
    look();
  }
  const auto walk = [&](std::uint32_t from, std::uint32_t to) {
    if (from >= to) return;
    cursor.Seek(from);
    for (bool fresh = true; from < to; ++from, fresh = false)
      if (cursor.Step() || fresh) look();
  };
  const std::uint32_t inner_first = (first + kBlock - 1) / kBlock, inner_last = last / kBlock;
  if (own || inner_first >= inner_last) {
    walk(first, last);
    return range;
  }
  walk(first, inner_first * kBlock);
  Join(inner_first, inner_last, range);
  walk(inner_last * kBlock, last);
  return range;
}

std::vector<std::uint32_t> TimelineStack::ColumnBegins(std::span<const TimeNs> times,
                                                       double slack) const {
  constexpr std::uint32_t kManyEvents = 8 * kBlock;
  std::vector<std::uint32_t> first(times.size());
  for (std::size_t i = 0; i < times.size(); ++i) first[i] = FirstEventFrom(times[i]);
  for (std::size_t i = 1; slack > 0 && i + 1 < times.size(); ++i) {
    if (first[i + 1] - first[i] < kManyEvents) continue;
    const std::uint32_t begin = first[i] / kBlock * kBlock;
    const TimeNs moved = block_time_[first[i] / kBlock];
    const bool near = moved <= times[i] && static_cast<double>(times[i] - moved) <=
                                               slack * static_cast<double>(times[i + 1] - times[i]);
    if (near) first[i] = std::max(begin, first[i - 1]);
  }
  return first;
}

TimelineStack::Columns TimelineStack::MakeColumns(std::span<const TimeNs> times, bool own,
                                                  double slack) const {
  Columns columns;
  const std::size_t n = times.empty() ? 0 : times.size() - 1;
  columns.low.assign(bands_.size(), std::vector<std::uint64_t>(n));
  columns.high = columns.low;
  if (bands_.empty() || n == 0) return columns;
  StackCursor cursor(*this);
  const std::vector<std::uint32_t> first = ColumnBegins(times, slack);
  for (std::size_t i = 0; i < n; ++i) {
    const Range range = RangeOf(cursor, {times[i], times[i + 1]}, first[i], first[i + 1], own);
    for (std::size_t b = 0; b < bands_.size(); ++b) {
      columns.low[b][i] = range.least[b];
      columns.high[b][i] = range.most[b];
    }
  }
  return columns;
}

TimelineStack::Columns TimelineStack::Edges(std::span<const TimeNs> times, double slack) const {
  return MakeColumns(times, false, slack);
}
TimelineStack::Columns TimelineStack::Bytes(std::span<const TimeNs> times) const {
  return MakeColumns(times, true, 0);
}

}  // namespace memprof::analysis
