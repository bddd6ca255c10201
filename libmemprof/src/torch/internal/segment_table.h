// Which ranges of device memory a framework's allocator keeps: found by any address in them, and
// taken out when the memory below ends. In the order of addresses; no two overlap.
//
// Thread-safe. Segments come and go with calls of the driver: one lock and a sorted array are
// enough.
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
    std::uint64_t capture = 0;  // in which it was found; 0 = none
  };

  // False, and nothing happens, when it is empty, overlaps a known one, wraps around the end of the
  // address space, or there is no memory for it.
  bool Add(const Segment& segment);
  // The one that contains `address`.
  bool Find(std::uint64_t address, Segment* segment);
  // Takes out the one that begins at `address`.
  bool TakeAt(std::uint64_t address, Segment* segment);
  // Takes out one that has a byte in [from, end) and was there at `before_ns`; false when there is
  // none left.
  bool TakeWithin(std::uint64_t from, std::uint64_t end, Segment* segment,
                  std::uint64_t before_ns = ~std::uint64_t{0});
  // The same for any of a device.
  bool TakeOf(std::int32_t device, Segment* segment);

  // To find nothing without the lock.
  bool empty() const { return known_.load(std::memory_order_relaxed) == 0; }

 private:
  // Index of the first that ends after `address`.
  std::size_t FirstAfter(std::uint64_t address);
  void Take(const Segment& known, Segment* segment);

  std::atomic<std::size_t> known_{0};
  Mutex<LockRank::kTorchSegments> mutex_;
  MappedArray<Segment> segments_;
};

}  // namespace memprof::recorder
