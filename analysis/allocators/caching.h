// The caching allocator of PyTorch (c10/cuda/CUDACachingAllocator.cpp), simulated with the options
// of PYTORCH_CUDA_ALLOC_CONF. Its rules, as of version 2.6:
//
//   * Requests are rounded up to 512 bytes, or to a part of a power of two (roundup_power2).
//   * Up to 1 MiB they belong to the small pool, which grows by segments of 2 MiB; above it to the
//     large pool, by segments of 20 MiB for less than 10 MiB, else of the size rounded up to 2 MiB.
//   * A free block serves only its stream and pool. The smallest that is large enough wins, then
//     that of the oldest segment (releases from 2.13 on), then the lowest address.
//   * A block is split if the rest is at least 512 bytes (small pool, expandable segments), or is
//     more than 1 MiB and the request below max_split.
//   * Blocks of max_split and more ("oversize") serve only requests of at least max_split that are
//     less than 20 MiB smaller.
//   * A freed block merges with free neighbours. Segments stay with the allocator.
//   * Before taking a segment beyond gc_threshold of the limit, unsplit cached segments of the
//     large pool that are older than the average go back.
//   * When the device is full, oversize cached segments of the stream go back, then all cached ones
//     that are whole, and the request is tried again.
//   * Expandable segments: one range of addresses a stream and pool, to which pages (2 MiB small,
//     20 MiB large) are mapped at the lowest address that serves; releasing unmaps whole pages.
//   * Private pools, which are streams of their own here, keep what they have until their owner has
//     gone.
//
// Not simulated: how long record_stream delays a free.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/btree_set.h"
#include "analysis/allocators/allocator.h"

namespace memprof::analysis::allocators {

struct CachingOptions {
  std::uint64_t max_split = kUnlimited;             // bytes
  std::uint64_t max_non_split_rounding = 20 << 20;  // bytes an oversize block may be too large
  // Parts of a power of two to round up to, by size: [0] below 2 MiB, then one for each doubling,
  // [15] from 32 GiB on. 0 = round to 512 bytes.
  std::array<std::uint32_t, 16> roundup_power2 = {};
  double gc_threshold = 0;           // of the limit, in (0, 1); 0 = off
  std::uint64_t limit = kUnlimited;  // bytes that it may reserve (set_per_process_memory_fraction)
  bool expandable = false;

  bool operator==(const CachingOptions&) const = default;
};

// What a request takes in a block, in bytes.
std::uint64_t CachingRound(std::uint64_t bytes, const CachingOptions& options);
// The size of the segment that the allocator takes for a block of `rounded` bytes.
std::uint64_t CachingSegmentBytes(std::uint64_t rounded);

class CachingAllocator : public Allocator {
 public:
  CachingAllocator(const CachingOptions& options, Device* device)
      : Allocator(device), options_(options) {}

  void PreferOldestSegments() override { oldest_first_ = true; }
  void GrowNext() override { grow_next_ = true; }
  void SetPrivate(StreamNumber stream) override;
  void EmptyCache() override;
  void EmptyPrivate(StreamNumber stream) override;
  bool ReleaseSegment(std::uint64_t bytes, std::uint64_t address) override;
  Place PlaceOf(Handle handle) const override;
  std::string Inconsistency() const override;
  // The smallest request, in bytes, that would have got this block as it is; it is the last one
  // that was allocated. A smaller one would have left a free rest, or got a smaller block.
  std::uint64_t LeastRequest(Handle handle) const;

 protected:
  Handle DoAllocate(std::uint64_t bytes, StreamNumber stream) override;
  std::uint64_t DoFree(Handle handle) override;
  bool DoAdopt(const HeldSegment& segment, std::vector<Handle>* handles) override;

 private:
  using BlockNumber = std::uint32_t;
  static constexpr BlockNumber kNone = ~BlockNumber{0};

  struct Block {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint64_t requested = 0;
    std::uint64_t cached_at = 0;                 // searches of the pool when it was last added
    std::uint64_t base = 0;                      // where its expandable segment begins
    std::uint64_t segment = 0;                   // number of its segment, in order of birth
    BlockNumber previous = kNone, next = kNone;  // neighbours in the segment
    std::uint32_t pool = 0;
    bool in_use = false;
    bool mapped = true;
    bool expandable = false;
    bool dead = false;  // its number is free
  };
  struct Key {  // in order of size, then of the segment's number if that counts, then address
    std::uint64_t bytes = 0, segment = 0, address = 0;
    BlockNumber block = 0;
    auto operator<=>(const Key&) const = default;
  };
  struct ByAddress {
    bool operator()(const Key& a, const Key& b) const { return a.address < b.address; }
  };
  // Free blocks of one stream and one size class: number 2 * stream, + 1 for large.
  struct Pool {
    absl::btree_set<Key> free;
    absl::btree_set<Key, ByAddress> unmapped;
  };

  static bool IsSmall(std::uint32_t pool) { return pool % 2 == 0; }
  std::uint64_t PageOf(std::uint32_t pool) const;
  bool IsWhole(const Block& block) const { return block.previous == kNone && block.next == kNone; }
  bool IsPrivate(std::uint32_t pool) const {
    return pool / 2 < private_streams_.size() && private_streams_[pool / 2];
  }
  std::uint64_t Age(const Block& block) const { return searches_[1] - block.cached_at; }

  Key AddressKey(BlockNumber number) const {
    return {blocks_[number].bytes, 0, blocks_[number].address, number};
  }
  Key FreeKey(BlockNumber number) const {
    Key key = AddressKey(number);
    if (oldest_first_) key.segment = blocks_[number].segment;
    return key;
  }

  BlockNumber NewBlock();
  void DropBlock(BlockNumber number);
  template <typename Change>
  void ChangeFree(BlockNumber number, Change change);  // in every index of cached blocks
  void InsertFree(BlockNumber number);
  void EraseFree(BlockNumber number);

  BlockNumber FindFree(std::uint64_t size, std::uint32_t pool);
  BlockNumber Grow(std::uint64_t size, std::uint32_t pool);
  BlockNumber TakeSegment(std::uint64_t size, std::uint32_t pool);
  bool ShouldSplit(const Block& block, std::uint64_t size) const;
  void Split(BlockNumber number, std::uint64_t size);
  void Merge(BlockNumber number, BlockNumber neighbour);
  void LinkAfter(BlockNumber number, BlockNumber added);

  void CollectGarbage();
  bool ReleaseOversize(std::uint64_t size, std::uint32_t pool);
  void Release(BlockNumber number);

  // Expandable segments: caching_expandable.cc.
  BlockNumber TakeExpandable(std::uint64_t size, std::uint32_t pool);
  BlockNumber FindExpandable(std::uint64_t size, std::uint32_t pool);
  bool HasRoom(BlockNumber first, std::uint64_t size) const;
  bool Map(BlockNumber number, std::uint64_t size);
  void Unmap(BlockNumber number);

  const CachingOptions options_;
  std::vector<Block> blocks_;
  std::vector<BlockNumber> unused_;
  std::vector<Pool> pools_;
  // What can be released: of all pools that are not private, and of all that are.
  struct Cached {
    absl::btree_set<Key> whole;               // free segments that are not expandable
    absl::btree_set<BlockNumber> unmappable;  // expandable ones freed since the cache was emptied
  };
  Cached cached_[2];
  std::vector<bool> private_streams_;
  bool oldest_first_ = false, grow_next_ = false;
  std::uint64_t last_segment_ = 0;              // number
  std::array<std::uint64_t, 2> searches_ = {};  // of small, of large pools
};

}  // namespace memprof::analysis::allocators
