// Feeds requests to simulated allocators.
#include "analysis/allocators/trace.h"

#include <algorithm>

namespace memprof::analysis::allocators {

namespace {

// Feeds one event after the other.
class Feeder {
 public:
  Feeder(const Trace& trace, Allocator* allocator, Device* device,
         const TraceReplayOptions& options)
      : trace_(trace),
        allocator_(*allocator),
        device_(*device),
        options_(options),
        handles_(trace.blocks.size(), kNoHandle) {
    if (trace.oldest_first) allocator_.PreferOldestSegments();
    for (const StreamNumber stream : trace.private_streams) allocator_.SetPrivate(stream);
  }

  void Feed(const TraceEvent& event) {
    switch (event.op) {
      case TraceOp::kAllocate: {
        if (handles_[event.number] != kNoHandle) break;  // it was there
        const TraceBlock& block = trace_.blocks[event.number];
        if (block.grown && options_.as_recorded) allocator_.GrowNext();
        const Handle handle = allocator_.Allocate(block.bytes, block.stream);
        handles_[event.number] = handle;
        if (options_.served && handle != kNoHandle) options_.served(event.number, handle);
        break;
      }
      case TraceOp::kFree:
        if (handles_[event.number] != kNoHandle) allocator_.Free(handles_[event.number]);
        break;
      case TraceOp::kEmptyCache:
        if (event.number == 0)
          allocator_.EmptyCache();
        else
          allocator_.EmptyPrivate(event.number - 1);
        break;
      case TraceOp::kSynchronize:
        allocator_.Synchronize();
        break;
      case TraceOp::kReleaseSegment: {
        if (!options_.as_recorded) break;
        const TraceRange& range = trace_.releases[event.number];
        allocator_.ReleaseSegment(range.bytes, range.address);
        break;
      }
      case TraceOp::kOutside:
        device_.SetOutside(trace_.outside[event.number]);
        break;
      case TraceOp::kTry: {
        if (options_.as_recorded) break;
        const TraceBlock& block = trace_.blocks[event.number];
        const Handle handle = allocator_.Allocate(block.bytes, block.stream);
        if (handle != kNoHandle) allocator_.Free(handle);
        break;
      }
      case TraceOp::kHeld:
        TakeOver(trace_.held[event.number]);
        break;
      case TraceOp::kSample:
        if (options_.samples != nullptr) options_.samples->push_back(allocator_.figures().reserved);
        break;
    }
  }

 private:
  void TakeOver(const Trace::Held& held) {
    if (!options_.as_recorded) return;
    std::vector<Handle> adopted;
    if (!allocator_.Adopt(held.segment, &adopted)) return;
    for (std::size_t i = 0; i < adopted.size(); ++i) handles_[held.blocks[i]] = adopted[i];
  }

  const Trace& trace_;
  Allocator& allocator_;
  Device& device_;
  const TraceReplayOptions& options_;
  std::vector<Handle> handles_;
};

}  // namespace

void Replay(const Trace& trace, Allocator* allocator, Device* device,
            const TraceReplayOptions& options) {
  Feeder feeder(trace, allocator, device, options);
  std::uint64_t reserved = 0;
  std::size_t reported = 0;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    if (options.tick && i - reported == kReplayTick) {
      if (!options.tick(i - reported)) return;
      reported = i;
    }
    feeder.Feed(trace.events[i]);
    if (options.reserved && allocator->figures().reserved != reserved) {
      reserved = allocator->figures().reserved;
      options.reserved(i, reserved);
    }
  }
  if (options.tick) options.tick(trace.events.size() - reported);
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
