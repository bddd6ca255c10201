// The rectangles of allocations, and which of them lie in a part of the picture.
#include "viewer/geometry/allocation_index.h"

#include <utility>

namespace memprof::viewer {

using analysis::AllocationId;
using analysis::AllocationRecord;
using analysis::TimeNs;

AllocationIndex::AllocationIndex(std::shared_ptr<const analysis::Session> session,
                                 analysis::Lanes lanes, analysis::TimeWindow bounds)
    : session_(std::move(session)),
      lanes_(std::move(lanes)),
      bounds_(bounds),
      unit_(static_cast<double>(lanes_.unit)) {
  while (((bounds.end - bounds.begin) >> shift_) >= kNever - 1) ++shift_;
  const analysis::EventTable& events = session_->events();
  birth_.reserve(size());
  death_.reserve(size());
  for (const AllocationId id : lanes_.ids) {
    const AllocationRecord& a = session_->record(id);
    birth_.push_back(Tick(events.time(a.birth.value)));
    death_.push_back(a.alive() ? kNever : Tick(events.time(a.death.value)));
  }
  BuildPyramid();
}

void AllocationIndex::BuildPyramid() {
  const std::vector<std::uint32_t>* below = &death_;
  do {
    std::vector<std::uint32_t> level((below->size() + kFan - 1) / kFan, 0);
    for (std::size_t i = 0; i < below->size(); ++i)
      level[i / kFan] = std::max(level[i / kFan], (*below)[i]);
    latest_.push_back(std::move(level));
    below = &latest_.back();
  } while (below->size() > 1);
}

std::uint32_t AllocationIndex::Tick(TimeNs time) const {
  if (time <= bounds_.begin) return 0;
  return static_cast<std::uint32_t>(std::min<TimeNs>((time - bounds_.begin) >> shift_, kNever - 1));
}

std::optional<std::size_t> AllocationIndex::Row(AllocationId id) const {
  const auto at = std::lower_bound(lanes_.ids.begin(), lanes_.ids.end(), id);
  if (at == lanes_.ids.end() || *at != id) return std::nullopt;
  return static_cast<std::size_t>(at - lanes_.ids.begin());
}

TimeNs AllocationIndex::Birth(std::size_t row) const {
  return session_->events().time(session_->record(id(row)).birth.value);
}

TimeNs AllocationIndex::Death(std::size_t row) const {
  const AllocationRecord& a = session_->record(id(row));
  return a.alive() ? analysis::kForever : session_->events().time(a.death.value);
}

std::optional<std::size_t> AllocationIndex::HitTest(TimeNs time, double bytes,
                                                    const PictureBox& around) const {
  std::optional<std::size_t> best;
  double best_area = -1;
  ForEachAlive(around.window, [&](std::size_t row) {
    const double from = low(row), to = high(row);
    if (to < around.low || from > around.high) return true;
    const TimeNs birth = Birth(row), death = Death(row);
    if (birth > around.window.end || death < around.window.begin) return true;
    if (from <= bytes && bytes < to && birth <= time && time < death) {
      best = row;
      return false;
    }
    const double area = (to - from) * static_cast<double>(std::min(death, bounds_.end) - birth);
    if (area > best_area) {
      best = row;
      best_area = area;
    }
    return true;
  });
  return best;
}

std::size_t AllocationIndex::memory_bytes() const {
  const auto of = [](const auto& v) { return v.capacity() * sizeof(v[0]); };
  std::size_t sum = of(lanes_.ids) + of(lanes_.low) + of(lanes_.high) + of(birth_) + of(death_);
  for (const auto& level : latest_) sum += of(level);
  return sum;
}

}  // namespace memprof::viewer
