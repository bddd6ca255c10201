// Stores step functions of any length in bounded memory, with exact extremes.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/timeline/timeline.h"

namespace memprof::analysis {

// Takes the changes of a step function one by one. Stores at most `max_groups` groups of
// consecutive changes: of each the first, smallest, largest and last value with their times. Beyond
// that, neighbouring groups are joined. A function with at most that many changes is stored
// exactly. Not thread-safe.
class ThinnedSeries {
 public:
  explicit ThinnedSeries(std::size_t max_groups) : max_groups_(max_groups < 2 ? 2 : max_groups) {}

  // `value` holds from `time` on; times must not decrease. Of several values at one time the last
  // one holds.
  void Add(TimeNs time, std::uint64_t value);
  // Changes in each group: 1 = nothing was left out.
  std::uint64_t stride() const { return stride_; }
  // Ends the series. At most four entries for each group.
  Series Finish();

 private:
  struct Change {
    TimeNs time = 0;
    std::uint64_t value = 0;
  };
  struct Group {
    Change first, low, high, last;
    std::uint64_t changes = 0;
  };

  void Append(Change change);
  static void Join(Group& into, const Group& group);
  void Halve();

  const std::size_t max_groups_;
  std::uint64_t stride_ = 1;
  std::vector<Group> groups_;
  Change pending_;  // not yet appended: another change at the same time may follow
  bool has_pending_ = false;
};

}  // namespace memprof::analysis
