// A place for every allocation in a picture of time along and bytes upwards: a lane as high as the
// allocation is large, which it keeps from birth to death, so that it is one rectangle and no two
// overlap. Either packed, as if one first-fit allocator without end had served them all, or by
// address, with the parts of the address space that were never in use left out.
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
  // [low, high) of each, in units. By address of sizes below a unit, both may be the same.
  std::vector<std::uint32_t> low, high;

  std::size_t size() const { return ids.size(); }
  double bytes() const { return static_cast<double>(height) * static_cast<double>(unit); }
};

// What is shown of a device: the blocks of frameworks, and what the driver gave that no allocator
// suballocates; of the host (kNoDevice) pinned and registered memory. Without what has no size. In
// order of birth; O(allocations).
std::vector<AllocationId> ShownAllocations(const Session& session, int device);

// The lane of each packed from the bottom: of a first-fit allocator that served them in order of
// events. Units of 256 bytes, or more where the peak is beyond 128 GiB; sizes count as whole units.
// O(events + allocations × chunks of holes). Empty where it was asked to stop.
Lanes PackLanes(const Session& session, int device, const std::stop_token& stop = {});

// A stretch of the address space of a process as the picture shows it.
struct AddressSpan {
  std::uint32_t process = 0;  // row of Session::processes()
  std::uint64_t address = 0, bytes = 0;
  std::uint64_t offset = 0;  // of its first byte from the bottom of the picture
};

struct AddressLanes {
  Lanes lanes;
  Lanes segments;                  // what allocators suballocate; same unit and height
  std::vector<AddressSpan> spans;  // by process and address

  // The address at an offset from the bottom, in bytes; the highest one beyond the end.
  std::uint64_t AddressAt(double offset) const;
};

// The lane of each is where it lies. Left out: what is not reached by its address (arrays, VMM
// handles), and stretches of more than 1/500 of the whole in which nothing ever was.
// O(allocations × log stretches).
AddressLanes LayOutAddresses(const Session& session, int device, const std::stop_token& stop = {});

}  // namespace memprof::analysis
