// Step functions of any length in bounded memory, without losing an extreme.
#include "analysis/timeline/thinned_series.h"

#include <algorithm>
#include <array>
#include <utility>

namespace memprof::analysis {

void ThinnedSeries::Add(TimeNs time, std::uint64_t value) {
  if (has_pending_ && pending_.time != time) Append(pending_);
  pending_ = {time, value};
  has_pending_ = true;
}

void ThinnedSeries::Append(Change change) {
  if (!groups_.empty() && groups_.back().last.value == change.value) return;
  const Group fresh{change, change, change, change, 1};
  if (!groups_.empty() && groups_.back().changes < stride_) {
    Join(groups_.back(), fresh);
    return;
  }
  if (groups_.size() == max_groups_) Halve();
  groups_.push_back(fresh);
}

void ThinnedSeries::Join(Group& into, const Group& group) {
  if (group.low.value < into.low.value) into.low = group.low;
  if (group.high.value > into.high.value) into.high = group.high;
  into.last = group.last;
  into.changes += group.changes;
}

void ThinnedSeries::Halve() {
  stride_ *= 2;
  std::vector<Group> halved;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (i % 2 == 0)
      halved.push_back(groups_[i]);
    else
      Join(halved.back(), groups_[i]);
  }
  groups_ = std::move(halved);
}

Series ThinnedSeries::Finish() {
  if (has_pending_) Append(pending_);
  has_pending_ = false;
  std::vector<TimeNs> times;
  std::vector<std::uint64_t> values;
  for (const Group& group : groups_) {
    std::array<Change, 4> changes = {group.first, group.low, group.high, group.last};
    std::stable_sort(changes.begin(), changes.end(),
                     [](const Change& a, const Change& b) { return a.time < b.time; });
    for (const Change& change : changes) {
      if (!values.empty() && values.back() == change.value) continue;
      times.push_back(change.time);
      values.push_back(change.value);
    }
  }
  groups_.clear();
  return Series(std::move(times), std::move(values));
}

}  // namespace memprof::analysis
