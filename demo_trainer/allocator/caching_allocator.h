// A caching allocator modelled on the one that PyTorch users know: segments are taken from the
// driver, split into blocks, and kept when their blocks are freed.
//
//   - requests are rounded up to 512 bytes;
//   - up to 1 MiB they come from the small pool, whose segments are 2 MiB; above it from the large
//     pool, with segments of 20 MiB for less than 10 MiB, else of the size rounded up to 2 MiB;
//   - a free block serves only the stream it was allocated for; among those that are large enough
//     the smallest is used, of equal ones that with the lowest address;
//   - a block is split when what remains is at least 512 bytes (small pool) or more than 1 MiB
//     (large pool, and the request is below max_split_bytes);
//   - blocks at or above max_split_bytes ("oversize") serve only requests that are oversize too and
//     less than 20 MiB smaller;
//   - a freed block merges with its free neighbours in the segment;
//   - when the driver is out of memory, unused oversize segments that suffice are released first,
//     then every segment without a block in use; then the request fails with OutOfMemory.
#ifndef DEMO_TRAINER_ALLOCATOR_CACHING_ALLOCATOR_H_
#define DEMO_TRAINER_ALLOCATOR_CACHING_ALLOCATOR_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "demo_trainer/allocator/allocator.h"
#include "demo_trainer/allocator/driver.h"

namespace memprof::demo {

inline constexpr size_t kBlockRounding = 512;
inline constexpr size_t kSmallLimit = size_t{1} << 20;
inline constexpr size_t kSmallSegment = size_t{2} << 20;
inline constexpr size_t kLargeSegment = size_t{20} << 20;
inline constexpr size_t kLargeLimit = size_t{10} << 20;
inline constexpr size_t kSegmentRounding = size_t{2} << 20;

struct CachingAllocatorOptions {
  int device = 0;
  size_t max_split_bytes = std::numeric_limits<size_t>::max();
};

class CachingAllocator : public Allocator {
 public:
  // `driver` and `observer` outlive the allocator, whose destructor empties the cache.
  CachingAllocator(const CachingAllocatorOptions& options, DeviceDriver* driver,
                   AllocatorObserver* observer);
  ~CachingAllocator() override;

  void* Allocate(size_t bytes, StreamHandle stream) override;
  void Free(void* ptr) override;
  void RecordStream(void* ptr, StreamHandle stream) override;
  void EmptyCache() override;
  const AllocatorStats& stats() const override { return stats_; }

  // One piece of a segment, for tests: in address order.
  struct BlockView {
    uintptr_t address;
    size_t bytes;
    uintptr_t segment;
    bool in_use;
    StreamHandle stream;
  };
  std::vector<BlockView> Blocks() const;

 private:
  struct Block;
  struct BySize {
    bool operator()(const Block* a, const Block* b) const;
  };
  using FreeList = std::set<Block*, BySize>;

  FreeList& PoolOf(const Block& block);
  Block* FindFree(size_t size, StreamHandle stream);
  Block* NewSegment(size_t size, StreamHandle stream);
  void Split(Block* block, size_t size);
  bool ShouldSplit(const Block& block, size_t size) const;
  void Release(Block* block);
  void Merge(Block* block, Block* neighbour);
  void ProcessEvents(bool wait);
  bool ReleaseOversize(size_t size);
  bool ReleaseUnused();
  void ReleaseSegment(Block* block);

  const CachingAllocatorOptions options_;
  DeviceDriver* const driver_;
  AllocatorObserver* const observer_;
  FreeList small_;
  FreeList large_;
  std::unordered_map<void*, std::unique_ptr<Block>> blocks_;     // every block, by its address
  std::vector<std::pair<DeviceDriver::Event, Block*>> pending_;  // frees that wait for a stream
  AllocatorStats stats_;
};

}  // namespace memprof::demo

#endif  // DEMO_TRAINER_ALLOCATOR_CACHING_ALLOCATOR_H_
