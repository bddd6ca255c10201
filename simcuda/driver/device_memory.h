// The memory of one device: its capacity, how much of it is used for what, and its addresses.
//
// Capacity is virtual. Addresses come from a range that is reserved without memory; pages get
// memory of the machine when they are touched, and release it when they are freed.
#ifndef SIMCUDA_DRIVER_DEVICE_MEMORY_H
#define SIMCUDA_DRIVER_DEVICE_MEMORY_H

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "simcuda/driver/address_space.h"
#include "simcuda/driver/range_allocator.h"

namespace memprof::simcuda {

// Physical pages of the model: real drivers hand out device memory in blocks of this size.
constexpr uint64_t kPageBytes = uint64_t{2} << 20;
// Alignment of small allocations, as real drivers show it.
constexpr uint64_t kSmallAlignment = 512;

constexpr uint64_t RoundUp(uint64_t bytes, uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}
inline void* Ptr(uint64_t address) { return reinterpret_cast<void*>(address); }

// The use of a part of the capacity.
enum class Use { kContext, kLinear, kArray, kManaged, kPool, kVmm, kGraph, kCode };
constexpr int kUseCount = 8;

// Other processes that share the device, if there are any.
class CapacityShare {
 public:
  virtual ~CapacityShare() = default;
  // Between these two calls, no other process changes its use of the device.
  virtual void Lock() = 0;
  virtual void Unlock() = 0;
  // Bytes that the others use.
  virtual uint64_t Others() const = 0;
  // Publishes the use of this process.
  virtual void Publish(uint64_t bytes) = 0;
};

// Pages of a device in a memory file, so that other processes can map them.
struct SharedPages {
  uint64_t start = 0;
  uint64_t bytes = 0;
  int descriptor = -1;  // owned by the device memory; open until the pages are freed
};

// Thread-safe.
class DeviceMemory {
 public:
  explicit DeviceMemory(uint64_t capacity, std::unique_ptr<CapacityShare> share = nullptr,
                        bool upward_addresses = false);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  uint64_t capacity() const { return capacity_; }
  uint64_t free_bytes() const;
  // The bytes that other processes use of it.
  uint64_t other_bytes() const;
  uint64_t used(Use use) const;

  // Takes `bytes` of the capacity without addresses; resident managed memory is evicted for them.
  // False, and nothing is taken, if that is not enough.
  bool Charge(Use use, uint64_t bytes);
  // Takes at most `bytes`, in whole pages, and returns the amount.
  uint64_t ChargeUpTo(Use use, uint64_t bytes);
  // Returns capacity; for managed memory at most what is resident.
  void Refund(Use use, uint64_t bytes);

  // `bytes` of readable and writable addresses, aligned to 512 bytes; large requests take whole
  // pages, small ones share pages with others of the same use. *granted is the rounded size.
  bool Allocate(Use use, uint64_t bytes, uint64_t* address, uint64_t* granted);
  void Free(Use use, uint64_t address, uint64_t granted);
  // Whole pages; `bytes` is a multiple of kPageBytes.
  bool AllocatePages(Use use, uint64_t bytes, uint64_t* address);
  void FreePages(Use use, uint64_t address, uint64_t bytes);

  // Moves whole pages with their content into a memory file; the addresses stay the same. Nothing
  // may write to them meanwhile. Pages that are shared already stay in their file, whose bounds may
  // be wider. False if the file cannot be created.
  bool SharePages(uint64_t address, uint64_t bytes, SharedPages* pages);

  // Removes the use of the process from the device for a while, and restores it; false, and still
  // removed, if others took the memory meanwhile. For checkpoints.
  void SetAside();
  bool PutBack();

  // Whether the address lies in this device's range.
  bool Owns(uint64_t address) const { return address >= base_ && address < base_ + reserved_; }

 private:
  bool ChargeLocked(Use use, uint64_t bytes);
  bool PagesLocked(Use use, uint64_t bytes, uint64_t* address);
  void FreePagesLocked(Use use, uint64_t address, uint64_t bytes);
  uint64_t OwnLocked() const;
  uint64_t FreeLocked() const;
  void PublishLocked();
  RangeAllocator& Small(Use use) { return use == Use::kArray ? small_arrays_ : small_linear_; }

  const uint64_t capacity_;
  const std::unique_ptr<CapacityShare> share_;
  uint64_t mapping_ = 0;  // the mapping by mmap, of mapping_bytes_
  uint64_t mapping_bytes_ = 0;
  uint64_t base_ = 0;  // its aligned part
  uint64_t reserved_ = 0;
  mutable std::mutex mutex_;
  std::array<uint64_t, kUseCount> used_{};
  bool set_aside_ = false;
  std::map<uint64_t, SharedPages> shared_;  // by start
  AddressSpace pages_;
  RangeAllocator small_linear_{kPageBytes};
  RangeAllocator small_arrays_{kPageBytes};
};

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_DEVICE_MEMORY_H
