// Collects steps, ranges and snapshots.
#include "analysis/load/internal/marks.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

namespace memprof::analysis {
namespace {

void AddStep(const EventTable& events, std::uint32_t event, std::vector<StepInfo>* steps) {
  const auto number = static_cast<std::int64_t>(events.aux0(event));
  if (!steps->empty()) {
    if (steps->back().number == number) return;
    steps->back().end = events.time(event);
  }
  steps->push_back({.number = number, .begin = events.time(event), .event = EventId(event)});
}

// Rows of ranges that were pushed and not popped, outermost first: a stack for each thread, for
// each domain of a thread (aux0), and for each range that is ended by its number, by any thread
// (aux1).
class OpenRanges {
 public:
  std::vector<std::size_t>& Stack(const EventTable& events, std::uint32_t event) {
    const std::uint64_t domain = events.aux0(event), number = events.aux1(event);
    const std::uint64_t thread = events.thread(event) + 1u;
    if (domain != 0 || number != 0)
      return others_[std::tuple(domain, number, number != 0 ? 0 : thread)];
    if (thread >= threads_.size()) threads_.resize(thread + 1);
    return threads_[thread];
  }
  std::size_t size() const {
    std::size_t ranges = 0;
    for (const auto& stack : threads_) ranges += stack.size();
    for (const auto& [key, stack] : others_) ranges += stack.size();
    return ranges;
  }

 private:
  std::vector<std::vector<std::size_t>> threads_;
  std::map<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>, std::vector<std::size_t>>
      others_;
};

}  // namespace

Marks CollectMarks(const EventTable& events, const std::vector<std::string>& strings,
                   TimeNs end_time) {
  Marks marks;
  OpenRanges open;
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    const Op op = events.op(i);
    if (op == Op::kStep) {
      AddStep(events, i, &marks.steps);
    } else if (op == Op::kSnapshot) {
      const std::uint32_t label = events.label(i);
      marks.snapshots.push_back(
          {label < strings.size() ? strings[label] : "", events.time(i), EventId(i)});
    } else if (op == Op::kRangePush || op == Op::kRangePop) {
      std::vector<std::size_t>& stack = open.Stack(events, i);
      if (op == Op::kRangePush) {
        marks.ranges.push_back({StringId(events.label(i)), events.thread(i), events.time(i),
                                end_time, static_cast<int>(stack.size())});
        stack.push_back(marks.ranges.size() - 1);
      } else if (stack.empty()) {
        ++marks.unbalanced_pops;
      } else {
        marks.ranges[stack.back()].end = events.time(i);
        stack.pop_back();
      }
    }
  }
  if (!marks.steps.empty()) marks.steps.back().end = std::max(end_time, marks.steps.back().begin);
  marks.open_ranges = open.size();
  return marks;
}

}  // namespace memprof::analysis
