// Adds steps without marks.
#include "analysis/load/internal/step_gaps.h"

#include <algorithm>
#include <cstdint>

namespace memprof::analysis {
namespace {

constexpr std::uint64_t kMostFilled = 1u << 20;  // more is no count of steps

EventId EventAtOrAfter(const EventTable& events, TimeNs time) {
  std::uint32_t first = 0;
  auto end = static_cast<std::uint32_t>(events.size());
  while (first < end) {
    const std::uint32_t middle = first + (end - first) / 2;
    if (events.time(middle) < time)
      first = middle + 1;
    else
      end = middle;
  }
  return EventId(first);
}

// `gap` steps from `begin` until `end`, the first one with number `number`.
void Fill(const EventTable& events, std::int64_t number, std::uint64_t gap, TimeNs begin,
          TimeNs end, std::vector<StepInfo>* steps) {
  const auto at = [&](std::uint64_t i) {
    return begin + static_cast<TimeNs>(static_cast<double>(end - begin) * static_cast<double>(i) /
                                       static_cast<double>(gap));
  };
  for (std::uint64_t i = 0; i < gap; ++i)
    steps->push_back({.number = number + static_cast<std::int64_t>(i),
                      .begin = at(i),
                      .end = i + 1 == gap ? end : at(i + 1),
                      .event = EventAtOrAfter(events, at(i))});
}

}  // namespace

void FillStepGaps(const EventTable& events, std::vector<StepInfo>* steps) {
  if (steps->empty() || !events.Has(Op::kThinned)) return;
  std::vector<TimeWindow> stretches;
  for (std::uint32_t i = 0; i < events.size(); ++i)
    if (events.op(i) == Op::kThinned) stretches.push_back({events.aux0(i), events.time(i)});
  std::vector<StepInfo> filled;
  for (std::size_t i = 0; i < steps->size(); ++i) {
    const StepInfo& step = (*steps)[i];
    filled.push_back(step);
    if (i + 1 == steps->size() || (*steps)[i + 1].number <= step.number) continue;
    const StepInfo& next = (*steps)[i + 1];
    const std::uint64_t gap =
        static_cast<std::uint64_t>(next.number) - static_cast<std::uint64_t>(step.number) - 1;
    const auto stretch = std::ranges::upper_bound(stretches, step.begin, {}, &TimeWindow::end);
    if (gap == 0 || stretch == stretches.end() || stretch->begin >= next.begin) continue;
    if (filled.size() + gap > kMostFilled) return;
    // A mark can be kept within a stretch: then its step is as long as those without.
    const TimeNs begin = stretch->begin > step.begin
                             ? stretch->begin
                             : step.begin + (next.begin - step.begin) / (gap + 1);
    filled.back().end = begin;
    Fill(events, step.number + 1, gap, begin, next.begin, &filled);
  }
  *steps = std::move(filled);
}

}  // namespace memprof::analysis
