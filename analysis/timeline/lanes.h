// Places all allocations in a picture with time to the right and bytes upwards. Each gets a lane as
// high as its size, from birth to death: a rectangle that overlaps no other. Lanes are either
// packed, as if one unbounded first-fit allocator had served all; or by address, without the parts
// of the address space that were never used.
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "analysis/store/session.h"

namespace memprof::analysis {

// Immutable once built. 12 bytes an allocation.
struct Lanes {
  std::uint64_t unit = 1;         // bytes of a unit of `low` and `high`
  std::uint32_t height = 0;       // of the picture, in units
  std::vector<AllocationId> ids;  // in order of birth
  // [low, high) of each, in units. By address, both may be equal for sizes below a unit.
  std::vector<std::uint32_t> low, high;

  std::size_t size() const { return ids.size(); }
  double bytes() const { return static_cast<double>(height) * static_cast<double>(unit); }
};

// The displayed allocations of a device: blocks of frameworks, and driver memory that no allocator
// divides; of the host (kNoDevice) pinned and registered memory. Without allocations of no size. In
// order of birth; O(allocations).
std::vector<AllocationId> ShownAllocations(const Session& session, int device);

// Packed lanes: the addresses from a first-fit allocator that serves the allocations in order of
// events. Units of 256 bytes, or more if the peak is above 128 GiB; sizes are rounded up to units.
// O(events + allocations × chunks of holes). Empty after a request to stop.
Lanes PackLanes(const Session& session, int device, const std::stop_token& stop = {});

// A displayed part of the address space of a process.
struct AddressSpan {
  std::uint32_t process = 0;  // row of Session::processes()
  std::uint64_t address = 0, bytes = 0;
  std::uint64_t offset = 0;  // from the bottom of the picture to its first byte
};

struct AddressLanes {
  Lanes lanes;
  Lanes segments;                  // memory that allocators divide; same unit and height
  std::vector<AddressSpan> spans;  // by process and address

  // The address at an offset from the bottom, in bytes; the highest one beyond the end.
  std::uint64_t AddressAt(double offset) const;
};

// Lanes by address. Left out are memory without addresses (arrays, VMM handles), and gaps of more
// than 1/500 of the whole. O(allocations × log gaps).
AddressLanes LayOutAddresses(const Session& session, int device, const std::stop_token& stop = {});

}  // namespace memprof::analysis
