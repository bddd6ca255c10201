// The content of a TimelineStack: StackBuilder fills it, StackCursor steps through it.
//
// Not the values at every event are stored, but for every 128 events the state before them, and the
// minimum and maximum of every band's upper edge, with a pyramid above. Values within a block of
// events are computed from the session when needed. That takes 1 to 3 bytes an event.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "analysis/filter/timeline_stack.h"
#include "analysis/store/session.h"
#include "analysis/timeline/pool_changes.h"
#include "analysis/timeline/pyramid.h"

namespace memprof::analysis {

struct StackData {
  // Tracks are running sums: four of the device, then the groups. Outputs are functions of them:
  // the upper edges of all possible bands, in use, allocated.
  enum Track : std::uint8_t { kTensors, kSegments, kDriver, kBeyond, kFirstGroup };
  static constexpr std::size_t kTracks = kFirstGroup + StackGroups::kMax;
  static constexpr std::size_t kOutputs = StackGroups::kMax + 6;
  using State = std::array<std::uint64_t, kTracks>;
  using Outputs = std::array<std::uint64_t, kOutputs>;
  static constexpr std::uint32_t kBlock = 128;  // events

  struct Curve {
    std::vector<std::uint64_t> least, most;  // of each block
    MinMaxPyramid pyramid;
  };

  std::uint8_t GroupOf(AllocationId id, const AllocationRecord& a) const;
  // The outputs of `state`: [0, all_bands.size()) are edges, then in use, then allocated.
  void Evaluate(const State& state, Outputs& outputs) const;
  // Adds an allocation to the state, or removes it. False if it is not of this device.
  bool Apply(AllocationId id, bool birth, State& state) const;
  // The first event at or after a time.
  std::uint32_t FirstEventFrom(TimeNs time) const;
  const PoolChanges& changes() const { return pools->Of(device); }
  std::uint32_t events() const { return static_cast<std::uint32_t>(session->events().size()); }

  std::shared_ptr<const Session> session;
  int device = 0;
  bool framework = false;
  StackGroups groups;
  std::shared_ptr<const DevicePools> pools;
  std::vector<StackBand> all_bands, bands;
  std::vector<std::uint8_t> kept;  // outputs of `bands`, then of lines that are no edge
  std::vector<TimeNs> block_time;
  std::vector<std::uint32_t> block_birth;  // the first allocation born in the block, or later
  std::vector<std::uint8_t> tracks;        // those that are ever not 0
  std::vector<std::vector<std::uint64_t>> block_state;  // by `tracks`: before the block
  std::vector<Curve> curves;                            // by `kept`
};

}  // namespace memprof::analysis
