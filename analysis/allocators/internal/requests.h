// What a program asked PyTorch's allocator for, where the log has the sizes of blocks alone.
//
// A block is as large as its request, rounded to 512 bytes, but for one case: in the large pool a
// free block of which at most 1 MiB would be left is handed out whole (CachingAllocator). Other
// allocators would not round so. The request behind such a block is bounded from both sides: it is
// at most as large as the block, less than 1 MiB smaller, and larger than the next smaller free
// block, which would have been taken else. Of what the bounds leave, that size is taken which
// blocks with the same stack have where they were cut to measure, or the middle.
//
// Within its bounds, every size gives the same behaviour of the recorded allocator.
#pragma once

#include "analysis/allocators/caching.h"
#include "analysis/allocators/recorded.h"

namespace memprof::analysis::allocators {

// Puts estimated sizes into the trace of `run`, which was recorded with `options` and knows the
// events of its requests. Does nothing where the log has the requested sizes, and where blocks do
// not lie as this allocator lays them. Answers how many were estimated. O(events log live).
std::uint64_t EstimateRequests(const Session& session, const CachingOptions& options,
                               RecordedRun* run);

}  // namespace memprof::analysis::allocators
