// Places of and advice about the pages of managed memory.
#include "simcuda/driver/managed.h"

#include <algorithm>
#include <map>

#include "simcuda/driver/device.h"

namespace memprof::simcuda {

void ManagedPages::Place(Device* device) {
  const std::lock_guard lock(mutex_);
  const uint64_t room = device->memory().ChargeUpTo(Use::kManaged, pages_.size() * kPageBytes);
  for (size_t i = 0; i < room / kPageBytes; ++i) pages_[i].location = device->id();
}

void ManagedPages::Release() {
  const std::lock_guard lock(mutex_);
  std::map<int, uint64_t> held;
  for (Page& page : pages_) {
    if (page.location != CU_DEVICE_CPU) held[page.location] += kPageBytes;
    page.location = CU_DEVICE_CPU;
  }
  for (const auto& [device, bytes] : held) FindDevice(device)->memory().Refund(Use::kManaged, bytes);
}

void ManagedPages::Prefetch(size_t first, size_t last, int location) {
  const std::lock_guard lock(mutex_);
  std::map<int, uint64_t> left;
  uint64_t moved = 0;
  for (size_t i = first; i < last; ++i) {
    pages_[i].last_prefetch = location;
    if (pages_[i].location == location) continue;
    ++moved;
    if (pages_[i].location != CU_DEVICE_CPU) left[pages_[i].location] += kPageBytes;
  }
  for (const auto& [device, bytes] : left) FindDevice(device)->memory().Refund(Use::kManaged, bytes);
  uint64_t room = moved;
  if (location != CU_DEVICE_CPU) {
    room =
        FindDevice(location)->memory().ChargeUpTo(Use::kManaged, moved * kPageBytes) / kPageBytes;
  }
  for (size_t i = first; i < last; ++i) {
    if (pages_[i].location == location) continue;
    pages_[i].location = room > 0 ? location : CU_DEVICE_CPU;
    if (room > 0) --room;
  }
}

void ManagedPages::Advise(size_t first, size_t last, CUmem_advise advice, int location) {
  const std::lock_guard lock(mutex_);
  for (size_t i = first; i < last; ++i) {
    Page& page = pages_[i];
    switch (advice) {
      case CU_MEM_ADVISE_SET_READ_MOSTLY:
      case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
        page.read_mostly = advice == CU_MEM_ADVISE_SET_READ_MOSTLY;
        break;
      case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
        page.preferred = location;
        break;
      case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
        page.preferred = CU_DEVICE_INVALID;
        break;
      case CU_MEM_ADVISE_SET_ACCESSED_BY:
        page.accessed_by.insert(location);
        break;
      case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
        page.accessed_by.erase(location);
        break;
    }
  }
}

uint64_t ManagedPages::ResidentOn(int device) const {
  const std::lock_guard lock(mutex_);
  return kPageBytes *
         static_cast<uint64_t>(std::count_if(
             pages_.begin(), pages_.end(), [&](const Page& one) { return one.location == device; }));
}

bool ManagedPages::ReadMostly(size_t first, size_t last) const {
  const std::lock_guard lock(mutex_);
  return std::all_of(pages_.begin() + static_cast<std::ptrdiff_t>(first),
                     pages_.begin() + static_cast<std::ptrdiff_t>(last),
                     [](const Page& one) { return one.read_mostly; });
}

int ManagedPages::Common(size_t first, size_t last, int Page::*field) const {
  const std::lock_guard lock(mutex_);
  for (size_t i = first; i < last; ++i) {
    if (pages_[i].*field != pages_[first].*field) return CU_DEVICE_INVALID;
  }
  return pages_[first].*field;
}

int ManagedPages::PreferredLocation(size_t first, size_t last) const {
  return Common(first, last, &Page::preferred);
}

int ManagedPages::LastPrefetch(size_t first, size_t last) const {
  return Common(first, last, &Page::last_prefetch);
}

std::vector<int> ManagedPages::AccessedBy(size_t first, size_t last) const {
  const std::lock_guard lock(mutex_);
  std::vector<int> all;
  for (const int location : pages_[first].accessed_by) {
    const bool everywhere = std::all_of(
        pages_.begin() + static_cast<std::ptrdiff_t>(first),
        pages_.begin() + static_cast<std::ptrdiff_t>(last),
        [&](const Page& one) { return one.accessed_by.contains(location); });
    if (everywhere) all.push_back(location);
  }
  return all;
}

}  // namespace memprof::simcuda
