// Allocators based on Heap: the driver's own, the BFC allocator of TensorFlow and JAX, the driver's
// stream-ordered pool, and RMM's pool, arena and bins. All take whole pages of 2 MiB from the
// device.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/container/btree_set.h"
#include "analysis/allocators/allocator.h"
#include "analysis/allocators/internal/heap.h"

namespace memprof::analysis::allocators {

// The base of allocators with one heap. Handles are numbers of blocks.
class HeapAllocator : public Allocator {
 public:
  HeapAllocator(Heap::Fit fit, Device* device) : Allocator(device), heap_(fit) {}
  Place PlaceOf(Handle handle) const override;
  std::string Inconsistency() const override;

 protected:
  std::uint64_t DoFree(Handle handle) override;
  // A block of `size` bytes in use; larger if less than `least_rest` would remain.
  Handle TakeBlock(std::uint64_t size, std::uint64_t requested, std::uint64_t least_rest);
  bool AddRegion(std::uint64_t bytes);
  void ReleaseRegion(Heap::BlockNumber number);
  void ReleaseFreeRegions();

  Heap heap_;
};

// cudaMalloc: requests from 2 MiB on get pages of 2 MiB of their own; smaller ones share pages in
// steps of 512 bytes, and an empty page is released.
class CudaAllocator : public HeapAllocator {
 public:
  explicit CudaAllocator(Device* device) : HeapAllocator(Heap::Fit::kBest, device) {}

 protected:
  Handle DoAllocate(std::uint64_t bytes, StreamNumber stream) override;
  std::uint64_t DoFree(Handle handle) override;
};

// The allocator of TensorFlow and JAX (bfc_allocator.cc): rounds to 256 bytes; regions begin at
// 2 MiB and double, or one region is taken at the start; best fit; a block is split if the rest is
// as large as the request or at least 128 MiB. Streams share everything.
struct BfcOptions {
  std::uint64_t preallocate = 0;  // bytes taken at the start; 0 = regions grow with demand
  bool operator==(const BfcOptions&) const = default;
};
class BfcAllocator : public HeapAllocator {
 public:
  BfcAllocator(const BfcOptions& options, Device* device);

 protected:
  Handle DoAllocate(std::uint64_t bytes, StreamNumber stream) override;

 private:
  bool Extend(std::uint64_t size);

  const BfcOptions options_;
  std::uint64_t next_region_;
  bool started_ = false;
};

// cudaMallocAsync: chunks of 32 MiB, or of the size rounded up to 2 MiB; steps of 512 bytes; best
// fit. Freed memory serves all streams, because by default the driver makes a stream wait for
// another's free rather than grow. A synchronisation releases free chunks beyond the release
// threshold.
struct AsyncPoolOptions {
  std::uint64_t release_threshold = 0;  // bytes; cudaMemPoolAttrReleaseThreshold
  bool operator==(const AsyncPoolOptions&) const = default;
};
class AsyncPool : public HeapAllocator {
 public:
  AsyncPool(const AsyncPoolOptions& options, Device* device)
      : HeapAllocator(Heap::Fit::kBest, device), options_(options) {}
  void EmptyCache() override { Trim(0); }
  void Synchronize() override { Trim(options_.release_threshold); }

 protected:
  Handle DoAllocate(std::uint64_t bytes, StreamNumber stream) override;

 private:
  void Trim(std::uint64_t keep);

  const AsyncPoolOptions options_;
};

// RMM's pool_memory_resource: rounds to 256 bytes, best fit, exact splits; grows by its current
// size, at least by the request; never releases memory. Streams take blocks from each other when
// their own do not fit, so all of them share everything.
struct RmmPoolOptions {
  std::uint64_t initial = 0;  // bytes taken at the start
  bool first_fit = false;
  bool operator==(const RmmPoolOptions&) const = default;
};
class RmmPool : public HeapAllocator {
 public:
  RmmPool(const RmmPoolOptions& options, Device* device);

 protected:
  Handle DoAllocate(std::uint64_t bytes, StreamNumber stream) override;

 private:
  bool Grow(std::uint64_t size);

  const RmmPoolOptions options_;
  bool started_ = false;
};

// RMM's binning_memory_resource: requests up to 4 MiB come from bins with blocks of 256 KiB, 512
// KiB, …, 4 MiB, each refilled by 128 blocks; larger ones from cudaMalloc.
class RmmBins : public Allocator {
 public:
  explicit RmmBins(Device* device) : Allocator(device) {}
  Place PlaceOf(Handle handle) const override;
  std::string Inconsistency() const override;

 protected:
  Handle DoAllocate(std::uint64_t bytes, StreamNumber stream) override;
  std::uint64_t DoFree(Handle handle) override;

 private:
  static constexpr int kBins = 5;
  struct Block {
    std::uint64_t address = 0, bytes = 0, requested = 0;
    int bin = kBins;  // kBins: of its own
    bool in_use = false;
  };
  Handle NewBlock(std::uint64_t address, std::uint64_t bytes, int bin);
  bool Refill(int bin);

  std::vector<Block> blocks_;
  std::array<std::vector<Handle>, kBins> free_;
  std::vector<Handle> unused_;
};

// RMM's arena_memory_resource. A request up to 1 MiB is placed by first fit in superblocks of 1 MiB
// that belong to its stream. Superblocks and larger requests are placed by first fit in one range
// that all streams share. The real allocator takes that range at the start; here it is as long as
// the part ever used: the smallest arena that suffices. Steps of 256 bytes.
class RmmArenas : public Allocator {
 public:
  explicit RmmArenas(Device* device);
  Place PlaceOf(Handle handle) const override;
  std::string Inconsistency() const override;

 protected:
  Handle DoAllocate(std::uint64_t bytes, StreamNumber stream) override;
  std::uint64_t DoFree(Handle handle) override;

 private:
  static constexpr StreamNumber kShared = ~StreamNumber{0};
  struct Live {
    StreamNumber stream = 0;  // whose superblock; kShared: none
    Heap::BlockNumber block = Heap::kNone;
    bool in_use = false;
  };
  Heap& HeapOf(const Live& live) { return live.stream == kShared ? shared_ : arenas_[live.stream]; }
  const Heap& HeapOf(const Live& live) const {
    return live.stream == kShared ? shared_ : arenas_[live.stream];
  }
  Heap::BlockNumber TakeShared(std::uint64_t size);
  void ReturnSuperblocks();

  Heap shared_;
  std::vector<Heap> arenas_;  // by stream
  // Streams whose arena may have an unused superblock; no other stream has one.
  absl::btree_set<StreamNumber> idle_;
  // Superblocks by address: their block in the shared heap.
  std::unordered_map<std::uint64_t, Heap::BlockNumber> superblocks_;
  std::vector<Live> live_;
  std::vector<Handle> unused_;
  std::uint64_t base_ = 0;
};

}  // namespace memprof::analysis::allocators
