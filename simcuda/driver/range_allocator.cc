// Best-fit bookkeeping of free address ranges.
#include "simcuda/driver/range_allocator.h"

#include <iterator>

namespace memprof::simcuda {

void RangeAllocator::Insert(uint64_t address, uint64_t bytes) {
  by_address_.emplace(address, bytes);
  by_size_.emplace(bytes, address);
  free_bytes_ += bytes;
}

void RangeAllocator::Erase(std::map<uint64_t, uint64_t>::iterator range) {
  by_size_.erase({range->second, range->first});
  free_bytes_ -= range->second;
  by_address_.erase(range);
}

std::pair<uint64_t, uint64_t> RangeAllocator::Add(uint64_t address, uint64_t bytes) {
  auto next = by_address_.lower_bound(address);
  if (next != by_address_.end() && next->first == address + bytes && CanMerge(next->first)) {
    bytes += next->second;
    const auto merged = next++;
    Erase(merged);
  }
  if (next != by_address_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == address && CanMerge(address)) {
      address = previous->first;
      bytes += previous->second;
      Erase(previous);
    }
  }
  Insert(address, bytes);
  return {address, bytes};
}

bool RangeAllocator::Take(uint64_t bytes, uint64_t* address) {
  const auto fit = by_size_.lower_bound({bytes, 0});
  if (fit == by_size_.end()) return false;
  *address = fit->second;
  return TakeAt(fit->second, bytes);
}

bool RangeAllocator::TakeAt(uint64_t address, uint64_t bytes) {
  auto range = by_address_.upper_bound(address);
  if (range == by_address_.begin()) return false;
  range = std::prev(range);
  const uint64_t start = range->first;
  const uint64_t end = start + range->second;
  if (address >= end || bytes > end - address || bytes == 0) return false;
  Erase(range);
  if (address > start) Insert(start, address - start);
  if (address + bytes < end) Insert(address + bytes, end - address - bytes);
  return true;
}

}  // namespace memprof::simcuda
