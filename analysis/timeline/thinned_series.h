// Step functions of any length in bounded memory, without losing an extreme.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/timeline/timeline.h"

namespace memprof::analysis {

// Takes the changes of a step function one by one. At most `max_groups` groups of consecutive
// changes are kept, of each its first, smallest, largest and last value with their times; when
// there are more, each two become one. A function of at most that many changes is kept as it is.
// Not thread-safe.
class ThinnedSeries {
 public:
  explicit ThinnedSeries(std::size_t max_groups) : max_groups_(max_groups < 2 ? 2 : max_groups) {}

  // `value` holds from `time` on; times rise (weakly). Of several at one time the last holds.
  void Add(TimeNs time, std::uint64_t value);
  // Changes that each group stands for: 1 = nothing was left out.
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
  Change pending_;  // not yet appended: another of the same time may follow
  bool has_pending_ = false;
};

}  // namespace memprof::analysis
