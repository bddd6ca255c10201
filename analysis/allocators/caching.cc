// PyTorch's caching allocator: blocks, segments, and their release to the device.
#include "analysis/allocators/caching.h"

#include <bit>
#include <utility>

#include "analysis/base/sizes.h"

namespace memprof::analysis::allocators {
namespace {

constexpr std::uint64_t kRounding = 512;
constexpr std::uint64_t kSmallLimit = 1 * kMiB;
constexpr std::uint64_t kLargeSegment = 20 * kMiB;
constexpr std::uint64_t kOwnSegmentFrom = 10 * kMiB;
constexpr std::uint64_t kSegmentRounding = 2 * kMiB;

// Up to the next of `parts` equal steps between two powers of two.
std::uint64_t RoundToPart(std::uint64_t bytes, std::uint64_t parts) {
  const std::uint64_t floor = std::bit_floor(bytes);
  if (parts <= 1 || floor == bytes) return bytes;
  const std::uint64_t step = floor >> (std::bit_width(parts) - 1);
  if (step == 0) return floor << 1;
  return (bytes + step - 1) & ~(step - 1);
}

}  // namespace

std::uint64_t CachingRound(std::uint64_t bytes, const CachingOptions& options) {
  if (bytes < kRounding) return kRounding;
  const int doublings = std::bit_width(bytes) - std::bit_width(kMiB);
  const std::uint64_t parts =
      options.roundup_power2[static_cast<std::size_t>(std::clamp(doublings, 0, 15))];
  if (parts > 0 && bytes > kRounding * parts) return RoundToPart(bytes, parts);
  return RoundUp(bytes, kRounding);
}

std::uint64_t CachingSegmentBytes(std::uint64_t rounded) {
  if (rounded <= kSmallLimit) return kSmallSegmentBytes;
  if (rounded < kOwnSegmentFrom) return kLargeSegment;
  return RoundUp(rounded, kSegmentRounding);
}

std::uint64_t CachingAllocator::PageOf(std::uint32_t pool) const {
  return IsSmall(pool) ? kSmallSegmentBytes : kLargeSegment;
}

CachingAllocator::BlockNumber CachingAllocator::NewBlock() {
  if (unused_.empty()) {
    blocks_.emplace_back();
    return static_cast<BlockNumber>(blocks_.size() - 1);
  }
  const BlockNumber number = unused_.back();
  unused_.pop_back();
  blocks_[number] = Block();
  return number;
}

void CachingAllocator::DropBlock(BlockNumber number) {
  blocks_[number].dead = true;
  unused_.push_back(number);
}

template <typename Change>
void CachingAllocator::ChangeFree(BlockNumber number, Change change) {
  const Block& block = blocks_[number];
  change(pools_[block.pool].free, FreeKey(number));
  Cached& cached = cached_[IsPrivate(block.pool)];
  if (block.expandable) {
    change(cached.unmappable, number);
  } else if (IsWhole(block)) {
    change(cached.whole, AddressKey(number));
  }
}

void CachingAllocator::InsertFree(BlockNumber number) {
  blocks_[number].cached_at = searches_[blocks_[number].pool % 2];
  ChangeFree(number, [](auto& set, const auto& key) { set.insert(key); });
}

void CachingAllocator::EraseFree(BlockNumber number) {
  ChangeFree(number, [](auto& set, const auto& key) { set.erase(key); });
}

Handle CachingAllocator::DoAllocate(std::uint64_t bytes, StreamNumber stream) {
  const std::uint64_t size = CachingRound(bytes, options_);
  const std::uint32_t pool = 2 * stream + (size <= kSmallLimit ? 0 : 1);
  if (pool >= pools_.size()) pools_.resize(2 * std::size_t{stream} + 2);
  ++searches_[pool % 2];
  BlockNumber number = std::exchange(grow_next_, false) ? kNone : FindFree(size, pool);
  if (number == kNone) number = Grow(size, pool);
  if (number == kNone) return kNoHandle;
  if (ShouldSplit(blocks_[number], size)) Split(number, size);
  Block& block = blocks_[number];
  block.in_use = true;
  block.requested = bytes;
  figures_.allocated += block.bytes;
  return number;
}

// Segments of 2 MiB belong to the small pool; there is no other size of them.
bool CachingAllocator::DoAdopt(const HeldSegment& segment, std::vector<Handle>* handles) {
  if (options_.expandable || segment.bytes == 0) return false;
  const std::uint64_t address = device_->Take(segment.bytes);
  if (address == 0) return false;
  NoteReserved(segment.bytes, 1);
  const std::uint32_t pool = 2 * segment.stream + (segment.bytes <= kSmallSegmentBytes ? 0 : 1);
  if (pool >= pools_.size()) pools_.resize(2 * std::size_t{segment.stream} + 2);
  BlockNumber last = kNone;
  std::uint64_t cursor = 0;
  ++last_segment_;
  std::vector<BlockNumber> holes;
  const auto add = [&](std::uint64_t end) {
    const BlockNumber number = NewBlock();
    blocks_[number].address = address + cursor;
    blocks_[number].bytes = end - cursor;
    blocks_[number].pool = pool;
    blocks_[number].segment = last_segment_;
    if (last != kNone) LinkAfter(last, number);
    cursor = end;
    return last = number;
  };
  for (const HeldBlock& held : segment.blocks) {
    if (held.offset > cursor) holes.push_back(add(held.offset));
    Block& block = blocks_[add(held.offset + held.bytes)];
    block.in_use = true;
    block.requested = held.requested;
    figures_.allocated += block.bytes;
    handles->push_back(last);
  }
  if (cursor < segment.bytes) holes.push_back(add(segment.bytes));
  for (const BlockNumber hole : holes) InsertFree(hole);  // now that neighbours are known
  return true;
}

CachingAllocator::BlockNumber CachingAllocator::FindFree(std::uint64_t size, std::uint32_t pool) {
  auto& free = pools_[pool].free;
  auto found = free.lower_bound({.bytes = size});
  if (found == free.end()) return kNone;
  if (options_.expandable) {
    // A block that can still grow counts with its largest possible size, so that it is chosen last.
    const auto potential = [this](const Key& key) {
      const BlockNumber next = blocks_[key.block].next;
      return key.bytes + (next != kNone && !blocks_[next].mapped ? blocks_[next].bytes : 0);
    };
    for (auto next = std::next(found); next != free.end() && potential(*next) < potential(*found);
         ++next) {
      found = next;
    }
  }
  if (size < options_.max_split && found->bytes >= options_.max_split) return kNone;
  if (size >= options_.max_split && found->bytes >= size + options_.max_non_split_rounding) {
    return kNone;
  }
  const BlockNumber number = found->block;
  EraseFree(number);
  return number;
}

CachingAllocator::BlockNumber CachingAllocator::Grow(std::uint64_t size, std::uint32_t pool) {
  CollectGarbage();
  BlockNumber number = TakeSegment(size, pool);
  if (number != kNone) return number;
  ++figures_.retries;
  if (ReleaseOversize(size, pool)) number = TakeSegment(size, pool);
  if (number != kNone) return number;
  EmptyCache();
  return TakeSegment(size, pool);
}

CachingAllocator::BlockNumber CachingAllocator::TakeSegment(std::uint64_t size,
                                                            std::uint32_t pool) {
  const std::uint64_t bytes = CachingSegmentBytes(size);
  if (options_.limit != kUnlimited && figures_.reserved + bytes > options_.limit) return kNone;
  if (options_.expandable) return TakeExpandable(size, pool);
  const std::uint64_t address = device_->Take(bytes);
  if (address == 0) return kNone;
  NoteReserved(bytes, 1);
  const BlockNumber number = NewBlock();
  Block& block = blocks_[number];
  block.address = address;
  block.bytes = bytes;
  block.pool = pool;
  block.segment = ++last_segment_;
  return number;
}

bool CachingAllocator::ShouldSplit(const Block& block, std::uint64_t size) const {
  const std::uint64_t rest = block.bytes - size;
  if (IsSmall(block.pool) || options_.expandable) return rest >= kRounding;
  return size < options_.max_split && rest > kSmallLimit;
}

// Keeps the first `size` bytes; the rest becomes a free block after it.
void CachingAllocator::Split(BlockNumber number, std::uint64_t size) {
  const BlockNumber added = NewBlock();
  Block& block = blocks_[number];
  Block& rest = blocks_[added];
  rest.address = block.address + size;
  rest.bytes = block.bytes - size;
  rest.pool = block.pool;
  rest.expandable = block.expandable;
  rest.base = block.base;
  rest.segment = block.segment;
  block.bytes = size;
  LinkAfter(number, added);
  InsertFree(added);
}

void CachingAllocator::LinkAfter(BlockNumber number, BlockNumber added) {
  const BlockNumber after = blocks_[number].next;
  blocks_[added].previous = number;
  blocks_[added].next = after;
  blocks_[number].next = added;
  if (after != kNone) blocks_[after].previous = added;
}

std::uint64_t CachingAllocator::LeastRequest(Handle handle) const {
  const Block& block = blocks_[handle];
  std::uint64_t least = block.bytes;  // rounded
  // Free neighbours merge, so a free one behind it is its own rest.
  const bool split = block.next != kNone && !blocks_[block.next].in_use;
  if (!split && !IsSmall(block.pool) && !options_.expandable) {
    const bool oversize = block.bytes >= options_.max_split;
    const std::uint64_t rest = oversize ? options_.max_non_split_rounding - kRounding : kSmallLimit;
    least = std::max(kSmallLimit + kRounding, block.bytes - std::min(block.bytes, rest));
    if (oversize) least = std::max(least, options_.max_split);
    const bool fresh = block.cached_at == 0;  // a segment is at most so much larger
    if (fresh) least = std::max(least, block.bytes - kSegmentRounding + kRounding);
    const auto& free = pools_[block.pool].free;
    const auto larger = free.lower_bound({.bytes = block.bytes});
    if (larger != free.begin()) least = std::max(least, std::prev(larger)->bytes + kRounding);
  }
  return std::min(least, block.bytes) - kRounding + 1;
}

Place CachingAllocator::PlaceOf(Handle handle) const {
  return {blocks_[handle].address, blocks_[handle].bytes};
}

}  // namespace memprof::analysis::allocators
