// What each pool of a framework's allocator holds: the default pools together, and each private one
// (of CUDA graphs, or of the program's choice, torch.cuda.MemPool) by itself. What a private pool
// has serves nothing else.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/fragmentation/fragmentation.h"
#include "analysis/store/session.h"

namespace memprof::analysis {

struct PoolUse {
  int device = 0;
  std::uint64_t pool = 0;  // Allocation::pool; 0 = the default pools
  // Where the program made the pool, as far as the log has that, else its first segment; none for
  // the default pools.
  EventId made;
  std::uint64_t reserved_bytes = 0, allocated_bytes = 0;  // at the report's instant
  // Over the run, each at its own instant.
  std::uint64_t peak_reserved_bytes = 0, peak_allocated_bytes = 0;
  std::uint64_t unused_bytes() const { return reserved_bytes - allocated_bytes; }
};

// The pools of the report's devices, the default ones first, then those with most reserved. Empty
// if no device has private pools. O(records), and O(events) with private pools.
std::vector<PoolUse> PoolUses(const Session& session, const FragmentationReport& report);

}  // namespace memprof::analysis
