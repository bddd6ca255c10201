// How much memory of one kind was alive at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "analysis/store/lifetime_walk.h"
#include "analysis/store/session.h"

namespace memprof::analysis {

// The most bytes, by device, of the allocations that `counts` holds for. It is asked at each birth
// and each death.
template <typename Counts>
std::map<int, std::uint64_t> MostAtOnce(const Session& session, Counts counts) {
  struct Walk {
    const Session& session;
    Counts counts;
    std::map<int, std::uint64_t> now, most;

    void Birth(EventId, AllocationId id) {
      const AllocationRecord& a = session.record(id);
      if (!counts(a)) return;
      std::uint64_t& bytes = now[a.device] += a.bytes;
      most[a.device] = std::max(most[a.device], bytes);
    }
    void Death(EventId, AllocationId id) {
      const AllocationRecord& a = session.record(id);
      if (counts(a)) now[a.device] -= a.bytes;
    }
    void After(EventId) {}
  };
  Walk walk{session, std::move(counts), {}, {}};
  WalkLifetimes(session, walk);
  return std::move(walk.most);
}

}  // namespace memprof::analysis
