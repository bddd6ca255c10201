// What a snapshot does not say outright: the allocator's state when its trace began, and how large
// the blocks were that came and went.
//
// A snapshot ends with the state; the trace says what led there. Taking the trace back, action by
// action, gives the state at its beginning. A trace says what was asked for, not what a block took;
// that is known of blocks that are there at the end, and follows for others from the hole that
// each was cut from and PyTorch's rules of rounding and splitting (method in docs/interchange.md).
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analysis/interchange/internal/torch_snapshot.h"

namespace memprof::analysis::torch {

// What a block of `bytes` takes, by the allocator's rounding.
std::uint64_t RoundedSize(std::uint64_t bytes, const Settings& settings);
// Whether a hole of `hole` bytes is split when `rounded` are taken of it; else the block takes all.
bool Splits(std::uint64_t rounded, std::uint64_t hole, bool expandable, const Settings& settings);

// Ranges of reserved memory. Those of expandable segments grow and shrink by pages.
class Reserved {
 public:
  void Add(const Segment& segment);
  // Takes [address, +bytes) away; false if not all of it was there.
  bool Remove(std::uint64_t address, std::uint64_t bytes);
  const Segment* At(std::uint64_t address) const;  // that holds the address; null if none
  // Where the contiguous memory ends that one block could take from `address` on.
  std::uint64_t EndOfRun(std::uint64_t address) const;
  std::uint64_t bytes() const { return bytes_; }
  const std::map<std::uint64_t, Segment>& ranges() const { return ranges_; }

 private:
  std::map<std::uint64_t, Segment> ranges_;
  std::uint64_t bytes_ = 0;
};

struct Reconstruction {
  // When the trace began. Blocks of which only the end is known have frames of kind None.
  std::vector<Segment> segments;
  std::vector<Block> blocks;
  // By index of the trace: what the block of an alloc took; what was allocated and reserved at an
  // oom is in `allocated` and `reserved`, in order of their entries.
  std::vector<std::uint64_t> block_bytes;
  std::vector<std::uint64_t> allocated, reserved;
  // What the end has and the trace did not bring, and the other way round: the trace had ended
  // before the snapshot, or actions are missing.
  std::vector<Segment> late_segments, gone_segments;
  std::vector<Block> late_blocks, gone_blocks;
  std::uint64_t contradictions = 0;
};

Reconstruction Reconstruct(const Device& device, const Settings& settings);

}  // namespace memprof::analysis::torch
