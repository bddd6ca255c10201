// Walks the blocks of glibc's heaps.
#include "libmemprof/src/recording/internal/heap_blocks.h"

#include <algorithm>

namespace memprof::recorder {
namespace {

constexpr std::uint64_t kWord = sizeof(std::uint64_t);
// In front of a block lie the size of the one before, if that is free, and its own size with flags.
constexpr std::uint64_t kHead = 2 * kWord;
constexpr std::uint64_t kAlignment = 16, kLeast = 32;
constexpr std::uint64_t kBeforeInUse = 1, kIsMapped = 2, kOfArena = 4, kFlags = 7;
constexpr std::uint64_t kFence = 16;  // the size at the end of a heap that has a successor
constexpr std::uint64_t kArenaHeap = std::uint64_t{64} << 20;  // the largest, and their alignment

std::uint64_t BytesOf(std::uint64_t size) { return size & ~kFlags; }

}  // namespace

bool HeapBlocks::Word(std::uint64_t at, std::uint64_t* word) {
  if (window_.get() == nullptr || at % kWord != 0) return false;
  if (at - window_begin_ >= window_bytes_) {
    if (late_ |= NowNs() > deadline_ns_; late_) return false;
    window_begin_ = at / kStride * kStride;
    ssize_t got = memory_.Read(window_begin_, window_.get(), kStride);
    if (got > 0 && at - window_begin_ < static_cast<std::uint64_t>(got)) {
      window_bytes_ = static_cast<std::uint64_t>(got) / kWord * kWord;
    } else {  // memory begins within the window
      window_begin_ = at / PageBytes() * PageBytes();
      const std::uint64_t most = kStride - window_begin_ % kStride;
      got = memory_.Read(window_begin_, window_.get(), most);
      window_bytes_ = got <= 0 ? 0 : static_cast<std::uint64_t>(got) / kWord * kWord;
    }
    if (at - window_begin_ >= window_bytes_) return false;
  }
  *word = window_.get()[(at - window_begin_) / kWord];
  return true;
}

// From region->first on. Sets what is known, and fills the index; true if the heap ends as heaps
// do.
bool HeapBlocks::Walk(Region* region) {
  region->index = index_.size();
  region->known = region->first;
  std::uint64_t before = region->first, next_entry = region->first;
  for (std::uint64_t at = region->first;;) {
    std::uint64_t size = 0;
    const bool there = at + kHead <= region->end && Word(at + kWord, &size);
    const std::uint64_t bytes = BytesOf(size);
    if (there && bytes == kFence) return at + 2 * kLeast >= region->end;
    const bool wrong = (size & kIsMapped) != 0 || (!region->arena && (size & kOfArena) != 0);
    if (!there || bytes < kLeast || bytes % kAlignment != 0 || wrong || bytes > region->end - at) {
      region->known = before;  // the size that led here is in doubt
      return false;
    }
    // The last one is the top, from which blocks are cut.
    if (at + bytes + kLeast > region->end) return region->whole = true;
    for (; next_entry < at + bytes; next_entry += kStride)
      if (!index_.Append(at)) return false;
    before = at;
    region->known = at += bytes;
  }
}

void HeapBlocks::AddMainHeap(std::uint64_t begin, std::uint64_t end) {
  Region region{begin, begin, begin, end, 0, false, false};
  Walk(&region);
  regions_.Append(region);
}

// A heap begins with its description (malloc/arena.c, heap_info): the arena, the heap before it,
// its size. In an arena's first heap, the arena itself follows. Where blocks begin differs between
// versions: at the first place from which the sizes lead to the end.
bool HeapBlocks::AddArena(std::uint64_t base, std::uint64_t limit) {
  constexpr std::uint64_t kFirst = 0x20, kLast = 0x1000;
  std::uint64_t arena = 0, before = 0, bytes = 0;
  if (!Word(base, &arena) || !Word(base + kWord, &before) || !Word(base + 2 * kWord, &bytes))
    return false;
  const bool is_first = arena - base < kLast;
  if (arena % kWord != 0 || arena == 0 || (before == 0) != is_first || before % kArenaHeap != 0 ||
      bytes % PageBytes() != 0 || bytes < kLast || bytes > kArenaHeap || bytes > limit - base)
    return false;
  for (std::uint64_t at = base + kFirst; at < base + kLast; at += kAlignment) {
    std::uint64_t size = 0;
    if (!Word(at + kWord, &size)) return false;
    if ((size & kBeforeInUse) == 0) continue;
    Region region{base, at, at, base + bytes, 0, true, false};
    const std::size_t entries = index_.size();
    if (Walk(&region)) {
      regions_.Append(region);
      return true;
    }
    index_.Truncate(entries);
  }
  return false;
}

void HeapBlocks::AddArenas(std::uint64_t begin, std::uint64_t end) {
  for (std::uint64_t base = (begin + kArenaHeap - 1) / kArenaHeap * kArenaHeap; base < end;
       base += kArenaHeap)
    if (pages_.NextUsed(base, base + 1) == base) AddArena(base, end);
}

// A free block in such a list begins with the address of the next one, of the same size, or with
// 0, either of them XOR its own address without 12 bits. A cache's link is to the program's part of
// a block, a fast bin's to its head. A block that is in use again has the link until the program
// writes there; that it came from a cache, malloc shows by a 0 behind it.
bool HeapBlocks::IsInList(std::uint64_t block, std::uint64_t chunk_bytes) {
  constexpr std::uint64_t kMostInFastBin = 128;
  std::uint64_t word = 0, mark = 0, size = 0;
  if (!Word(block, &word) || !Word(block + kWord, &mark)) return false;
  if (mark == 0 && chunk_bytes > kMostInFastBin) return false;
  const std::uint64_t next = word ^ block >> 12;
  if (next == 0) return true;
  if (next % kAlignment != 0 || RegionOf(next) == nullptr) return false;
  for (const std::uint64_t at : {next - kWord, next + kWord})
    if (memory_.Read(at, &size, sizeof size) == sizeof size && BytesOf(size) == chunk_bytes)
      return true;
  return false;
}

const HeapBlocks::Region* HeapBlocks::RegionOf(std::uint64_t address) const {
  for (const Region& region : regions_)
    if (address >= region.begin && address < region.end) return &region;
  return nullptr;
}

HeapBlocks::Place HeapBlocks::FindIn(const Region& region, std::uint64_t address,
                                     HeapBlock* block) {
  if (address < region.first) return Place::kFree;
  // A block in use extends into the head of the next one, also if that is the top.
  if (address - region.known < kWord && region.known > region.first)
    return FindIn(region, address - kWord, block);
  if (address >= region.known) return region.whole ? Place::kFree : Place::kUnknown;
  std::uint64_t at = index_[region.index + (address - region.first) / kStride];
  if (last_ > at && last_ <= address) at = last_;
  std::uint64_t size = 0, next = 0, before = 0, bytes = 0;
  for (;; at += bytes) {
    if (!Word(at + kWord, &size)) return Place::kUnknown;
    bytes = BytesOf(size);
    if (bytes < kLeast || bytes % kAlignment != 0 || bytes > region.known - at)
      return Place::kUnknown;
    if (address - at < bytes) break;
  }
  if (address - at < kWord && (size & kBeforeInUse) != 0 && at > region.first) {
    last_ = 0;
    return FindIn(region, address - kWord, block);
  }
  last_ = at;
  if (address - at < kHead) return Place::kFree;  // malloc's own words
  if (!Word(at + bytes + kWord, &next)) return Place::kUnknown;
  if ((next & kBeforeInUse) == 0)
    return Word(at + bytes, &before) && before == bytes ? Place::kFree : Place::kUnknown;
  if (IsInList(at + kHead, bytes)) return Place::kFree;
  *block = {at + kHead, bytes - kWord};
  return Place::kInUse;
}

HeapBlocks::Place HeapBlocks::FindMapped(std::uint64_t address, HeapBlock* block) const {
  const MappedChunk* after = std::upper_bound(
      chunks_, chunks_ + chunk_count_, address,
      [](std::uint64_t value, const MappedChunk& chunk) { return value < chunk.begin; });
  if (after == chunks_ || address - (after - 1)->begin >= (after - 1)->bytes)
    return Place::kElsewhere;
  const MappedChunk& chunk = *(after - 1);
  if (address - chunk.begin < kHead) return Place::kFree;
  *block = {chunk.begin + kHead, chunk.bytes - kHead};
  return Place::kInUse;
}

HeapBlocks::Place HeapBlocks::Find(std::uint64_t address, HeapBlock* block) {
  const Region* region = RegionOf(address);
  return region == nullptr ? FindMapped(address, block) : FindIn(*region, address, block);
}

}  // namespace memprof::recorder
