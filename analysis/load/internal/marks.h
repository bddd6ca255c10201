// Steps, ranges and snapshots: the structure that the program marked.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/store/session.h"

namespace memprof::analysis {

struct Marks {
  std::vector<StepInfo> steps;          // in order of time
  std::vector<RangeInfo> ranges;        // in order of begin
  std::vector<SnapshotInfo> snapshots;  // in order of time
  std::uint64_t unbalanced_pops = 0;    // without a push
  std::uint64_t open_ranges = 0;        // never popped; they end with the log
};

// `end_time` is the end of the log. Several threads may mark the same step: a mark with the number
// of the current step begins no new one.
Marks CollectMarks(const EventTable& events, const std::vector<std::string>& strings,
                   TimeNs end_time);

}  // namespace memprof::analysis
