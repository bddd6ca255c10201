// The rectangles of allocations, from birth to death and as high as their lane, and which of them
// are in a part of the picture. Built once, off the GUI thread; immutable, hence thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/store/session.h"
#include "analysis/timeline/lanes.h"

namespace memprof::viewer {

// A part of the picture: times, and bytes from its bottom.
struct PictureBox {
  analysis::TimeWindow window;
  double low = 0, high = 0;
};

// Takes 21 bytes an allocation: two times, a lane and an id of 4 bytes each, and a pyramid of the
// latest deaths of 16, 256, … rows, which finds what is alive at a time without reading everything
// that was born before.
class AllocationIndex {
 public:
  // `bounds`: all of the recorded time.
  AllocationIndex(std::shared_ptr<const analysis::Session> session, analysis::Lanes lanes,
                  analysis::TimeWindow bounds);

  std::size_t size() const { return lanes_.size(); }
  const analysis::Session& session() const { return *session_; }
  const std::shared_ptr<const analysis::Session>& shared_session() const { return session_; }
  double bytes() const { return lanes_.bytes(); }  // height of the picture
  analysis::TimeWindow bounds() const { return bounds_; }
  // Times are stored as multiples of this, since bounds().begin.
  analysis::TimeNs quantum() const { return analysis::TimeNs{1} << shift_; }

  analysis::AllocationId id(std::size_t row) const { return lanes_.ids[row]; }
  // Rows are in order of birth. None if the allocation is not shown.
  std::optional<std::size_t> Row(analysis::AllocationId id) const;
  double low(std::size_t row) const { return lanes_.low[row] * unit_; }
  double high(std::size_t row) const { return lanes_.high[row] * unit_; }
  // Rounded down to the quantum; the death of an allocation that is never freed is kForever.
  analysis::TimeNs CoarseBirth(std::size_t row) const { return FromTick(birth_[row]); }
  analysis::TimeNs CoarseDeath(std::size_t row) const { return FromTick(death_[row]); }
  // Exact.
  analysis::TimeNs Birth(std::size_t row) const;
  analysis::TimeNs Death(std::size_t row) const;

  // Calls visit(row), in order of birth, for every row alive at some time of the window, and
  // possibly for some that end or begin within a quantum of it, until it returns false.
  template <typename Visit>
  void ForEachAlive(analysis::TimeWindow window, Visit visit) const;

  // The allocation at a point; if there is none, the largest that meets the box around it.
  std::optional<std::size_t> HitTest(analysis::TimeNs time, double bytes,
                                     const PictureBox& around) const;

  // The memory of the index.
  std::size_t memory_bytes() const;

 private:
  static constexpr std::uint32_t kNever = 0xffffffff;
  static constexpr std::size_t kFan = 16;

  std::uint32_t Tick(analysis::TimeNs time) const;
  analysis::TimeNs FromTick(std::uint32_t tick) const {
    return tick == kNever ? analysis::kForever : bounds_.begin + (analysis::TimeNs{tick} << shift_);
  }
  void BuildPyramid();
  // Rows before `end` with a death at or after `tick`, of the rows below node `at` of `level`.
  template <typename Visit>
  bool Descend(std::size_t level, std::size_t at, std::size_t end, std::uint32_t tick,
               Visit& visit) const;

  std::shared_ptr<const analysis::Session> session_;
  analysis::Lanes lanes_;
  analysis::TimeWindow bounds_;
  double unit_ = 1;
  int shift_ = 0;
  std::vector<std::uint32_t> birth_, death_;        // ticks
  std::vector<std::vector<std::uint32_t>> latest_;  // of kFan rows, of kFan of these, …
};

template <typename Visit>
bool AllocationIndex::Descend(std::size_t level, std::size_t at, std::size_t end,
                              std::uint32_t tick, Visit& visit) const {
  if (latest_[level][at] < tick) return true;
  const std::size_t first = at * kFan;
  if (level == 0) {
    for (std::size_t row = first; row < std::min(first + kFan, end); ++row)
      if (death_[row] >= tick && !visit(row)) return false;
    return true;
  }
  const std::size_t last = std::min(first + kFan, latest_[level - 1].size());
  std::size_t rows = kFan;
  for (std::size_t i = 1; i < level; ++i) rows *= kFan;
  for (std::size_t child = first; child < last && child * rows < end; ++child)
    if (!Descend(level - 1, child, end, tick, visit)) return false;
  return true;
}

template <typename Visit>
void AllocationIndex::ForEachAlive(analysis::TimeWindow window, Visit visit) const {
  if (size() == 0 || window.end < bounds_.begin) return;
  const std::uint32_t from = Tick(window.begin), to = Tick(window.end);
  const auto born = static_cast<std::size_t>(std::lower_bound(birth_.begin(), birth_.end(), from) -
                                             birth_.begin());
  if (born > 0 && !Descend(latest_.size() - 1, 0, born, from, visit)) return;
  for (std::size_t row = born; row < birth_.size() && birth_[row] <= to; ++row)
    if (!visit(row)) return;
}

}  // namespace memprof::viewer
