// Allocators made of one heap.
#include "analysis/allocators/pools.h"

#include <algorithm>
#include <utility>

#include "analysis/base/sizes.h"

namespace memprof::analysis::allocators {
namespace {

constexpr std::uint64_t kNeverSplit = kUnlimited;

}  // namespace

Place HeapAllocator::PlaceOf(Handle handle) const {
  return {heap_.block(handle).address, heap_.block(handle).bytes};
}

std::string HeapAllocator::Inconsistency() const {
  if (heap_.bytes() != figures_.reserved) return "reserved bytes are wrong";
  if (heap_.in_use() != figures_.allocated) return "allocated bytes are wrong";
  if (heap_.regions() != figures_.segments) return "the number of segments is wrong";
  return heap_.Inconsistency();
}

Handle HeapAllocator::TakeBlock(std::uint64_t size, std::uint64_t requested,
                                std::uint64_t least_rest) {
  const Heap::BlockNumber number = heap_.Take(size);
  if (number == Heap::kNone) return kNoHandle;
  if (heap_.block(number).bytes - size >= least_rest) heap_.Shrink(number, size);
  heap_.SetRequested(number, requested);
  figures_.allocated += heap_.block(number).bytes;
  return number;
}

std::uint64_t HeapAllocator::DoFree(Handle handle) {
  const std::uint64_t requested = heap_.block(handle).requested;
  figures_.allocated -= heap_.block(handle).bytes;
  heap_.Free(handle);
  return requested;
}

bool HeapAllocator::AddRegion(std::uint64_t bytes) {
  const std::uint64_t address = device_->Take(bytes);
  if (address == 0) return false;
  heap_.AddRegion(address, bytes);
  NoteReserved(bytes, 1);
  return true;
}

void HeapAllocator::ReleaseRegion(Heap::BlockNumber number) {
  device_->Give(heap_.block(number).bytes);
  NoteReleased(heap_.block(number).bytes, 1);
  heap_.RemoveRegion(number);
}

Handle CudaAllocator::DoAllocate(std::uint64_t bytes, StreamNumber) {
  // A block of its own pages is a region that nothing else is cut from.
  const bool own = bytes >= kPage;
  const std::uint64_t size = RoundUp(bytes, own ? kPage : 512);
  const Handle handle = own ? kNoHandle : TakeBlock(size, bytes, 512);
  if (handle != kNoHandle) {
    device_->Commit(0);  // counts as a call of the driver
    return handle;
  }
  if (!AddRegion(own ? size : kPage)) return kNoHandle;
  return TakeBlock(size, bytes, own ? kNeverSplit : 512);
}

std::uint64_t CudaAllocator::DoFree(Handle handle) {
  const std::uint64_t requested = HeapAllocator::DoFree(handle);
  if (heap_.IsRegion(handle)) {
    ReleaseRegion(handle);
  } else {
    device_->Uncommit(0);
  }
  return requested;
}

BfcAllocator::BfcAllocator(const BfcOptions& options, Device* device)
    : HeapAllocator(Heap::Fit::kBest, device), options_(options), next_region_(2 * kMiB) {}

Handle BfcAllocator::DoAllocate(std::uint64_t bytes, StreamNumber) {
  if (!std::exchange(started_, true) && options_.preallocate > 0) {
    AddRegion(RoundUp(options_.preallocate, kPage));
  }
  const std::uint64_t size = RoundUp(bytes, 256);
  const std::uint64_t least_rest = std::min(size, 128 * kMiB);
  const Handle handle = TakeBlock(size, bytes, least_rest);
  if (handle != kNoHandle) return handle;
  bool extended = Extend(size);
  if (!extended) {
    // Regions with nothing in use are released, to have memory for a larger one.
    ++figures_.retries;
    for (const Heap::BlockNumber number : heap_.FreeRegions()) ReleaseRegion(number);
    extended = Extend(size);
  }
  return extended ? TakeBlock(size, bytes, least_rest) : kNoHandle;
}

bool BfcAllocator::Extend(std::uint64_t size) {
  std::uint64_t available = kUnlimited;
  if (device_->capacity() != kUnlimited) {
    available = device_->capacity() - std::min(device_->capacity(), device_->used());
    available = available / kPage * kPage;
  }
  if (size > available) return false;
  bool increased = false;
  while (size > next_region_) {
    next_region_ *= 2;
    increased = true;
  }
  if (!AddRegion(std::min(next_region_, available))) return false;
  if (!increased && next_region_ < kMaxRequest) next_region_ *= 2;
  return true;
}

Handle AsyncPool::DoAllocate(std::uint64_t bytes, StreamNumber) {
  const std::uint64_t size = RoundUp(bytes, 512);
  const Handle handle = TakeBlock(size, bytes, 512);
  if (handle != kNoHandle) return handle;
  const std::uint64_t least = RoundUp(size, kPage);
  bool grown = AddRegion(std::max(least, 32 * kMiB)) || AddRegion(least);
  if (!grown) {
    ++figures_.retries;
    Trim(0);
    grown = AddRegion(least);
  }
  return grown ? TakeBlock(size, bytes, 512) : kNoHandle;
}

void AsyncPool::Trim(std::uint64_t keep) {
  if (figures_.reserved <= keep) return;
  for (const Heap::BlockNumber number : heap_.FreeRegions()) {
    if (figures_.reserved <= keep) return;
    ReleaseRegion(number);
  }
}

RmmPool::RmmPool(const RmmPoolOptions& options, Device* device)
    : HeapAllocator(options.first_fit ? Heap::Fit::kFirst : Heap::Fit::kBest, device),
      options_(options) {}

Handle RmmPool::DoAllocate(std::uint64_t bytes, StreamNumber) {
  if (!std::exchange(started_, true) && options_.initial > 0) {
    AddRegion(RoundUp(options_.initial, kPage));
  }
  const std::uint64_t size = RoundUp(bytes, 256);
  const Handle handle = TakeBlock(size, bytes, 256);
  if (handle != kNoHandle || !Grow(size)) return handle;
  return TakeBlock(size, bytes, 256);
}

bool RmmPool::Grow(std::uint64_t size) {
  for (std::uint64_t bytes = std::max(size, figures_.reserved);;
       bytes = std::max(size, bytes / 2)) {
    if (AddRegion(RoundUp(bytes, kPage))) return true;
    if (bytes == size) return false;
  }
}

}  // namespace memprof::analysis::allocators
