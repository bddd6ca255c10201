// Capacity, pages and small allocations of one device.
#include "simcuda/driver/device_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <vector>

namespace memprof::simcuda {
namespace {

// For fragmentation of addresses: as on a real device, there are far more addresses than memory.
constexpr uint64_t kAddressFactors[] = {4, 2, 1};

// Excludes other processes while it lives. Does nothing on a device that is not shared.
class ShareLock {
 public:
  explicit ShareLock(CapacityShare* share) : share_(share) {
    if (share_ != nullptr) share_->Lock();
  }
  ~ShareLock() {
    if (share_ != nullptr) share_->Unlock();
  }
  ShareLock(const ShareLock&) = delete;
  ShareLock& operator=(const ShareLock&) = delete;

 private:
  CapacityShare* const share_;
};

uint64_t MapAddresses(uint64_t bytes) {
  void* mapping =
      mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return 0;
  madvise(mapping, bytes, MADV_DONTDUMP);
  madvise(mapping, bytes, MADV_DONTFORK);
  return reinterpret_cast<uint64_t>(mapping);
}

// Writes the pages of the machine that have content to the same places of the file.
bool CopyTouched(uint64_t address, uint64_t bytes, int file) {
  constexpr uint64_t kUnit = 4096;
  constexpr uint64_t kThere = uint64_t{3} << 62;  // in memory or swapped out (proc(5))
  const int map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  std::vector<uint64_t> entries(512);
  bool good = true;
  for (uint64_t at = 0; at < bytes && good; at += entries.size() * kUnit) {
    const auto place = static_cast<off_t>((address + at) / kUnit * sizeof(uint64_t));
    const size_t wanted = std::min<uint64_t>(entries.size(), (bytes - at) / kUnit);
    // Without the map, take everything.
    if (map < 0 || pread(map, entries.data(), wanted * sizeof(uint64_t), place) !=
                       static_cast<ssize_t>(wanted * sizeof(uint64_t))) {
      std::fill(entries.begin(), entries.end(), kThere);
    }
    for (size_t i = 0; i < wanted && good; ++i) {
      if ((entries[i] & kThere) == 0) continue;
      const uint64_t offset = at + i * kUnit;
      good = pwrite(file, Ptr(address + offset), kUnit, static_cast<off_t>(offset)) ==
             static_cast<ssize_t>(kUnit);
    }
  }
  if (map >= 0) close(map);
  return good;
}

}  // namespace

DeviceMemory::DeviceMemory(uint64_t capacity, std::unique_ptr<CapacityShare> share,
                           bool upward_addresses)
    : capacity_(capacity), share_(std::move(share)) {
  const uint64_t pages = std::max(capacity / kPageBytes, uint64_t{1}) * kPageBytes;
  for (const uint64_t factor : kAddressFactors) {
    const uint64_t bytes = pages * factor + AddressSpace::kRangeBytes;
    mapping_ = MapAddresses(bytes);
    if (mapping_ == 0) continue;
    mapping_bytes_ = bytes;
    base_ = RoundUp(mapping_, AddressSpace::kRangeBytes);
    reserved_ = pages * factor;
    if (upward_addresses) {
      pages_.AddUpward(base_, reserved_);
    } else {
      pages_.Add(base_, reserved_);
    }
    return;
  }
}

DeviceMemory::~DeviceMemory() {
  for (const auto& [start, pages] : shared_) close(pages.descriptor);
  if (mapping_ != 0) munmap(Ptr(mapping_), mapping_bytes_);
}

uint64_t DeviceMemory::OwnLocked() const {
  return set_aside_ ? 0 : std::accumulate(used_.begin(), used_.end(), uint64_t{0});
}

uint64_t DeviceMemory::FreeLocked() const {
  const uint64_t taken = OwnLocked() + (share_ == nullptr ? 0 : share_->Others());
  return capacity_ - std::min(taken, capacity_);
}

void DeviceMemory::PublishLocked() {
  if (share_ != nullptr) share_->Publish(OwnLocked());
}

uint64_t DeviceMemory::other_bytes() const { return share_ == nullptr ? 0 : share_->Others(); }

void DeviceMemory::SetAside() {
  const std::lock_guard lock(mutex_);
  set_aside_ = true;
  PublishLocked();
}

bool DeviceMemory::PutBack() {
  const std::lock_guard lock(mutex_);
  const ShareLock share_lock(share_.get());
  const uint64_t room = FreeLocked();
  set_aside_ = false;
  if (OwnLocked() > room) set_aside_ = true;
  PublishLocked();
  return !set_aside_;
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
  const ShareLock share_lock(share_.get());
  const uint64_t free = FreeLocked();
  uint64_t& managed = used_[static_cast<int>(Use::kManaged)];
  if (bytes > free) {
    const uint64_t missing = RoundUp(bytes - free, kPageBytes);
    if (bytes > free + managed) return false;
    managed -= std::min(missing, managed);
  }
  used_[static_cast<int>(use)] += bytes;
  PublishLocked();
  return true;
}

bool DeviceMemory::Charge(Use use, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  return ChargeLocked(use, bytes);
}

uint64_t DeviceMemory::ChargeUpTo(Use use, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const ShareLock share_lock(share_.get());
  const uint64_t taken = std::min(bytes, FreeLocked() / kPageBytes * kPageBytes);
  used_[static_cast<int>(use)] += taken;
  PublishLocked();
  return taken;
}

void DeviceMemory::Refund(Use use, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  uint64_t& used = used_[static_cast<int>(use)];
  used -= std::min(bytes, used);
  PublishLocked();
}

bool DeviceMemory::PagesLocked(Use use, uint64_t bytes, uint64_t* address) {
  if (!ChargeLocked(use, bytes)) return false;
  if (pages_.Take(bytes, address)) {
    if (mprotect(Ptr(*address), bytes, PROT_READ | PROT_WRITE) == 0) return true;
    pages_.Free(*address, bytes);
  }
  used_[static_cast<int>(use)] -= bytes;
  PublishLocked();
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
  // Other mappings of these pages keep their content.
  for (auto entry = shared_.lower_bound(address);
       entry != shared_.end() && entry->first < address + bytes;) {
    close(entry->second.descriptor);
    entry = shared_.erase(entry);
  }
  pages_.Free(address, bytes);
  used_[static_cast<int>(use)] -= bytes;
  PublishLocked();
}

bool DeviceMemory::SharePages(uint64_t address, uint64_t bytes, SharedPages* pages) {
  const std::lock_guard lock(mutex_);
  auto known = shared_.upper_bound(address);
  if (known != shared_.begin()) {
    known = std::prev(known);
    if (address - known->first < known->second.bytes) {
      *pages = known->second;
      return address - known->first + bytes <= known->second.bytes;
    }
  }
  const int file = memfd_create("simcuda", MFD_CLOEXEC);
  if (file < 0) return false;
  if (ftruncate(file, static_cast<off_t>(bytes)) != 0 || !CopyTouched(address, bytes, file) ||
      mmap(Ptr(address), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
           file, 0) == MAP_FAILED) {
    close(file);
    return false;
  }
  madvise(Ptr(address), bytes, MADV_DONTFORK);
  *pages = {address, bytes, file};
  shared_.emplace(address, *pages);
  return true;
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
