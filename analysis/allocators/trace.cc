// Feeds requests to simulated allocators.
#include "analysis/allocators/trace.h"

#include <algorithm>

namespace memprof::analysis::allocators {

void Replay(const Trace& trace, Allocator* allocator, Device* device,
            const TraceReplayOptions& options) {
  std::vector<Handle> handles(trace.blocks.size(), kNoHandle);
  for (const TraceEvent& event : trace.events) {
    switch (event.op) {
      case TraceOp::kAllocate: {
        const TraceBlock& block = trace.blocks[event.number];
        handles[event.number] = allocator->Allocate(block.bytes, block.stream);
        break;
      }
      case TraceOp::kFree:
        if (handles[event.number] != kNoHandle) allocator->Free(handles[event.number]);
        break;
      case TraceOp::kEmptyCache:
        allocator->EmptyCache();
        break;
      case TraceOp::kSynchronize:
        allocator->Synchronize();
        break;
      case TraceOp::kReleaseSegment: {
        if (!options.as_recorded) break;
        const TraceRange& range = trace.releases[event.number];
        allocator->ReleaseSegment(range.bytes, range.address);
        break;
      }
      case TraceOp::kOutside:
        device->SetOutside(trace.outside[event.number]);
        break;
      case TraceOp::kTry: {
        if (options.as_recorded) break;
        const TraceBlock& block = trace.blocks[event.number];
        const Handle handle = allocator->Allocate(block.bytes, block.stream);
        if (handle != kNoHandle) allocator->Free(handle);
        break;
      }
      case TraceOp::kSample:
        if (options.samples != nullptr) options.samples->push_back(allocator->figures().reserved);
        break;
    }
  }
}

std::uint64_t MaxLive(const Trace& trace) {
  std::uint64_t live = 0, most = 0;
  for (const TraceEvent& event : trace.events) {
    if (event.op == TraceOp::kAllocate) {
      live += trace.blocks[event.number].bytes;
      most = std::max(most, live);
    } else if (event.op == TraceOp::kFree) {
      live -= trace.blocks[event.number].bytes;
    }
  }
  return most;
}

}  // namespace memprof::analysis::allocators
