// The ranges of device memory that a framework's allocator holds, found by any address in them, and
// removed when the memory below ends. Sorted by address; no two overlap.
//
// Thread-safe. Segments begin and end with driver calls: one lock and a sorted array are enough.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "libmemprof/src/base/locks.h"
#include "libmemprof/src/base/mapped_array.h"

namespace memprof::recorder {

class SegmentTable {
 public:
  struct Segment {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint64_t time_ns = 0;  // when it was found
    std::int32_t device = -1;
    std::uint64_t stream = 0;
    std::uint64_t pool = 0;  // the private pool that it is for; 0 = none
  };

  // False, and nothing happens, if it is empty, overlaps another one, wraps around the end of the
  // address space, or there is no memory for it.
  bool Add(const Segment& segment);
  // The segment that contains `address`.
  bool Find(std::uint64_t address, Segment* segment);
  // Removes the segment that begins at `address`.
  bool TakeAt(std::uint64_t address, Segment* segment);
  // Removes a segment that overlaps [from, end) and existed at `before_ns`; false when there is
  // none left.
  bool TakeWithin(std::uint64_t from, std::uint64_t end, Segment* segment,
                  std::uint64_t before_ns = ~std::uint64_t{0});
  // Removes any segment of a device.
  bool TakeOf(std::int32_t device, Segment* segment);

  // Without the lock.
  bool empty() const { return size_.load(std::memory_order_relaxed) == 0; }

 private:
  // Index of the first segment that ends after `address`.
  std::size_t FirstAfter(std::uint64_t address);
  void Take(const Segment& known, Segment* segment);

  std::atomic<std::size_t> size_{0};
  Mutex<LockRank::kTorchSegments> mutex_;
  MappedArray<Segment> segments_;
};

}  // namespace memprof::recorder
