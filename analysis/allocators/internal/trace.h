// What a program asked of its allocator, in order: what simulated allocators are fed with.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analysis/allocators/allocator.h"
#include "analysis/allocators/internal/trace_events.h"

namespace memprof::analysis::allocators {

struct TraceBlock {
  std::uint64_t bytes = 0;  // asked for, > 0
  StreamNumber stream = 0;
};

struct TraceRange {
  std::uint64_t bytes = 0;
  std::uint64_t address = 0;
};

// Requests of one device. Every block is allocated once, and freed at most once, afterwards.
struct Trace {
  TraceEvents events;
  std::vector<TraceBlock> blocks;
  // Segments that the recorded allocator gave back by itself: because it was out of memory.
  std::vector<TraceRange> releases;
  // Segments that were there when the trace began, with rows of `blocks`.
  struct Held {
    HeldSegment segment;
    std::vector<std::uint32_t> blocks;
  };
  std::vector<Held> held;
  std::vector<std::uint64_t> outside;  // bytes of other memory on the device, from there on
  TraceRows rows;                      // of the log's events, by event; empty = not asked for

  // For traces made by hand.
  std::uint32_t Allocate(std::uint64_t bytes, StreamNumber stream = 0) {
    blocks.push_back({bytes, stream});
    const auto number = static_cast<std::uint32_t>(blocks.size() - 1);
    events.push_back({TraceOp::kAllocate, number});
    return number;
  }
  void Free(std::uint32_t block) { events.push_back({TraceOp::kFree, block}); }
};

struct TraceReplayOptions {
  // As it was recorded: also give back what the recorded allocator gave back by itself
  // (TraceOp::kReleaseSegment), and leave out requests that it could not serve (TraceOp::kTry).
  // Otherwise such a request is made, and given back at once. Segments that were there at the
  // beginning are taken over as they were (TraceOp::kHeld), where the allocator can.
  bool as_recorded = false;
  std::vector<std::uint64_t>* samples = nullptr;  // gets the reserved bytes at each kSample
  // Called after every kReplayTick events and at the end, with how many these were; false = leave
  // out the rest.
  std::function<bool(std::size_t events)> tick;
  // Called with the trace's event and the bytes reserved since, whenever these have changed.
  std::function<void(std::size_t event, std::uint64_t reserved)> reserved;
};
inline constexpr std::size_t kReplayTick = 4096;

// Feeds `trace` to `allocator`, whose figures then tell the outcome. What could not be allocated is
// left out, and all else goes on.
void Replay(const Trace& trace, Allocator* allocator, Device* device,
            const TraceReplayOptions& options = {});

// Largest sum of requested bytes alive at a time: no allocator can do with less.
std::uint64_t MaxLive(const Trace& trace);

}  // namespace memprof::analysis::allocators
