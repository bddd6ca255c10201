// Regions of addresses cut into blocks.
#include "analysis/allocators/internal/heap.h"

namespace memprof::analysis::allocators {

Heap::Key Heap::KeyOf(BlockNumber number) const {
  const Block& block = blocks_[number];
  if (fit_ == Fit::kBest) return {block.bytes, block.address, number};
  return {block.address, block.bytes, number};
}

Heap::BlockNumber Heap::NewBlock() {
  if (unused_.empty()) {
    blocks_.emplace_back();
    return static_cast<BlockNumber>(blocks_.size() - 1);
  }
  const BlockNumber number = unused_.back();
  unused_.pop_back();
  blocks_[number] = Block();
  return number;
}

void Heap::AddRegion(std::uint64_t address, std::uint64_t bytes) {
  const BlockNumber number = NewBlock();
  blocks_[number].address = address;
  blocks_[number].bytes = bytes;
  free_.insert(KeyOf(number));
  bytes_ += bytes;
  ++regions_;
}

Heap::BlockNumber Heap::Take(std::uint64_t bytes) {
  auto found = free_.end();
  if (fit_ == Fit::kBest) {
    found = free_.lower_bound({bytes, 0, kNone});
  } else {
    found = free_.begin();
    while (found != free_.end() && found->second < bytes) ++found;
  }
  if (found == free_.end()) return kNone;
  const BlockNumber number = found->block;
  free_.erase(found);
  blocks_[number].in_use = true;
  in_use_ += blocks_[number].bytes;
  return number;
}

void Heap::Shrink(BlockNumber number, std::uint64_t bytes) {
  const std::uint64_t rest = blocks_[number].bytes - bytes;
  if (rest == 0) return;
  const BlockNumber added = NewBlock();
  Block& block = blocks_[number];
  blocks_[added].address = block.address + bytes;
  blocks_[added].bytes = rest;
  blocks_[added].previous = number;
  blocks_[added].next = block.next;
  if (block.next != kNone) blocks_[block.next].previous = added;
  block.next = added;
  block.bytes = bytes;
  in_use_ -= rest;
  free_.insert(KeyOf(added));
}

Heap::BlockNumber Heap::Free(BlockNumber number) {
  Block& block = blocks_[number];
  in_use_ -= block.bytes;
  block.in_use = false;
  block.requested = 0;
  Swallow(number, block.previous);
  Swallow(number, block.next);
  free_.insert(KeyOf(number));
  return number;
}

void Heap::Swallow(BlockNumber number, BlockNumber neighbour) {
  if (neighbour == kNone || blocks_[neighbour].in_use) return;
  Block& block = blocks_[number];
  Block& other = blocks_[neighbour];
  free_.erase(KeyOf(neighbour));
  if (neighbour == block.previous) {
    block.address = other.address;
    block.previous = other.previous;
    if (block.previous != kNone) blocks_[block.previous].next = number;
  } else {
    block.next = other.next;
    if (block.next != kNone) blocks_[block.next].previous = number;
  }
  block.bytes += other.bytes;
  other.dead = true;
  unused_.push_back(neighbour);
}

void Heap::RemoveRegion(BlockNumber number) {
  free_.erase(KeyOf(number));
  bytes_ -= blocks_[number].bytes;
  --regions_;
  blocks_[number].dead = true;
  unused_.push_back(number);
}

std::vector<Heap::BlockNumber> Heap::FreeRegions() const {
  std::vector<BlockNumber> found;
  for (const Key& key : free_) {
    if (IsRegion(key.block)) found.push_back(key.block);
  }
  return found;
}

std::string Heap::Inconsistency() const {
  std::uint64_t bytes = 0, in_use = 0, regions = 0, listed = 0;
  for (BlockNumber number = 0; number < blocks_.size(); ++number) {
    const Block& block = blocks_[number];
    if (block.dead) continue;
    if (block.bytes == 0) return "an empty block";
    bytes += block.bytes;
    if (block.in_use) in_use += block.bytes;
    if (block.previous == kNone) ++regions;
    const auto at = free_.find(KeyOf(number));
    const bool is_listed = at != free_.end() && at->block == number;
    if (is_listed == block.in_use) return "the free list is wrong";
    listed += is_listed;
    if (block.next == kNone) continue;
    const Block& next = blocks_[block.next];
    if (next.dead || next.previous != number) return "neighbours are not linked";
    if (next.address != block.address + block.bytes) return "neighbours do not touch";
    if (!block.in_use && !next.in_use) return "not merged";
  }
  if (listed != free_.size()) return "the free list holds a block that is gone";
  if (bytes != bytes_ || regions != regions_ || in_use != in_use_) return "the sums are wrong";
  return "";
}

}  // namespace memprof::analysis::allocators
