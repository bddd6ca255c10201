// Estimates what a program requested from PyTorch's allocator, if the log has only the sizes of
// blocks.
//
// A block is as large as its request, rounded to 512 bytes, with one exception: in the large pool,
// a free block of which at most 1 MiB would remain is used whole (CachingAllocator). Other
// allocators do not round this way. The request of such a block is bounded from both sides: it is
// at most the size of the block, less than 1 MiB smaller, and larger than the next smaller free
// block, which would have been used otherwise. Within these bounds, the estimate is the size of
// blocks with the same stack that were split exactly, or the middle.
//
// Within its bounds, every size gives the same behaviour of the recorded allocator.
#pragma once

#include "analysis/allocators/caching.h"
#include "analysis/allocators/recorded.h"

namespace memprof::analysis::allocators {

// Writes estimated sizes to the trace of `run`, which was recorded with `options` and has the
// events of its requests. Does nothing if the log has the requested sizes, or if the blocks do not
// lie as this allocator would place them. Returns the number of estimates. O(events log live).
std::uint64_t EstimateRequests(const Session& session, const CachingOptions& options,
                               RecordedRun* run);

}  // namespace memprof::analysis::allocators
