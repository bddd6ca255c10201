// Free ranges of an address space: best fit, lowest address first among equals, coalescing.
#ifndef SIMCUDA_DRIVER_RANGE_ALLOCATOR_H
#define SIMCUDA_DRIVER_RANGE_ALLOCATOR_H

#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace memprof::simcuda {

// Not thread-safe. All sizes and addresses in bytes; callers use one granularity.
class RangeAllocator {
 public:
  // With a barrier (a power of two) neighbours are not merged across its multiples.
  explicit RangeAllocator(uint64_t barrier = 0) : barrier_(barrier) {}

  // Adds [address, address + bytes) to the free ranges, merged with its neighbours; returns the
  // merged range. It must not overlap a free range.
  std::pair<uint64_t, uint64_t> Add(uint64_t address, uint64_t bytes);
  // Forbids merging of free ranges across `address`, or allows it again.
  void SetBarrier(uint64_t address) { barriers_.insert(address); }
  void ClearBarrier(uint64_t address) { barriers_.erase(address); }
  // Takes `bytes` from the smallest range that is large enough. False if there is none.
  bool Take(uint64_t bytes, uint64_t* address);
  // Takes exactly [address, address + bytes) from the free range that contains it.
  bool TakeAt(uint64_t address, uint64_t bytes);

  uint64_t free_bytes() const { return free_bytes_; }
  uint64_t largest() const { return by_size_.empty() ? 0 : by_size_.rbegin()->first; }
  const std::map<uint64_t, uint64_t>& ranges() const { return by_address_; }

 private:
  bool CanMerge(uint64_t boundary) const {
    if (barrier_ != 0 && (boundary & (barrier_ - 1)) == 0) return false;
    return barriers_.empty() || !barriers_.contains(boundary);
  }
  void Insert(uint64_t address, uint64_t bytes);
  void Erase(std::map<uint64_t, uint64_t>::iterator range);

  uint64_t barrier_;
  std::set<uint64_t> barriers_;
  uint64_t free_bytes_ = 0;
  std::map<uint64_t, uint64_t> by_address_;          // address -> bytes
  std::set<std::pair<uint64_t, uint64_t>> by_size_;  // (bytes, address)
};

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_RANGE_ALLOCATOR_H
