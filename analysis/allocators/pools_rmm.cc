// RMM's bins and arenas, which are made of more than one heap.
#include <algorithm>
#include <utility>

#include "analysis/allocators/pools.h"

namespace memprof::analysis::allocators {
namespace {

constexpr std::uint64_t kMinBin = std::uint64_t{256} << 10;
constexpr std::uint64_t kSuperblock = std::uint64_t{1} << 20;
constexpr std::uint64_t kArenaAddresses = kMaxRequest * 4;
constexpr int kBlocksOfABin = 128;

}  // namespace

Place RmmBins::PlaceOf(Handle handle) const {
  return {blocks_[handle].address, blocks_[handle].bytes};
}

Handle RmmBins::NewBlock(std::uint64_t address, std::uint64_t bytes, int bin) {
  if (unused_.empty()) {
    blocks_.emplace_back();
    unused_.push_back(static_cast<Handle>(blocks_.size() - 1));
  }
  const Handle handle = unused_.back();
  unused_.pop_back();
  blocks_[handle] = {.address = address, .bytes = bytes, .requested = 0, .bin = bin};
  return handle;
}

bool RmmBins::Refill(int bin) {
  const std::uint64_t block = kMinBin << bin;
  const std::uint64_t address = device_->Take(block * kBlocksOfABin);
  if (address == 0) return false;
  NoteReserved(block * kBlocksOfABin, 1);
  // The lowest block is used first.
  for (int i = kBlocksOfABin - 1; i >= 0; --i) {
    free_[static_cast<std::size_t>(bin)].push_back(
        NewBlock(address + static_cast<std::uint64_t>(i) * block, block, bin));
  }
  return true;
}

Handle RmmBins::DoAllocate(std::uint64_t bytes, StreamNumber) {
  int bin = 0;
  while (bin < kBins && bytes > kMinBin << bin) ++bin;
  Handle handle = kNoHandle;
  if (bin == kBins) {
    const std::uint64_t size = RoundUp(bytes, kPage);
    const std::uint64_t address = device_->Take(size);
    if (address == 0) return kNoHandle;
    NoteReserved(size, 1);
    handle = NewBlock(address, size, kBins);
  } else {
    auto& free = free_[static_cast<std::size_t>(bin)];
    if (free.empty() && !Refill(bin)) return kNoHandle;
    handle = free.back();
    free.pop_back();
  }
  Block& block = blocks_[handle];
  block.in_use = true;
  block.requested = bytes;
  figures_.allocated += block.bytes;
  return handle;
}

std::uint64_t RmmBins::DoFree(Handle handle) {
  Block& block = blocks_[handle];
  block.in_use = false;
  figures_.allocated -= block.bytes;
  if (block.bin < kBins) {
    free_[static_cast<std::size_t>(block.bin)].push_back(handle);
  } else {
    device_->Give(block.bytes);
    NoteReleased(block.bytes, 1);
    unused_.push_back(handle);
  }
  return block.requested;
}

std::string RmmBins::Inconsistency() const {
  std::uint64_t in_use = 0, cached = 0, own = 0;
  for (const Block& block : blocks_) {
    if (!block.in_use) continue;
    in_use += block.bytes;
    if (block.bin == kBins) own += block.bytes;
    if (block.requested > block.bytes) return "a block is too small";
  }
  std::uint64_t binned = in_use - own;
  for (int bin = 0; bin < kBins; ++bin) {
    for (const Handle handle : free_[static_cast<std::size_t>(bin)]) {
      if (blocks_[handle].in_use || blocks_[handle].bin != bin) return "a bin is wrong";
      cached += blocks_[handle].bytes;
    }
  }
  binned += cached;
  if (in_use != figures_.allocated) return "allocated bytes are wrong";
  if (binned + own != figures_.reserved) return "reserved bytes are wrong";
  return "";
}

RmmArenas::RmmArenas(Device* device) : Allocator(device), shared_(Heap::Fit::kFirst) {
  base_ = device->ReserveAddresses(kArenaAddresses);
  shared_.AddRegion(base_, kArenaAddresses);
}

Place RmmArenas::PlaceOf(Handle handle) const {
  const Heap::Block& block = HeapOf(live_[handle]).block(live_[handle].block);
  return {block.address, block.bytes};
}

// A block of the shared range, which becomes longer if need be.
Heap::BlockNumber RmmArenas::TakeShared(std::uint64_t size) {
  const Heap::BlockNumber number = shared_.Take(size);
  if (number == Heap::kNone) return number;
  shared_.Shrink(number, size);
  const std::uint64_t end = shared_.block(number).address + size - base_;
  const std::uint64_t needed = RoundUp(end, kPage);
  if (needed > figures_.reserved) {
    const std::uint64_t more = needed - figures_.reserved;
    // The range is one piece of memory, whatever its length.
    if (!device_->Commit(more, figures_.segments == 0 ? 1 : 0)) {
      shared_.Free(number);
      return Heap::kNone;
    }
    NoteReserved(more, figures_.segments == 0 ? 1 : 0);
  }
  return number;
}

Handle RmmArenas::DoAllocate(std::uint64_t bytes, StreamNumber stream) {
  const std::uint64_t size = RoundUp(bytes, 256);
  if (arenas_.size() <= stream) arenas_.resize(std::size_t{stream} + 1, Heap(Heap::Fit::kFirst));
  Live live = {
      .stream = size > kSuperblock ? kShared : stream, .block = Heap::kNone, .in_use = true};
  for (int attempt = 0; attempt < 2 && live.block == Heap::kNone; ++attempt) {
    if (attempt == 1) {
      ++figures_.retries;
      ReturnSuperblocks();
    }
    if (live.stream == kShared) {
      live.block = TakeShared(size);
      continue;
    }
    Heap& arena = arenas_[stream];
    live.block = arena.Take(size);
    if (live.block == Heap::kNone) {
      const Heap::BlockNumber superblock = TakeShared(kSuperblock);
      if (superblock == Heap::kNone) continue;
      const std::uint64_t address = shared_.block(superblock).address;
      superblocks_[address] = superblock;
      arena.AddRegion(address, kSuperblock);
      live.block = arena.Take(size);
    }
    arena.Shrink(live.block, size);
  }
  if (live.block == Heap::kNone) return kNoHandle;
  HeapOf(live).SetRequested(live.block, bytes);
  figures_.allocated += HeapOf(live).block(live.block).bytes;
  if (unused_.empty()) {
    live_.emplace_back();
    unused_.push_back(static_cast<Handle>(live_.size() - 1));
  }
  const Handle handle = unused_.back();
  unused_.pop_back();
  live_[handle] = live;
  return handle;
}

std::uint64_t RmmArenas::DoFree(Handle handle) {
  Live& live = live_[handle];
  Heap& heap = HeapOf(live);
  const std::uint64_t requested = heap.block(live.block).requested;
  figures_.allocated -= heap.block(live.block).bytes;
  if (heap.IsRegion(heap.Free(live.block)) && live.stream != kShared) idle_.insert(live.stream);
  live.in_use = false;
  unused_.push_back(handle);
  return requested;
}

// Superblocks without anything in use go from the arenas to the shared range.
void RmmArenas::ReturnSuperblocks() {
  for (const StreamNumber stream : std::exchange(idle_, {})) {
    Heap& arena = arenas_[stream];
    for (const Heap::BlockNumber region : arena.FreeRegions()) {
      const auto found = superblocks_.find(arena.block(region).address);
      arena.RemoveRegion(region);
      shared_.Free(found->second);
      superblocks_.erase(found);
    }
  }
}

std::string RmmArenas::Inconsistency() const {
  std::uint64_t in_use = 0;
  for (const Live& live : live_) {
    if (!live.in_use) continue;
    const Heap::Block& block = HeapOf(live).block(live.block);
    if (!block.in_use || block.requested > block.bytes) return "a block is wrong";
    if (block.address + block.bytes > base_ + figures_.reserved) return "beyond what is reserved";
    in_use += block.bytes;
  }
  if (in_use != figures_.allocated) return "allocated bytes are wrong";
  std::uint64_t superblocks = 0;
  for (const Heap& arena : arenas_) {
    superblocks += arena.regions();
    if (std::string wrong = arena.Inconsistency(); !wrong.empty()) return wrong;
  }
  if (superblocks != superblocks_.size()) return "the number of superblocks is wrong";
  return shared_.Inconsistency();
}

}  // namespace memprof::analysis::allocators
