// What may have been requested, where a log has only the block that was given.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/allocators/spec.h"
#include "analysis/allocators/trace.h"
#include "analysis/footprint/internal/align.h"

namespace memprof::analysis {

// A range of bytes, both ends inclusive.
struct AskedBytes {
  std::uint64_t least = 0, most = 0;
};

// For each block of the trace what may have been requested. PyTorch's allocator rounds up to 512
// bytes, and gives a block with up to 1 MiB more where the rest is not worth a split: the replay
// shows which blocks these are. For other allocators, and where the log has the request, its bytes.
std::vector<AskedBytes> RequestedBytes(const allocators::Trace& trace,
                                       const allocators::AllocatorSpec& spec);

// Narrows the ranges of requests that are the same in several steps: of one site, the n-th in its
// step. Only where all of them agree.
std::vector<AskedBytes> NarrowBySteps(std::vector<AskedBytes> asked, const RequestKeys& keys);

}  // namespace memprof::analysis
