// The interface of all simulated allocators: requests go in, figures come out.
//
// A simulated allocator makes the decisions of the real one, but owns no memory. Its Device counts
// what it takes and releases. Not thread-safe; simulations of one trace run in parallel, each with
// its own allocator and device.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/allocators/device.h"

namespace memprof::analysis::allocators {

// Identifies a live allocation; may be reused after it is freed.
using Handle = std::uint32_t;
inline constexpr Handle kNoHandle = ~Handle{0};
// Streams are numbered from 0 by the caller.
using StreamNumber = std::uint32_t;

// Figures so far, in bytes unless stated otherwise.
struct Figures {
  std::uint64_t reserved = 0;   // taken from the device
  std::uint64_t allocated = 0;  // of live allocations, as rounded
  std::uint64_t requested = 0;  // of live allocations, before rounding
  std::uint64_t segments = 0;   // pieces in which it was taken (number)

  std::uint64_t peak_reserved = 0, peak_allocated = 0, peak_requested = 0, peak_segments = 0;
  // The largest values while reserved memory was at its peak.
  std::uint64_t allocated_at_peak = 0, requested_at_peak = 0;
  std::uint64_t allocations = 0;    // number of requests served
  std::uint64_t failures = 0;       // number of requests refused: out of memory
  std::uint64_t failed_bytes = 0;   // of the first of them
  std::uint64_t failed_number = 0;  // requests before the first of them (number)
  std::uint64_t retries = 0;        // number of requests that had to wait for memory to be released

  // The share of the peak of reserved memory that was never allocated meanwhile, in [0, 1].
  double fragmentation() const {
    if (peak_reserved == 0) return 0;
    return 1 - static_cast<double>(allocated_at_peak) / static_cast<double>(peak_reserved);
  }

  // To be called after every request.
  void NotePeaks() {
    peak_allocated = std::max(peak_allocated, allocated);
    peak_requested = std::max(peak_requested, requested);
    peak_segments = std::max(peak_segments, segments);
    if (reserved < peak_reserved) return;
    if (reserved > peak_reserved) allocated_at_peak = requested_at_peak = 0;
    peak_reserved = reserved;
    allocated_at_peak = std::max(allocated_at_peak, allocated);
    requested_at_peak = std::max(requested_at_peak, requested);
  }
};

// A segment that existed before the first request, with its blocks.
struct HeldBlock {
  std::uint64_t offset = 0, bytes = 0;  // in the segment, as rounded
  std::uint64_t requested = 0;
};
struct HeldSegment {
  std::uint64_t bytes = 0;
  StreamNumber stream = 0;
  std::vector<HeldBlock> blocks;  // by offset
};

// The location of a live allocation.
struct Place {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;  // as rounded
};

class Allocator {
 public:
  // `device` outlives the allocator.
  explicit Allocator(Device* device) : device_(device) {}
  virtual ~Allocator() = default;
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  // Allocates `bytes` > 0 for use on `stream`. kNoHandle when out of memory, which the figures
  // count.
  Handle Allocate(std::uint64_t bytes, StreamNumber stream) {
    Handle handle = kNoHandle;
    if (bytes <= kMaxRequest) handle = DoAllocate(bytes, stream);
    if (handle == kNoHandle) {
      if (figures_.failures++ == 0) {
        figures_.failed_bytes = bytes;
        figures_.failed_number = figures_.allocations;
      }
      return handle;
    }
    ++figures_.allocations;
    figures_.requested += bytes;
    figures_.NotePeaks();
    return handle;
  }
  // `handle` is live. The free takes effect in the order of the stream that it was allocated for.
  void Free(Handle handle) { figures_.requested -= DoFree(handle); }

  // Adds an existing segment, before any request; `handles` gets those of its blocks. False, and
  // nothing happens, if the allocator has no such function, or the blocks do not fit.
  bool Adopt(const HeldSegment& segment, std::vector<Handle>* handles) {
    std::uint64_t end = 0;
    for (const HeldBlock& block : segment.blocks) {
      if (block.bytes == 0 || block.offset < end || block.offset > segment.bytes ||
          block.bytes > segment.bytes - block.offset)
        return false;
      end = block.offset + block.bytes;
    }
    if (segment.bytes > kMaxRequest || !DoAdopt(segment, handles)) return false;
    figures_.allocations += segment.blocks.size();
    for (const HeldBlock& block : segment.blocks) figures_.requested += block.requested;
    figures_.NotePeaks();
    return true;
  }

  // Of equally large free blocks that of the oldest segment is taken, not the lowest one. Before
  // any request.
  virtual void PreferOldestSegments() {}
  // The next request gets new memory from the device, not a free block.
  virtual void GrowNext() {}
  // Requests on this stream come from a private pool: of a CUDA graph, or of the program's choice
  // (torch.cuda.MemPool). Before any request.
  virtual void SetPrivate(StreamNumber /*stream*/) {}
  // The program releases cached memory (torch.cuda.empty_cache, cudaMemPoolTrimTo), except that of
  // private pools.
  virtual void EmptyCache() {}
  // The owner of a private pool has gone: cached memory of this stream of it is released.
  virtual void EmptyPrivate(StreamNumber /*stream*/) {}
  // The program waits for the device: from now on all freed memory can be used on all streams.
  virtual void Synchronize() {}
  // The recorded allocator released one cached segment, of `bytes` bytes; at `address`, if there is
  // one. False when there is no such segment.
  virtual bool ReleaseSegment(std::uint64_t /*bytes*/, std::uint64_t /*address*/) { return false; }

  // The location of a live allocation.
  virtual Place PlaceOf(Handle handle) const = 0;
  // Checks all state (slow); "" if it is consistent, else what is wrong.
  virtual std::string Inconsistency() const = 0;

  const Figures& figures() const { return figures_; }
  const Device& device() const { return *device_; }

 protected:
  virtual Handle DoAllocate(std::uint64_t bytes, StreamNumber stream) = 0;
  virtual bool DoAdopt(const HeldSegment& /*segment*/, std::vector<Handle>* /*handles*/) {
    return false;
  }
  // Returns the requested bytes.
  virtual std::uint64_t DoFree(Handle handle) = 0;

  void NoteReserved(std::uint64_t bytes, std::uint64_t segments) {
    figures_.reserved += bytes;
    figures_.segments += segments;
  }
  void NoteReleased(std::uint64_t bytes, std::uint64_t segments) {
    figures_.reserved -= bytes;
    figures_.segments -= segments;
  }
  Device* device_;
  Figures figures_;
};

}  // namespace memprof::analysis::allocators
