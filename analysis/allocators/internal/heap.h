// Regions of addresses divided into blocks: the base of all pools but the caching allocator. Free
// blocks merge with free neighbours of the same region. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/btree_set.h"

namespace memprof::analysis::allocators {

class Heap {
 public:
  // the smallest block that fits, then the lowest; or the lowest one that fits
  enum class Fit { kBest, kFirst };
  using BlockNumber = std::uint32_t;
  static constexpr BlockNumber kNone = ~BlockNumber{0};

  struct Block {
    std::uint64_t address = 0, bytes = 0;
    std::uint64_t requested = 0;  // for the owner of the heap
    BlockNumber previous = kNone, next = kNone;
    bool in_use = false;
    bool dead = false;  // its number is free
  };

  explicit Heap(Fit fit) : fit_(fit) {}

  void AddRegion(std::uint64_t address, std::uint64_t bytes);
  // Takes a whole free block of at least `bytes`; kNone if there is none.
  BlockNumber Take(std::uint64_t bytes);
  // Keeps the first `bytes` of a block in use, and frees the rest.
  void Shrink(BlockNumber number, std::uint64_t bytes);
  // Frees the block and merges it with its neighbours. Returns the merged block.
  BlockNumber Free(BlockNumber number);
  // Removes a region that is one free block.
  void RemoveRegion(BlockNumber number);
  bool IsRegion(BlockNumber number) const {
    return blocks_[number].previous == kNone && blocks_[number].next == kNone;
  }
  // Free blocks that are whole regions, in order of size (best fit) or address.
  std::vector<BlockNumber> FreeRegions() const;

  const Block& block(BlockNumber number) const { return blocks_[number]; }
  void SetRequested(BlockNumber number, std::uint64_t bytes) { blocks_[number].requested = bytes; }
  std::uint64_t bytes() const { return bytes_; }      // of all regions
  std::uint64_t regions() const { return regions_; }  // number
  std::uint64_t in_use() const { return in_use_; }    // bytes
  // "" if the state is consistent (slow).
  std::string Inconsistency() const;

 private:
  struct Key {
    std::uint64_t first = 0, second = 0;  // (bytes, address), or (address, bytes) for first fit
    BlockNumber block = kNone;
    bool operator<(const Key& other) const {
      return first != other.first ? first < other.first : second < other.second;
    }
  };
  Key KeyOf(BlockNumber number) const;
  BlockNumber NewBlock();
  void Swallow(BlockNumber number, BlockNumber neighbour);

  Fit fit_;
  std::vector<Block> blocks_;
  std::vector<BlockNumber> unused_;
  absl::btree_set<Key> free_;
  std::uint64_t bytes_ = 0, regions_ = 0, in_use_ = 0;
};

}  // namespace memprof::analysis::allocators
