// What may have been requested, where a log has only the block that was given.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/allocators/recorded.h"
#include "analysis/allocators/spec.h"

namespace memprof::analysis::allocators {

// A range of bytes, both ends inclusive.
struct AskedBytes {
  std::uint64_t least = 0, most = 0;
};

// For each block of the run's trace what may have been requested. PyTorch's allocator rounds up to
// 512 bytes, and gives a block with up to 1 MiB more where the rest is not worth a split: the
// replay shows which blocks these are. Any size of the range gives the same block. For other
// allocators, and where the log has the request, its bytes. O(events log live).
std::vector<AskedBytes> RequestedBytes(const RecordedRun& run, const AllocatorSpec& spec);

}  // namespace memprof::analysis::allocators
