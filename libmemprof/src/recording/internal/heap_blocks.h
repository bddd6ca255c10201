// Finds the block of glibc's malloc that contains an address, by the sizes that malloc keeps in
// front of every block (malloc/malloc.c, "chunks"): from the begin of the main heap, of each thread
// arena's heaps, and of blocks that were mapped on their own.
//
// Everything is read by system calls and checked: a size that cannot be right ends what is known of
// a heap, and an address behind it has no block. Free blocks are told apart, also those that malloc
// itself still counts as in use: the lists of the threads' caches and the fast bins are found by
// their links, which glibc 2.32 and later scramble with the block's own address. Before that, a
// block in such a list counts as in use. A small block in use whose first words the program has
// never written may be taken for a free one. Other allocators have no such blocks.
//
// Threads may allocate meanwhile, so an answer is a finding, not a proof.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libmemprof/src/base/mapped_array.h"
#include "libmemprof/src/recording/internal/host_memory.h"
#include "libmemprof/src/recording/internal/own_array.h"
#include "libmemprof/src/recording/internal/pointer_scan.h"

namespace memprof::recorder {

// What the program got: at least as much as it asked for.
struct HeapBlock {
  std::uint64_t begin, bytes;
};

class HeapBlocks {
 public:
  // Reads nothing after `deadline_ns` (NowNs): then no block is known.
  explicit HeapBlocks(std::uint64_t deadline_ns) : deadline_ns_(deadline_ns) {}
  HeapBlocks(const HeapBlocks&) = delete;
  HeapBlocks& operator=(const HeapBlocks&) = delete;

  // The mapping "[heap]".
  void AddMainHeap(std::uint64_t begin, std::uint64_t end);
  // Searches other unnamed memory for heaps of arenas. In the order of addresses.
  void AddArenas(std::uint64_t begin, std::uint64_t end);
  // Blocks that may have been mapped on their own, by address. They must live as long as this.
  void SetMapped(const MappedChunk* chunks, std::size_t count) {
    chunks_ = chunks;
    chunk_count_ = count;
  }

  enum class Place {
    kElsewhere,  // in no heap that is known
    kInUse,      // in `*block`
    kFree,       // in memory that malloc keeps
    kUnknown,    // in a heap, but its block is not known
  };
  // Fast for addresses in ascending order. What was read before Forget counts no more.
  Place Find(std::uint64_t address, HeapBlock* block);
  void Forget() { window_bytes_ = last_ = 0; }
  // Whether the deadline has passed.
  bool late() const { return late_; }

 private:
  struct Region {
    std::uint64_t begin, first, known, end;  // blocks are known in [first, known)
    std::size_t index;                       // in index_
    bool arena, whole;                       // whole: malloc keeps what follows `known`
  };
  static constexpr std::uint64_t kStride = 65536;  // from one entry of the index to the next

  const Region* RegionOf(std::uint64_t address) const;
  bool Word(std::uint64_t at, std::uint64_t* word);
  bool Walk(Region* region);
  bool AddArena(std::uint64_t base, std::uint64_t limit);
  bool IsInList(std::uint64_t block, std::uint64_t chunk_bytes);
  Place FindIn(const Region& region, std::uint64_t address, HeapBlock* block);
  Place FindMapped(std::uint64_t address, HeapBlock* block) const;

  const std::uint64_t deadline_ns_;
  bool late_ = false;
  MappedArray<Region> regions_;
  MappedArray<std::uint64_t> index_;  // the blocks that contain first, first + kStride, …
  const MappedChunk* chunks_ = nullptr;
  std::size_t chunk_count_ = 0;
  MemoryReader memory_;
  PageFilter pages_;
  OwnArray<std::uint64_t> window_{kStride / sizeof(std::uint64_t)};
  std::uint64_t window_begin_ = 0, window_bytes_ = 0;
  std::uint64_t last_ = 0;  // the head of the block found last
};

}  // namespace memprof::recorder
