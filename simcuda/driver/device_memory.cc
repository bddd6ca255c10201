// Capacity, pages and small allocations of one device.
#include "simcuda/driver/device_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <numeric>

namespace memprof::simcuda {
namespace {

// Room for fragmentation of addresses: as on a real device, addresses are far more plentiful than
// memory.
constexpr uint64_t kAddressFactors[] = {4, 2, 1};

void* Ptr(uint64_t address) { return reinterpret_cast<void*>(address); }

uint64_t MapAddresses(uint64_t bytes) {
  void* mapping =
      mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return 0;
  madvise(mapping, bytes, MADV_DONTDUMP);
  madvise(mapping, bytes, MADV_DONTFORK);
  return reinterpret_cast<uint64_t>(mapping);
}

}  // namespace

DeviceMemory::DeviceMemory(uint64_t capacity) : capacity_(capacity) {
  const uint64_t pages = std::max(capacity / kPageBytes, uint64_t{1}) * kPageBytes;
  for (const uint64_t factor : kAddressFactors) {
    const uint64_t bytes = pages * factor + kPageBytes;
    mapping_ = MapAddresses(bytes);
    if (mapping_ == 0) continue;
    mapping_bytes_ = bytes;
    base_ = RoundUp(mapping_, kPageBytes);
    reserved_ = pages * factor;
    pages_.Add(base_, reserved_);
    return;
  }
}

DeviceMemory::~DeviceMemory() {
  if (mapping_ != 0) munmap(Ptr(mapping_), mapping_bytes_);
}

uint64_t DeviceMemory::FreeLocked() const {
  return capacity_ - std::accumulate(used_.begin(), used_.end(), uint64_t{0});
}

uint64_t DeviceMemory::free_bytes() const {
  const std::lock_guard lock(mutex_);
  return FreeLocked();
}

uint64_t DeviceMemory::used(Use use) const {
  const std::lock_guard lock(mutex_);
  return used_[static_cast<int>(use)];
}

bool DeviceMemory::ChargeLocked(Use use, uint64_t bytes) {
  const uint64_t free = FreeLocked();
  uint64_t& managed = used_[static_cast<int>(Use::kManaged)];
  if (bytes > free) {
    const uint64_t missing = RoundUp(bytes - free, kPageBytes);
    if (bytes > free + managed) return false;
    managed -= std::min(missing, managed);
  }
  used_[static_cast<int>(use)] += bytes;
  return true;
}

bool DeviceMemory::Charge(Use use, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  return ChargeLocked(use, bytes);
}

uint64_t DeviceMemory::ChargeUpTo(Use use, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const uint64_t taken = std::min(bytes, FreeLocked() / kPageBytes * kPageBytes);
  used_[static_cast<int>(use)] += taken;
  return taken;
}

void DeviceMemory::Refund(Use use, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  uint64_t& used = used_[static_cast<int>(use)];
  used -= std::min(bytes, used);
}

bool DeviceMemory::PagesLocked(Use use, uint64_t bytes, uint64_t* address) {
  if (!ChargeLocked(use, bytes)) return false;
  if (pages_.Take(bytes, address)) {
    if (mprotect(Ptr(*address), bytes, PROT_READ | PROT_WRITE) == 0) return true;
    pages_.Add(*address, bytes);
  }
  used_[static_cast<int>(use)] -= bytes;
  return false;
}

void DeviceMemory::FreePagesLocked(Use use, uint64_t address, uint64_t bytes) {
  // A fresh mapping over the old one gives the memory back and makes stale pointers fault.
  if (mmap(Ptr(address), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
           -1, 0) == MAP_FAILED) {
    madvise(Ptr(address), bytes, MADV_DONTNEED);
  } else {
    madvise(Ptr(address), bytes, MADV_DONTDUMP);
    madvise(Ptr(address), bytes, MADV_DONTFORK);
  }
  pages_.Add(address, bytes);
  used_[static_cast<int>(use)] -= bytes;
}

bool DeviceMemory::AllocatePages(Use use, uint64_t bytes, uint64_t* address) {
  const std::lock_guard lock(mutex_);
  return PagesLocked(use, bytes, address);
}

void DeviceMemory::FreePages(Use use, uint64_t address, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  FreePagesLocked(use, address, bytes);
}

bool DeviceMemory::Allocate(Use use, uint64_t bytes, uint64_t* address, uint64_t* granted) {
  if (bytes > capacity_) return false;
  const std::lock_guard lock(mutex_);
  if (bytes >= kPageBytes) {
    *granted = RoundUp(bytes, kPageBytes);
    return PagesLocked(use, *granted, address);
  }
  *granted = RoundUp(std::max(bytes, uint64_t{1}), kSmallAlignment);
  RangeAllocator& small = Small(use);
  if (small.Take(*granted, address)) return true;
  uint64_t page = 0;
  if (!PagesLocked(use, kPageBytes, &page)) return false;
  small.Add(page, kPageBytes);
  return small.Take(*granted, address);
}

void DeviceMemory::Free(Use use, uint64_t address, uint64_t granted) {
  const std::lock_guard lock(mutex_);
  if (granted >= kPageBytes) {
    FreePagesLocked(use, address, granted);
    return;
  }
  RangeAllocator& small = Small(use);
  const auto [start, bytes] = small.Add(address, granted);
  if (bytes == kPageBytes) {
    small.TakeAt(start, bytes);
    FreePagesLocked(use, start, bytes);
  }
}

}  // namespace memprof::simcuda
