// The memory in use within a part of a run: its highest point, and what was allocated there.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/store/allocation_set.h"
#include "analysis/store/session.h"

namespace memprof::analysis {

// Memory in use counts once: blocks of allocators, and driver memory that no allocator divides.
// What an allocator keeps in reserve is not in use.
struct DeviceUse {
  int device = kNoDevice;
  std::uint64_t before = 0, after = 0;  // after the events `from` and `to`
  std::uint64_t peak = 0;               // the most between them, both included
  EventId peak_event;                   // the first after which that held
};

// By device, ascending; devices that had no memory until `to` are left out. An invalid `from` is
// the start of the log. O(events).
std::vector<DeviceUse> UseBetween(const Session& session, EventId from, EventId to);

// The device whose use rose most above what it was at `from`; null if there is none.
const DeviceUse* HighestRise(const std::vector<DeviceUse>& uses);

// The allocations that were made after the event `from`; all if it is invalid.
AllocationSet AllocatedAfter(const Session& session, EventId from);

}  // namespace memprof::analysis
