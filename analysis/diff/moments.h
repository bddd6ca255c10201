// Compares moments of one run: the work for the whole run is done once; then each comparison costs
// only what is live at the two moments.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

#include "analysis/diff/diff.h"
#include "analysis/diff/internal/parts.h"
#include "analysis/store/allocation_set.h"
#include "analysis/timeline/pool_changes.h"

namespace memprof::analysis {

// Immutable except for a cache; thread-safe. The session must outlive it.
class MomentDiff {
 public:
  // O(events), seconds for 10^7. `progress` gets the share done, in [0, 1]. Incomplete once `stop`
  // is requested.
  MomentDiff(const Session& session, Symbols& symbols, const std::stop_token& stop = {},
             const std::function<void(double)>& progress = {});

  const StackAlignment& alignment() const { return *alignment_; }

  // As DiffMoments. O(live sets); only one of them if the other is that of the previous comparison.
  // The sites include what `passing` holds (null: all).
  DiffReport Compare(EventId from, EventId to,
                     std::shared_ptr<const AllocationSet> passing = nullptr) const;

 private:
  // The totals of a device after an event.
  struct DeviceTotals {
    std::uint64_t live = 0;      // driver bytes as requested
    std::uint64_t segments = 0;  // of allocators
    std::uint64_t reserved = 0;  // what allocators, or the driver, hold
    // The part that allocators divide, and what of it is in use.
    std::uint64_t suballocated = 0, used = 0;
  };
  struct State {
    LiveByPlace places;
    std::vector<DeviceTotals> devices;  // by devices_
    double free_share = 0;              // in percent
  };
  struct Device {
    int ordinal = kNoDevice;
    bool framework = false;  // segments were ever seen
    double variation = 0;    // of the peak, from step to step
  };
  struct Known {
    EventId event;
    std::shared_ptr<const AllocationSet> passing;
    std::shared_ptr<const State> state;
  };

  std::shared_ptr<const State> StateAfter(
      EventId event, const std::shared_ptr<const AllocationSet>& passing) const;
  std::shared_ptr<const State> MakeState(EventId event, const AllocationSet* passing) const;
  std::size_t RowOf(int device) const;  // devices_.size() for none

  const Session& session_;
  std::shared_ptr<const StackAlignment> alignment_;
  RunProfile profile_;
  std::optional<LeafMemory> leaf_;
  std::vector<Device> devices_;               // by ordinal
  std::shared_ptr<const DevicePools> pools_;  // where a device has no framework
  bool blocks_ = false;                       // an allocator's blocks were ever seen

  mutable std::mutex mutex_;
  mutable Known known_[2];  // the last two states, the latest first
};

}  // namespace memprof::analysis
