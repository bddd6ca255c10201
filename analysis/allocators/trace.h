// The requests of a program in order: the input of simulated allocators.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analysis/allocators/allocator.h"
#include "analysis/allocators/trace_events.h"

namespace memprof::analysis::allocators {

struct TraceBlock {
  std::uint64_t bytes = 0;  // requested, > 0
  StreamNumber stream = 0;
  bool whole = false;  // the log has only the block that was given, which may be larger
  // The recorded allocator found the device full, released what it could, and then took new memory.
  bool grown = false;
};

struct TraceRange {
  std::uint64_t bytes = 0;
  std::uint64_t address = 0;
};

// Requests of one device. Every block is allocated once, and freed at most once after that.
struct Trace {
  TraceEvents events;
  std::vector<TraceBlock> blocks;
  // Segments that the recorded allocator released because it was out of memory.
  std::vector<TraceRange> releases;
  // Segments that existed when the trace began, with rows of `blocks`.
  struct Held {
    HeldSegment segment;
    std::vector<std::uint32_t> blocks;
  };
  std::vector<Held> held;
  bool oldest_first = false;                  // Allocator::PreferOldestSegments
  std::vector<StreamNumber> private_streams;  // those of private pools
  std::vector<std::uint64_t> outside;         // bytes of other memory on the device, from there on
  TraceRows rows;  // of the log's events, by event; empty = not requested

  // For traces written by hand.
  std::uint32_t Allocate(std::uint64_t bytes, StreamNumber stream = 0) {
    blocks.push_back({bytes, stream, false});
    const auto number = static_cast<std::uint32_t>(blocks.size() - 1);
    events.push_back({TraceOp::kAllocate, number});
    return number;
  }
  void Free(std::uint32_t block) { events.push_back({TraceOp::kFree, block}); }
};

struct TraceReplayOptions {
  // Repeats the recording exactly: also the releases of the recorded allocator
  // (TraceOp::kReleaseSegment), and without the requests that it could not serve (TraceOp::kTry).
  // Otherwise such a request is made and freed at once. Segments that existed at the beginning are
  // added as they were (TraceOp::kHeld), if the allocator can.
  bool as_recorded = false;
  std::vector<std::uint64_t>* samples = nullptr;  // gets the reserved bytes at each kSample
  // Called after every kReplayTick events and at the end, with their number; false = skip the rest.
  std::function<bool(std::size_t events)> tick;
  // Called with each block that was served, which is still the last one that was.
  std::function<void(std::uint32_t block, Handle handle)> served;
  // Called when the reserved bytes have changed, with the event of the trace since which they hold.
  std::function<void(std::size_t event, std::uint64_t reserved)> reserved;
};
inline constexpr std::size_t kReplayTick = 4096;

// Runs `trace` on `allocator`, whose figures are then the result. A failed allocation is skipped.
void Replay(const Trace& trace, Allocator* allocator, Device* device,
            const TraceReplayOptions& options = {});

// The largest sum of requested bytes alive at one time: a lower bound for every allocator.
std::uint64_t MaxLive(const Trace& trace);

}  // namespace memprof::analysis::allocators
