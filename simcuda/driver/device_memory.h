// The memory of one device: capacity, who holds how much of it, and the addresses handed out.
//
// Capacity is virtual. Addresses come from a range that is reserved without backing; pages get
// memory of the machine when they are touched and give it back when they are freed.
#ifndef SIMCUDA_DRIVER_DEVICE_MEMORY_H
#define SIMCUDA_DRIVER_DEVICE_MEMORY_H

#include <array>
#include <cstdint>
#include <mutex>

#include "simcuda/driver/range_allocator.h"

namespace memprof::simcuda {

// Physical pages of the model: real drivers hand out device memory in blocks of this size.
constexpr uint64_t kPageBytes = uint64_t{2} << 20;
// Alignment of small allocations, as real drivers show it.
constexpr uint64_t kSmallAlignment = 512;

constexpr uint64_t RoundUp(uint64_t bytes, uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// What a piece of the capacity is used for.
enum class Use { kContext, kLinear, kArray, kManaged, kPool, kVmm };
constexpr int kUseCount = 6;

// Thread-safe.
class DeviceMemory {
 public:
  explicit DeviceMemory(uint64_t capacity);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  uint64_t capacity() const { return capacity_; }
  uint64_t free_bytes() const;
  uint64_t used(Use use) const;

  // Takes `bytes` of the capacity without addresses; memory resident for managed allocations
  // gives way. False, and nothing taken, when that is not enough.
  bool Charge(Use use, uint64_t bytes);
  // Takes at most `bytes`, in whole pages, and tells how many.
  uint64_t ChargeUpTo(Use use, uint64_t bytes);
  // Gives capacity back; of managed memory at most what is still resident.
  void Refund(Use use, uint64_t bytes);

  // `bytes` of readable and writable addresses, aligned to 512 bytes; large requests take whole
  // pages, small ones share pages with others of the same use. *granted is the rounded size.
  bool Allocate(Use use, uint64_t bytes, uint64_t* address, uint64_t* granted);
  void Free(Use use, uint64_t address, uint64_t granted);
  // Whole pages; `bytes` is a multiple of kPageBytes.
  bool AllocatePages(Use use, uint64_t bytes, uint64_t* address);
  void FreePages(Use use, uint64_t address, uint64_t bytes);

  // Whether the address lies in this device's range.
  bool Owns(uint64_t address) const { return address >= base_ && address < base_ + reserved_; }

 private:
  bool ChargeLocked(Use use, uint64_t bytes);
  bool PagesLocked(Use use, uint64_t bytes, uint64_t* address);
  void FreePagesLocked(Use use, uint64_t address, uint64_t bytes);
  uint64_t FreeLocked() const;
  RangeAllocator& Small(Use use) { return use == Use::kArray ? small_arrays_ : small_linear_; }

  const uint64_t capacity_;
  uint64_t mapping_ = 0;  // what mmap gave, of mapping_bytes_
  uint64_t mapping_bytes_ = 0;
  uint64_t base_ = 0;  // its part aligned to pages
  uint64_t reserved_ = 0;
  mutable std::mutex mutex_;
  std::array<uint64_t, kUseCount> used_{};
  RangeAllocator pages_;
  RangeAllocator small_linear_{kPageBytes};
  RangeAllocator small_arrays_{kPageBytes};
};

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_DEVICE_MEMORY_H
