// Orders events by time.
#include <algorithm>
#include <deque>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analysis/load/internal/columns.h"

namespace memprof::analysis {
namespace {

using Row = std::uint32_t;

// Holds each thread's time where it runs backwards.
std::uint64_t HoldClocks(RawEvents* events) {
  std::vector<TimeNs> latest;
  std::uint64_t steps = 0;
  for (std::size_t i = 0; i < events->rows.size(); ++i) {
    const std::size_t thread = events->KindOf(i).thread + 1u;  // none = slot 0
    if (thread >= latest.size()) latest.resize(thread + 1, 0);
    if (events->KindOf(i).op == Op::kPresent) continue;  // about another time (present.h)
    TimeNs& time = events->rows[i].time;
    if (time < latest[thread]) ++steps;
    time = latest[thread] = std::max(time, latest[thread]);
  }
  return steps;
}

// A stable merge sort that makes use of what order there is: it merges the rising runs of the
// input, and of two neighbouring runs only the part where they overlap.
class RunSort {
 public:
  explicit RunSort(const std::vector<RawEvents::Row>& events)
      : events_(events), rows_(events.size()) {
    for (Row i = 0; i < rows_.size(); ++i) rows_[i] = i;
    runs_.push_back(0);
    for (std::size_t i = 1; i < events.size(); ++i)
      if (events[i].time < events[i - 1].time) runs_.push_back(i);
    runs_.push_back(events.size());
  }

  std::vector<Row> Sort() && {
    Merge(0, runs_.size() - 1);
    return std::move(rows_);
  }

 private:
  void Merge(std::size_t first_run, std::size_t end_run) {
    if (end_run - first_run < 2) return;
    const std::size_t middle_run = first_run + (end_run - first_run) / 2;
    Merge(first_run, middle_run);
    Merge(middle_run, end_run);
    const auto earlier = [this](Row a, Row b) { return events_[a].time < events_[b].time; };
    const auto middle = rows_.begin() + runs_[middle_run];
    const auto begin = std::upper_bound(rows_.begin() + runs_[first_run], middle, *middle, earlier);
    const auto end =
        std::lower_bound(middle, rows_.begin() + runs_[end_run], *(middle - 1), earlier);
    if (begin < middle && middle < end) std::inplace_merge(begin, middle, end, earlier);
  }

  const std::vector<RawEvents::Row>& events_;
  std::vector<Row> rows_;
  std::vector<std::size_t> runs_;
};

// Orders rows of the same instant: each thread's in their order, frees as early as that allows.
class InstantOrder {
 public:
  explicit InstantOrder(const RawEvents& events) : events_(events) {}

  void Apply(Row* begin, Row* end) {
    if (!NeedsOrder(begin, end)) return;
    absl::flat_hash_map<std::uint32_t, std::deque<Row>> threads;
    std::priority_queue<Row, std::vector<Row>, std::greater<Row>> frees, others;
    for (const Row* row = begin; row != end; ++row) threads[Thread(*row)].push_back(*row);
    const auto offer = [&](Row row) { (IsFree(row) ? frees : others).push(row); };
    for (const auto& [thread, rows] : threads) offer(rows.front());
    for (Row* out = begin; out != end; ++out) {
      auto& heads = frees.empty() ? others : frees;
      const Row row = heads.top();
      heads.pop();
      *out = row;
      std::deque<Row>& rest = threads[Thread(row)];
      rest.pop_front();
      if (!rest.empty()) offer(rest.front());
    }
  }

 private:
  std::uint32_t Thread(Row row) const { return events_.KindOf(row).thread; }
  bool IsFree(Row row) const { return events_.KindOf(row).op == Op::kFree; }

  bool NeedsOrder(const Row* begin, const Row* end) const {
    bool several = false, late_free = false;
    for (const Row* row = begin + 1; row < end; ++row) {
      several |= Thread(*row) != Thread(*begin);
      late_free |= IsFree(*row) && !IsFree(*(row - 1));
    }
    return several && late_free;
  }

  const RawEvents& events_;
};

}  // namespace

std::vector<std::uint32_t> OrderByTime(RawEvents* events, bool hold_clocks,
                                       std::uint64_t* clock_steps) {
  *clock_steps = hold_clocks ? HoldClocks(events) : 0;
  std::vector<Row> rows = RunSort(events->rows).Sort();
  const auto time = [&](std::size_t i) { return events->rows[rows[i]].time; };
  InstantOrder instant(*events);
  for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    for (end = begin + 1; end < rows.size() && time(end) == time(begin);) ++end;
    if (end - begin > 1) instant.Apply(rows.data() + begin, rows.data() + end);
  }
  return rows;
}

}  // namespace memprof::analysis
