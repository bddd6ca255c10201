// Estimates what a program requested from PyTorch's allocator, if the log has only the sizes of
// blocks.
//
// The range of a block that was used whole is known (analysis/allocators/asked.h). Within it, the
// estimate is the size of blocks with the same stack that were split exactly, or the middle; every
// size gives the same behaviour of the recorded allocator.
#pragma once

#include "analysis/allocators/recorded.h"
#include "analysis/allocators/spec.h"

namespace memprof::analysis::allocators {

// Writes estimated sizes to the trace of `run`, which was recorded with `spec`, PyTorch's
// allocator, and has the events of its requests. Does nothing if the log has the requested sizes.
// Returns the number of estimates. O(events log live).
std::uint64_t EstimateRequests(const Session& session, const AllocatorSpec& spec, RecordedRun* run);

}  // namespace memprof::analysis::allocators
