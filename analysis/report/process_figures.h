// The processes of a job side by side: what each held and when, how even they are, and which stand
// out.
//
// What is shared is counted once, where it was made: memory that a process opened of another is in
// `imported_peak_bytes` and in no other figure.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "analysis/filter/allocation_filter.h"
#include "analysis/leaks/leaks.h"
#include "analysis/store/allocation_set.h"
#include "analysis/store/session.h"
#include "analysis/timeline/timeline.h"

namespace memprof::analysis {

// The least and most that was held in a part of the window.
struct ProcessColumn {
  std::uint64_t driver_least = 0, driver_most = 0;
  std::uint64_t in_use_least = 0, in_use_most = 0;
  bool operator==(const ProcessColumn&) const = default;
};

struct ProcessFigures {
  std::uint32_t process = 0;  // row of Session::processes()
  std::vector<int> devices;   // on which it held memory, ascending
  // Most at one time, of all devices together: what it asked of the driver, the live blocks of its
  // framework's allocator, the segments of that allocator.
  std::uint64_t driver_peak_bytes = 0, in_use_peak_bytes = 0, reserved_peak_bytes = 0;
  TimeNs driver_peak_time = 0;
  std::uint64_t host_peak_bytes = 0;      // pinned and registered
  std::uint64_t imported_peak_bytes = 0;  // of other processes and libraries
  // When the log ended.
  std::uint64_t driver_end_bytes = 0, in_use_end_bytes = 0;
  // Of these, at the sites of `leaks`.
  std::uint64_t leaked_bytes = 0;
  std::uint64_t events = 0, allocations = 0;
  std::vector<ProcessColumn> columns;
};

struct ProcessQuery {
  // Of which each figure's `columns` are equal parts. A value that holds when a part begins belongs
  // to it.
  TimeWindow window;
  int columns = 0;
  std::span<const Leak> leaks = {};
  const AllocationSet* passing = nullptr;  // only these count; null: all
};
// One for each process. Incomplete once `stop` is requested. O(events + processes · columns).
std::vector<ProcessFigures> FindProcessFigures(const Session& session, const ProcessQuery& query,
                                               const std::stop_token& stop = {});

// What each process holds over time, to be asked for one window after the other. Immutable, hence
// thread-safe; 34 bytes for each event that changes what a process holds.
class ProcessCourses {
 public:
  // `passing`: only these count; null: all. Incomplete once `stop` is requested. O(events).
  ProcessCourses(const Session& session, const AllocationSet* passing,
                 const std::stop_token& stop = {});

  // ProcessFigures::columns of each process. O(processes · columns · log events).
  std::vector<std::vector<ProcessColumn>> Columns(TimeWindow window, int columns) const;

 private:
  struct Course {
    Series driver, in_use;
  };
  std::vector<Course> courses_;
};

// How even some figures are, one for each process.
struct Spread {
  double mean = 0, median = 0;
  // 1.4826 times the median distance to the median: the standard deviation, where figures scatter
  // normally, and not moved by a few that stand out.
  double deviation = 0;
  std::uint64_t least = 0, most = 0;
  // (most - mean) / mean: the share of the largest process's memory by which it exceeds what an
  // even distribution would need; 0 where all are 0.
  double imbalance = 0;
  // Further from the median than 3 deviations and than 5 % of it. Only of three or more figures:
  // of two, nobody can say which is the odd one.
  std::vector<std::uint32_t> outliers;
};
inline constexpr double kOutlierDeviations = 3, kOutlierShare = 0.05;
Spread SpreadOf(std::span<const std::uint64_t> figures);

}  // namespace memprof::analysis
