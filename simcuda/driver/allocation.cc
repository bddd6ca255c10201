// The table of allocations by address.
#include "simcuda/driver/allocation.h"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>
#include <mutex>

#include "simcuda/driver/context.h"
#include "simcuda/driver/device.h"
#include "simcuda/driver/managed.h"
#include "simcuda/driver/pool.h"

namespace memprof::simcuda {

bool AllocationTable::Add(std::shared_ptr<Allocation> allocation) {
  const std::unique_lock lock(mutex_);
  const uint64_t start = allocation->address;
  const uint64_t end = start + std::max(allocation->granted, uint64_t{1});
  const auto next = by_address_.lower_bound(start);
  if (next != by_address_.end() && next->first < end) return false;
  if (next != by_address_.begin()) {
    const Allocation& previous = *std::prev(next)->second;
    if (previous.address + previous.granted > start) return false;
  }
  allocation->id = next_id_++;
  by_address_.emplace_hint(next, start, std::move(allocation));
  return true;
}

std::shared_ptr<Allocation> AllocationTable::Find(uint64_t address) const {
  const std::shared_lock lock(mutex_);
  const auto next = by_address_.upper_bound(address);
  if (next == by_address_.begin()) return nullptr;
  const auto& found = std::prev(next)->second;
  return address < found->address + found->granted ? found : nullptr;
}

std::shared_ptr<Allocation> AllocationTable::Remove(
    uint64_t address, const std::function<bool(const Allocation&)>& accept) {
  const std::unique_lock lock(mutex_);
  const auto found = by_address_.find(address);
  if (found == by_address_.end() || !accept(*found->second)) return nullptr;
  auto allocation = std::move(found->second);
  by_address_.erase(found);
  return allocation;
}

std::vector<std::shared_ptr<Allocation>> AllocationTable::RemoveIf(
    const std::function<bool(const Allocation&)>& accept) {
  std::vector<std::shared_ptr<Allocation>> removed;
  const std::unique_lock lock(mutex_);
  for (auto entry = by_address_.begin(); entry != by_address_.end();) {
    if (accept(*entry->second)) {
      removed.push_back(std::move(entry->second));
      entry = by_address_.erase(entry);
    } else {
      ++entry;
    }
  }
  return removed;
}

std::shared_ptr<Allocation> AllocationTable::FindIf(
    const std::function<bool(const Allocation&)>& accept) const {
  const std::shared_lock lock(mutex_);
  for (const auto& [address, allocation] : by_address_) {
    if (accept(*allocation)) return allocation;
  }
  return nullptr;
}

uint64_t AllocationTable::Count(const std::function<bool(const Allocation&)>& accept) const {
  const std::shared_lock lock(mutex_);
  return static_cast<uint64_t>(
      std::count_if(by_address_.begin(), by_address_.end(),
                    [&](const auto& entry) { return accept(*entry.second); }));
}

AllocationTable& Allocations() {
  static auto* table = new AllocationTable;
  return *table;
}

bool InsideAllocations(uint64_t address, uint64_t bytes) {
  const uint64_t end = address + bytes;
  if (end < address) return false;
  do {
    const auto found = Allocations().Find(address);
    if (found == nullptr || !found->readable) return false;
    address = found->address + found->granted;
    // The rounded-up part of an allocation does not join the next one.
    if (address < end && found->kind != AllocationKind::kMapped) return false;
  } while (address < end);
  return true;
}

void ReleaseAllocation(const Allocation& allocation) {
  Device* device = FindDevice(allocation.device);
  switch (allocation.kind) {
    case AllocationKind::kLinear:
    case AllocationKind::kGlobal:
      device->memory().Free(Use::kLinear, allocation.address, allocation.granted);
      break;
    case AllocationKind::kManaged:
      munmap(reinterpret_cast<void*>(allocation.address), allocation.granted);
      allocation.pages->Release();
      break;
    case AllocationKind::kPinned:
      munmap(reinterpret_cast<void*>(allocation.address), allocation.granted);
      break;
    case AllocationKind::kStreamOrdered:
      allocation.pool->Release(allocation.address, allocation.granted);
      break;
    case AllocationKind::kIpc:
    case AllocationKind::kImported:
    case AllocationKind::kGraphics:
      munmap(reinterpret_cast<void*>(allocation.mapping), allocation.mapping_bytes);
      break;
    case AllocationKind::kRegistered:
    case AllocationKind::kMapped:
    case AllocationKind::kGraph:
      break;
  }
}

void FreeAllocationsOf(uint32_t context_uid) {
  const auto removed = Allocations().RemoveIf([&](const Allocation& allocation) {
    return allocation.context != nullptr && allocation.context->uid() == context_uid;
  });
  for (const auto& allocation : removed) ReleaseAllocation(*allocation);
}

}  // namespace memprof::simcuda
