// The instant at which each device held most, for any definition of what it holds.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "analysis/store/lifetime_walk.h"
#include "analysis/store/session.h"

namespace memprof::analysis {

// A visitor of WalkLifetimes with N running sums for each device. The peak is the first event after
// which the first sum was largest; among the instants of this maximum, the second sum decides, and
// so on: reserved memory stays at its maximum for long, and then the moment at which most of it was
// in use matters. If the first sum was never above 0, because its layer was not recorded, the
// second decides.
template <std::size_t N>
class PeakFinder {
 public:
  using Sums = std::array<std::uint64_t, N>;
  struct Mark {
    Sums now{}, peak{};
    Sums highest{};  // of each sum separately, at any instant
    EventId event;   // after which `peak` held; none while no sum was ever above 0
    bool changed = false;
  };
  // The sum that an allocation counts in; N or more: none.
  using SumOf = std::size_t (*)(const AllocationRecord&);

  PeakFinder(const Session& session, SumOf sum_of) : session_(session), sum_of_(sum_of) {
    WalkLifetimes(session, *this);
  }
  const std::map<int, Mark>& marks() const { return marks_; }

  void Birth(EventId, AllocationId id) {
    const AllocationRecord& a = session_.record(id);
    if (std::uint64_t* sum = Change(a)) *sum += a.bytes;
  }
  void Death(EventId, AllocationId id) {
    const AllocationRecord& a = session_.record(id);
    if (std::uint64_t* sum = Change(a)) *sum -= a.bytes;
  }
  void After(EventId event) {
    for (Mark* mark : changed_) {
      mark->changed = false;
      for (std::size_t i = 0; i < N; ++i)
        mark->highest[i] = std::max(mark->highest[i], mark->now[i]);
      if (mark->now <= mark->peak) continue;
      mark->peak = mark->now;
      mark->event = event;
    }
    changed_.clear();
  }

 private:
  std::uint64_t* Change(const AllocationRecord& a) {
    const std::size_t sum = a.device == kNoDevice ? N : sum_of_(a);
    if (sum >= N) return nullptr;
    Mark& mark = marks_[a.device];
    if (!mark.changed) changed_.push_back(&mark);
    mark.changed = true;
    return &mark.now[sum];
  }

  const Session& session_;
  const SumOf sum_of_;
  std::map<int, Mark> marks_;
  std::vector<Mark*> changed_;  // since the last After; pointers to values of a map stay valid
};

}  // namespace memprof::analysis
