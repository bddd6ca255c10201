// Expandable segments of the caching allocator: pages are mapped into ranges of addresses that are
// larger than the device. And the allocator's own consistency, for tests.
#include "analysis/allocators/caching.h"

namespace memprof::analysis::allocators {
namespace {

// Addresses of one expandable segment where the device's size is not known.
constexpr std::uint64_t kAddressesOfUnknownDevice = std::uint64_t{20} << 40;

}  // namespace

// Maps pages until there is a free block of at least `size` bytes, which is removed from its list.
CachingAllocator::BlockNumber CachingAllocator::TakeExpandable(std::uint64_t size,
                                                               std::uint32_t pool) {
  BlockNumber number = FindExpandable(size, pool);
  if (!blocks_[number].mapped && !Map(number, std::min(blocks_[number].bytes, size))) return kNone;
  while (blocks_[number].bytes < size) {
    const BlockNumber next = blocks_[number].next;
    const std::uint64_t missing = size - blocks_[number].bytes;
    // Once mapped, the next block merges with this one.
    if (!Map(next, std::min(missing, blocks_[next].bytes))) return kNone;
    number = next;
  }
  EraseFree(number);
  return number;
}

// The lowest run of free and unmapped blocks of at least `size` bytes; of a new segment if there is
// none.
CachingAllocator::BlockNumber CachingAllocator::FindExpandable(std::uint64_t size,
                                                               std::uint32_t pool) {
  for (const Key& key : pools_[pool].unmapped) {
    BlockNumber first = key.block;
    const BlockNumber before = blocks_[first].previous;
    if (before != kNone && !blocks_[before].in_use) first = before;
    if (HasRoom(first, size)) return first;
  }
  const std::uint64_t capacity = device_->capacity();
  const std::uint64_t usual =
      capacity >= kAddressesOfUnknownDevice ? kAddressesOfUnknownDevice : capacity + capacity / 8;
  const std::uint64_t page = PageOf(pool), least = RoundUp(size, page);
  const auto [address, bytes] = device_->ReserveRange(RoundUp(std::max(usual, size), page), least);
  const BlockNumber number = NewBlock();
  Block& block = blocks_[number];
  block.bytes = bytes / page * page;
  block.address = block.base = address;
  block.pool = pool;
  block.mapped = false;
  block.expandable = true;
  block.segment = ++last_segment_;
  pools_[pool].unmapped.insert(AddressKey(number));
  NoteReserved(0, 1);
  return number;
}

bool CachingAllocator::HasRoom(BlockNumber first, std::uint64_t size) const {
  std::uint64_t room = 0;
  for (BlockNumber at = first; at != kNone && room < size && !blocks_[at].in_use;
       at = blocks_[at].next) {
    room += blocks_[at].bytes;
  }
  return room >= size;
}

// Maps whole pages for the first `size` bytes of an unmapped block, which merges with its free
// neighbours. False when the device has too little.
bool CachingAllocator::Map(BlockNumber number, std::uint64_t size) {
  const std::uint32_t pool = blocks_[number].pool;
  const std::uint64_t page = PageOf(pool);
  const std::uint64_t bytes = RoundUp(size, page);
  // Each page is created and mapped; access is set once.
  if (!device_->Commit(bytes, 2 * (bytes / page) + 1)) return false;
  NoteReserved(bytes, 0);
  auto& unmapped = pools_[pool].unmapped;
  unmapped.erase(AddressKey(number));
  if (bytes < blocks_[number].bytes) {
    const BlockNumber added = NewBlock();
    Block& rest = blocks_[added];
    rest.address = blocks_[number].address + bytes;
    rest.bytes = blocks_[number].bytes - bytes;
    rest.pool = pool;
    rest.mapped = false;
    rest.expandable = true;
    rest.base = blocks_[number].base;
    rest.segment = blocks_[number].segment;
    blocks_[number].bytes = bytes;
    LinkAfter(number, added);
    unmapped.insert(AddressKey(added));
  }
  blocks_[number].mapped = true;
  Merge(number, blocks_[number].previous);
  Merge(number, blocks_[number].next);
  InsertFree(number);
  return true;
}

// Unmaps the whole pages of a free block.
void CachingAllocator::Unmap(BlockNumber number) {
  const std::uint32_t pool = blocks_[number].pool;
  const std::uint64_t page = PageOf(pool);
  // Segments begin at multiples of a page of 2 MiB, not of 20 MiB: count from the segment's begin.
  const std::uint64_t base = blocks_[number].base;
  const std::uint64_t begin = base + RoundUp(blocks_[number].address - base, page);
  const std::uint64_t end =
      base + (blocks_[number].address + blocks_[number].bytes - base) / page * page;
  if (begin >= end) return;
  EraseFree(number);
  if (const std::uint64_t before = begin - blocks_[number].address; before > 0) {
    const BlockNumber added = NewBlock();  // gets the second part: the pages
    blocks_[added].address = begin;
    blocks_[added].bytes = blocks_[number].bytes - before;
    blocks_[added].pool = pool;
    blocks_[added].expandable = true;
    blocks_[added].base = base;
    blocks_[added].segment = blocks_[number].segment;
    blocks_[number].bytes = before;
    LinkAfter(number, added);
    InsertFree(number);
    number = added;
  }
  if (const std::uint64_t size = end - begin; size < blocks_[number].bytes) Split(number, size);
  device_->Uncommit(end - begin, 2 * ((end - begin) / page));
  NoteReleased(end - begin, 0);
  blocks_[number].mapped = false;
  Merge(number, blocks_[number].previous);
  Merge(number, blocks_[number].next);
  const Block& block = blocks_[number];
  if (IsWhole(block)) {
    NoteReleased(0, 1);
    DropBlock(number);
    return;
  }
  pools_[pool].unmapped.insert(AddressKey(number));
}

std::string CachingAllocator::Inconsistency() const {
  std::uint64_t mapped = 0, in_use = 0, heads = 0, free_blocks = 0, unmapped_blocks = 0,
                whole_blocks = 0;
  for (BlockNumber number = 0; number < blocks_.size(); ++number) {
    const Block& block = blocks_[number];
    if (block.dead) continue;
    if (block.bytes == 0) return "an empty block";
    if (block.previous == kNone) ++heads;
    if (block.mapped) mapped += block.bytes;
    if (block.in_use) {
      in_use += block.bytes;
      if (!block.mapped) return "a block in use is not mapped";
      if (block.requested == 0 || block.requested > block.bytes) return "a block is too small";
    }
    const Key key = AddressKey(number);
    const Pool& pool = pools_[block.pool];
    const auto free = pool.free.find(FreeKey(number));
    const auto unmapped = pool.unmapped.find(key);
    const bool is_free = free != pool.free.end() && free->block == number;
    const bool is_unmapped = unmapped != pool.unmapped.end() && unmapped->block == number;
    if (is_free != (block.mapped && !block.in_use)) return "the free list is wrong";
    if (is_unmapped != !block.mapped) return "the list of unmapped blocks is wrong";
    const auto& whole_segments = cached_[IsPrivate(block.pool)].whole;
    const auto whole = whole_segments.find(key);
    const bool is_whole = whole != whole_segments.end() && whole->block == number;
    if (is_whole != (is_free && !block.expandable && IsWhole(block)))
      return "the list of free segments is wrong";
    free_blocks += is_free;
    whole_blocks += is_whole;
    unmapped_blocks += is_unmapped;
    if (block.next == kNone) continue;
    const Block& next = blocks_[block.next];
    if (next.dead || next.previous != number) return "neighbours are not linked";
    if (next.address != block.address + block.bytes) return "neighbours do not touch";
    if (next.pool != block.pool) return "neighbours are of two pools";
    if (!block.in_use && !next.in_use && block.mapped == next.mapped) return "not merged";
  }
  for (const Pool& pool : pools_) {
    free_blocks -= pool.free.size();
    unmapped_blocks -= pool.unmapped.size();
  }
  if (free_blocks != 0 || unmapped_blocks != 0 ||
      whole_blocks != cached_[0].whole.size() + cached_[1].whole.size())
    return "a list holds a block that is gone";
  if (mapped != figures_.reserved) return "reserved bytes are wrong";
  if (in_use != figures_.allocated) return "allocated bytes are wrong";
  if (heads != figures_.segments) return "the number of segments is wrong";
  return "";
}

}  // namespace memprof::analysis::allocators
