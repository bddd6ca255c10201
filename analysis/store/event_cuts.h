// Finds between which of some ascending events an event lies.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/store/event_table.h"

namespace memprof::analysis {

// Immutable after construction, which is O(cuts). A look-up takes constant time where the cuts are
// about equally far apart, as the begins of steps are, and O(log cuts) elsewhere: a table has the
// first cut of each of some equal parts of the events.
class EventCuts {
 public:
  EventCuts() = default;
  // `cuts` must be ascending and valid; others give wrong answers.
  explicit EventCuts(std::span<const EventId> cuts) : cuts_(cuts.begin(), cuts.end()) {
    if (cuts_.empty()) return;
    const std::uint32_t last = std::ranges::max(cuts_).value;
    const int width = std::bit_width(last);
    shift_ = std::max(0, width - static_cast<int>(std::bit_width(cuts_.size())) - 1);
    first_.reserve((last >> shift_) + 2);
    for (std::uint32_t i = 0; i < cuts_.size(); ++i)
      while (first_.size() <= cuts_[i].value >> shift_) first_.push_back(i);
    first_.push_back(static_cast<std::uint32_t>(cuts_.size()));
  }

  // The number of cuts at or before `event`; all of them for none.
  std::size_t UpTo(EventId event) const {
    const std::size_t part = event.value >> shift_;
    if (part + 1 >= first_.size()) return cuts_.size();
    std::size_t next = first_[part];
    const std::size_t end = first_[part + 1];
    if (end - next > kFew)
      return static_cast<std::size_t>(
          std::upper_bound(cuts_.begin() + static_cast<std::ptrdiff_t>(next),
                           cuts_.begin() + static_cast<std::ptrdiff_t>(end), event) -
          cuts_.begin());
    while (next < end && cuts_[next] <= event) ++next;
    return next;
  }

 private:
  static constexpr std::size_t kFew = 8;

  std::vector<EventId> cuts_;
  std::vector<std::uint32_t> first_;  // by part: the first cut in it or later
  int shift_ = 0;                     // a part is 2^shift_ events
};

}  // namespace memprof::analysis
