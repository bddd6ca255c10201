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
        if (handles[event.number] != kNoHandle) break;  // it was there
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
      case TraceOp::kHeld: {
        if (!options.as_recorded) break;
        const Trace::Held& held = trace.held[event.number];
        std::vector<Handle> adopted;
        if (!allocator->Adopt(held.segment, &adopted)) break;
        for (std::size_t i = 0; i < adopted.size(); ++i) handles[held.blocks[i]] = adopted[i];
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
