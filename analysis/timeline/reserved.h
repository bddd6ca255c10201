// What stream-ordered pools hold of a device beyond what the program still asks for.
#pragma once

#include <compare>
#include <cstdint>
#include <map>

#include "analysis/store/session.h"

namespace memprof::analysis {

// Follows one session event by event and knows, per device, the bytes beyond live allocations: the
// sum over pools of max(0, reserved in the last pool sample - live bytes of that pool); the pool
// that a device keeps for the memory nodes of graphs is one of them. A pool's samples begin with
// its first; before that it holds nothing beyond. Physical memory whose handle was released while
// it is mapped needs nothing here: it is an allocation until its last mapping goes.
class ReservedBeyond {
 public:
  explicit ReservedBeyond(const Session& session) : session_(session) {}

  // Call for every birth and death, then After once per event (see ReplayLifetimes).
  void Birth(AllocationId id);
  void Death(AllocationId id);
  void After(EventId event);

  std::uint64_t Of(int device) const;

 private:
  struct PoolState {
    int device = kNoDevice;
    std::uint64_t sampled = 0, live = 0;
    std::uint64_t beyond() const { return sampled > live ? sampled - live : 0; }
  };
  struct PoolKey {
    Layer layer = Layer::kStreamOrdered;  // of what lies in it: stream-ordered or graph memory
    std::uint64_t handle = 0;
    int device = kNoDevice;
    auto operator<=>(const PoolKey&) const = default;
  };
  // The pool of an allocation; only of these two layers. Graph memory names none.
  static PoolKey PoolOf(const AllocationRecord& a) {
    return {a.layer, a.layer == Layer::kStreamOrdered ? a.second : 0, a.device};
  }

  void ChangePool(PoolKey key, std::uint64_t sampled, bool set_sample, std::int64_t live_change);
  void SamplePool(EventId event);

  const Session& session_;
  std::map<PoolKey, PoolState> pools_;
  std::map<int, std::uint64_t> beyond_;
};

}  // namespace memprof::analysis
