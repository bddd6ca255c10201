// Compares the processes of a job: what each held over time, how even they are, and which are
// outliers.
//
// Shared memory is counted once, in the process that allocated it: memory that a process opened
// from another one is in `imported_peak_bytes` and in no other figure.
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

// The minimum and maximum held in a part of the window.
struct ProcessColumn {
  std::uint64_t driver_least = 0, driver_most = 0;
  std::uint64_t in_use_least = 0, in_use_most = 0;
  bool operator==(const ProcessColumn&) const = default;
};

struct ProcessFigures {
  std::uint32_t process = 0;  // row of Session::processes()
  std::vector<int> devices;   // on which it held memory, ascending
  // The highest sums over all devices: requested from the driver, live blocks of its framework's
  // allocator, segments of that allocator.
  std::uint64_t driver_peak_bytes = 0, in_use_peak_bytes = 0, reserved_peak_bytes = 0;
  TimeNs driver_peak_time = 0;
  std::uint64_t host_peak_bytes = 0;      // pinned and registered
  std::uint64_t imported_peak_bytes = 0;  // of other processes and libraries
  // At the end of the log.
  std::uint64_t driver_end_bytes = 0, in_use_end_bytes = 0;
  // The part of it at the sites of `leaks`.
  std::uint64_t leaked_bytes = 0;
  std::uint64_t events = 0, allocations = 0;
  std::vector<ProcessColumn> columns;
};

struct ProcessQuery {
  // The figures' `columns` divide it into equal parts. A value that holds at the begin of a part
  // belongs to it.
  TimeWindow window;
  int columns = 0;
  std::span<const Leak> leaks = {};
  const AllocationSet* passing = nullptr;  // only these count; null: all
};
// One for each process. Incomplete once `stop` is requested. O(events + processes · columns).
std::vector<ProcessFigures> FindProcessFigures(const Session& session, const ProcessQuery& query,
                                               const std::stop_token& stop = {});

// The memory of each process over time, for queries of many windows. Immutable, hence thread-safe;
// 34 bytes for each event that changes it.
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

// How even a figure is over the processes.
struct Spread {
  double mean = 0, median = 0;
  // 1.4826 times the median distance to the median: equal to the standard deviation for normally
  // distributed figures, and robust against a few outliers.
  double deviation = 0;
  std::uint64_t least = 0, most = 0;
  // (most - mean) / mean: by how much the largest process exceeds an even distribution; 0 if all
  // are 0.
  double imbalance = 0;
  // Processes further from the median than 3 deviations and than 5 % of it. Only among three or
  // more: of two, neither can be called the outlier.
  std::vector<std::uint32_t> outliers;
};
inline constexpr double kOutlierDeviations = 3, kOutlierShare = 0.05;
Spread SpreadOf(std::span<const std::uint64_t> figures);

}  // namespace memprof::analysis
