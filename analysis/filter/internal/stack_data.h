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
  // Tracks are running sums: of the device, then the groups. Outputs are functions of them: the
  // upper edges of all possible bands, in use, allocated.
  enum Track : std::uint8_t {
    kTensors,
    kSegments,
    kDriver,
    kBeyond,
    kCode,  // and below, only with StackGroups::rest
    kUntracked,
    kElsewhere,
    kOthers,
    kSampled,  // 1 from the first sample on
    kFirstGroup
  };
  static constexpr std::size_t kTracks = kFirstGroup + StackGroups::kMax;
  static constexpr std::size_t kOutputs = StackGroups::kMax + 11;
  using State = std::array<std::uint64_t, kTracks>;
  using Outputs = std::array<std::uint64_t, kOutputs>;
  static constexpr std::uint32_t kBlock = 128;  // events

  struct Curve {
    std::vector<std::uint64_t> least, most;  // of each block
    MinMaxPyramid pyramid;
  };

  std::uint8_t GroupOf(AllocationId id, const AllocationRecord& a) const;
  // The outputs of `state`: [0, all_bands.size()) are edges, then in use, then allocated.
  void Evaluate(const State& state, Outputs& outputs) const {
    EvaluateAll(state, outputs);
    if (hidden != 0) Hide(outputs);
  }
  // As if no band were hidden, and what makes the other outputs of that.
  void EvaluateAll(const State& state, Outputs& outputs) const;
  void Hide(Outputs& outputs) const;
  // Adds an allocation to the state, or removes it. False if it is not of this device.
  bool Apply(AllocationId id, bool birth, State& state) const;
  // What a sample says of the rest. False for none.
  static bool Apply(const RestChange* change, State& state);
  // The first event at or after a time.
  std::uint32_t FirstEventFrom(TimeNs time) const;
  const PoolChanges& changes() const { return pools->Of(device); }
  const DeviceRest* rest() const { return groups.rest.get(); }
  std::uint32_t events() const { return static_cast<std::uint32_t>(session->events().size()); }

  std::shared_ptr<const Session> session;
  int device = 0;
  bool framework = false;
  StackGroups groups;
  std::shared_ptr<const DevicePools> pools;
  std::vector<StackBand> all_bands, bands;
  std::uint32_t hidden = 0;        // a bit for each of all_bands
  std::vector<std::uint8_t> kept;  // outputs of `bands`, then of lines that are no edge
  std::vector<TimeNs> block_time;
  std::vector<std::uint32_t> block_birth;  // the first allocation born in the block, or later
  std::vector<std::uint8_t> tracks;        // those that are ever not 0
  std::vector<std::vector<std::uint64_t>> block_state;  // by `tracks`: before the block
  std::vector<Curve> curves;                            // by `kept`
};

}  // namespace memprof::analysis
