// Collects steps, ranges and snapshots.
#include "analysis/session_marks.h"

#include <algorithm>

namespace memprof::analysis {
namespace {

void AddStep(const EventColumns& events, std::uint32_t event, std::vector<StepInfo>* steps) {
  const auto number = static_cast<std::int64_t>(events.aux0[event]);
  if (!steps->empty()) {
    if (steps->back().number == number) return;
    steps->back().end = events.time[event];
  }
  steps->push_back({.number = number, .begin = events.time[event], .event = EventId(event)});
}

}  // namespace

Marks CollectMarks(const EventColumns& events, const std::vector<std::string>& strings,
                   TimeNs end_time) {
  Marks marks;
  std::vector<std::vector<std::size_t>> open;  // of each thread: rows of `ranges`, outermost first
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    const Op op = events.op[i];
    if (op == Op::kStep) {
      AddStep(events, i, &marks.steps);
    } else if (op == Op::kSnapshot) {
      const std::uint32_t label = events.label[i];
      marks.snapshots.push_back(
          {label < strings.size() ? strings[label] : "", events.time[i], EventId(i)});
    } else if (op == Op::kRangePush || op == Op::kRangePop) {
      const std::size_t thread = events.thread[i] + 1u;
      if (thread >= open.size()) open.resize(thread + 1);
      if (op == Op::kRangePush) {
        marks.ranges.push_back({StringId(events.label[i]), events.thread[i], events.time[i],
                                end_time, static_cast<int>(open[thread].size())});
        open[thread].push_back(marks.ranges.size() - 1);
      } else if (open[thread].empty()) {
        ++marks.unbalanced_pops;
      } else {
        marks.ranges[open[thread].back()].end = events.time[i];
        open[thread].pop_back();
      }
    }
  }
  if (!marks.steps.empty()) marks.steps.back().end = std::max(end_time, marks.steps.back().begin);
  for (const auto& ranges : open) marks.open_ranges += ranges.size();
  return marks;
}

}  // namespace memprof::analysis
