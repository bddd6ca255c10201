// Reconstructs what a snapshot does not contain: the allocator's state when its trace began, and
// the sizes of blocks that were freed.
//
// A snapshot has the final state; the trace has the actions before it. Undoing the trace, action by
// action, gives the state at its beginning. A trace has the requested sizes, not those of the
// blocks. The block's size is known for blocks that still exist at the end; for others it follows
// from the hole that the block was cut from, and from PyTorch's rules of rounding and splitting
// (method in docs/interchange.md).
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analysis/interchange/internal/torch_snapshot.h"

namespace memprof::analysis::torch {

// The size of the block for a request of `bytes`, by the allocator's rounding.
std::uint64_t RoundedSize(std::uint64_t bytes, const Settings& settings);
// Whether a hole of `hole` bytes is split when `rounded` are taken from it; else the block gets all
// of it.
bool Splits(std::uint64_t rounded, std::uint64_t hole, bool expandable, const Settings& settings);

// Ranges of reserved memory. Those of expandable segments grow and shrink by pages.
class Reserved {
 public:
  void Add(const Segment& segment);
  // Removes [address, +bytes); false if not all of it was reserved.
  bool Remove(std::uint64_t address, std::uint64_t bytes);
  const Segment* At(std::uint64_t address) const;  // that holds the address; null if none
  // The end of the contiguous memory that one block could use from `address` on.
  std::uint64_t EndOfRun(std::uint64_t address) const;
  std::uint64_t bytes() const { return bytes_; }
  const std::map<std::uint64_t, Segment>& ranges() const { return ranges_; }

 private:
  std::map<std::uint64_t, Segment> ranges_;
  std::uint64_t bytes_ = 0;
};

struct Reconstruction {
  // The state when the trace began. Blocks of which only the free was seen have frames of kind
  // None.
  std::vector<Segment> segments;
  std::vector<Block> blocks;
  // By index of the trace: the size of the block of an alloc. What was allocated and reserved at
  // each oom is in `allocated` and `reserved`, in order of their entries.
  std::vector<std::uint64_t> block_bytes;
  std::vector<std::uint64_t> allocated, reserved;
  // Differences between the end of the trace and the final state: the trace ended before the
  // snapshot, or actions are missing.
  std::vector<Segment> late_segments, gone_segments;
  std::vector<Block> late_blocks, gone_blocks;
  std::uint64_t contradictions = 0;
};

Reconstruction Reconstruct(const Device& device, const Settings& settings);

}  // namespace memprof::analysis::torch
