// What stream-ordered pools and virtual memory hold of a device beyond what the program still asks
// for. Internal to analysis/.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>

#include "analysis/session.h"

namespace memprof::analysis {

// Follows one session event by event and knows, per device, the bytes beyond live allocations:
//   * pools: sum over pools of max(0, reserved in the last pool sample - live bytes of that pool);
//     the pool that a device keeps for the memory nodes of graphs is one of them;
//   * VMM: physical memory whose handle was released while it is still mapped, which the driver
//     keeps until the last mapping goes.
// A pool's samples begin with its first; before that it holds nothing beyond.
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
  struct Handle {
    int device = kNoDevice;
    std::uint64_t bytes = 0, mappings = 0;
    bool released = false;
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
  void Map(EventId event);
  void Unmap(EventId event);
  void DropMapping(std::uint64_t handle);

  const Session& session_;
  std::map<PoolKey, PoolState> pools_;
  std::unordered_map<std::uint64_t, Handle> handles_;
  // Mapped ranges by address: (bytes, handle).
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> mapped_;
  std::map<int, std::uint64_t> beyond_;
};

}  // namespace memprof::analysis
