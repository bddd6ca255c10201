// The layout of device memory at one instant: segments, the blocks in them, and the holes.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/store/session.h"

namespace memprof::analysis {

// A piece of a segment: a live block, or a hole (allocation none).
struct MapPiece {
  std::uint64_t address = 0, bytes = 0;
  AllocationId allocation;  // block; in a segment without blocks, an allocation in it
  bool hole() const { return !allocation.valid(); }
};

// A range of the driver: a framework segment, or another driver allocation.
struct MapSegment {
  AllocationId allocation;
  // The pages of an expandable segment are separate allocations: `allocation` has the lowest
  // address, these are the others.
  std::vector<AllocationId> more_pages;
  std::uint64_t address = 0, bytes = 0;
  bool framework = false;        // an allocator divides it into blocks
  std::uint64_t free_bytes = 0;  // sum of holes; 0 when !framework
  std::uint64_t largest_hole = 0;
  std::vector<MapPiece> pieces;  // ordered by address, covering the segment without gaps
};

struct AddressMap {
  int device = 0;
  TimeNs time = 0;
  std::vector<MapSegment> segments;   // ordered by address
  std::uint64_t allocated_bytes = 0;  // blocks + driver allocations without blocks
  std::uint64_t reserved_bytes = 0;   // sum of segments
  std::uint64_t largest_hole = 0;
};

// The memory from which an allocator took a block: its segment, else the lowest allocation that
// contains it, else itself.
AllocationId BaseOf(const Session& session, AllocationId block);

AddressMap BuildAddressMap(const Session& session, int device, TimeNs time);

}  // namespace memprof::analysis
