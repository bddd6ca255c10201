// PyTorch's caching allocator: freeing of blocks, and release of segments to the device.
#include <algorithm>

#include "analysis/allocators/caching.h"

namespace memprof::analysis::allocators {

std::uint64_t CachingAllocator::DoFree(Handle handle) {
  Block& block = blocks_[handle];
  const std::uint64_t requested = block.requested;
  figures_.allocated -= block.bytes;
  block.in_use = false;
  block.requested = 0;
  Merge(handle, block.previous);
  Merge(handle, block.next);
  InsertFree(handle);
  return requested;
}

// `number`, which is in no list, swallows a neighbour that is free and as mapped as it is.
void CachingAllocator::Merge(BlockNumber number, BlockNumber neighbour) {
  if (neighbour == kNone) return;
  Block& block = blocks_[number];
  const Block& other = blocks_[neighbour];
  if (other.in_use || other.mapped != block.mapped) return;
  if (other.mapped) {
    EraseFree(neighbour);
  } else {
    pools_[other.pool].unmapped.erase(AddressKey(neighbour));
  }
  if (neighbour == block.previous) {
    block.address = other.address;
    block.previous = other.previous;
    if (block.previous != kNone) blocks_[block.previous].next = number;
  } else {
    block.next = other.next;
    if (block.next != kNone) blocks_[block.next].previous = number;
  }
  block.bytes += other.bytes;
  DropBlock(neighbour);
}

void CachingAllocator::CollectGarbage() {
  const std::uint64_t limit = std::min(options_.limit, device_->capacity());
  if (options_.gc_threshold <= 0 || limit == kUnlimited) return;
  const auto threshold =
      static_cast<std::uint64_t>(options_.gc_threshold * static_cast<double>(limit));
  if (figures_.reserved <= threshold) return;
  const std::uint64_t target = figures_.reserved - threshold;
  std::vector<BlockNumber> cached;
  double total_age = 0;
  for (const Key& key : cached_[0].whole) {
    if (IsSmall(blocks_[key.block].pool)) continue;
    cached.push_back(key.block);
    total_age += static_cast<double>(Age(blocks_[key.block]));
  }
  std::uint64_t reclaimed = 0;
  bool progress = true;
  while (reclaimed < target && progress && !cached.empty()) {
    const double threshold_age = total_age / static_cast<double>(cached.size());
    progress = false;
    std::vector<BlockNumber> kept;
    for (const BlockNumber number : cached) {
      const auto age = static_cast<double>(Age(blocks_[number]));
      if (age < threshold_age) {
        kept.push_back(number);
        continue;
      }
      progress = true;
      reclaimed += blocks_[number].bytes;
      total_age -= age;
      Release(number);
    }
    cached = std::move(kept);
  }
}

// Releases cached oversize segments of the pool: the smallest that suffices alone, else the largest
// ones until they suffice. False if they do not.
bool CachingAllocator::ReleaseOversize(std::uint64_t size, std::uint32_t pool) {
  if (options_.max_split == kUnlimited || options_.expandable) return false;
  auto& free = pools_[pool].free;
  const std::uint64_t wanted = std::max(size, options_.max_split);
  const auto found = free.lower_bound({.bytes = wanted});
  if (found != free.end()) {
    Release(found->block);
    return true;
  }
  std::uint64_t released = 0;
  while (released < wanted && !free.empty() && free.rbegin()->bytes >= options_.max_split) {
    released += free.rbegin()->bytes;
    Release(free.rbegin()->block);
  }
  return released >= wanted;
}

// In time proportional to what is released, not to what is cached: on a full device it is called at
// each request.
void CachingAllocator::EmptyCache() {
  auto& [whole, unmappable] = cached_[0];
  while (!whole.empty()) Release(whole.begin()->block);
  // Segments that are not unmapped here have no whole free page, until they grow.
  const std::vector<BlockNumber> expandable(unmappable.begin(), unmappable.end());
  for (const BlockNumber number : expandable) Unmap(number);
  unmappable.clear();
}

void CachingAllocator::SetPrivate(StreamNumber stream) {
  if (stream >= private_streams_.size()) private_streams_.resize(std::size_t{stream} + 1);
  private_streams_[stream] = true;
}

void CachingAllocator::EmptyPrivate(StreamNumber stream) {
  std::vector<BlockNumber> released, unmapped;
  for (const Key& key : cached_[1].whole)
    if (blocks_[key.block].pool / 2 == stream) released.push_back(key.block);
  for (const BlockNumber number : cached_[1].unmappable)
    if (blocks_[number].pool / 2 == stream) unmapped.push_back(number);
  for (const BlockNumber number : released) Release(number);
  for (const BlockNumber number : unmapped) Unmap(number);
}

bool CachingAllocator::ReleaseSegment(std::uint64_t bytes, std::uint64_t address) {
  if (options_.expandable) {  // pages are only released all at once
    EmptyCache();
    return true;
  }
  const auto release = [&](absl::btree_set<Key>& whole, const Key& wanted, bool there) {
    const auto found = whole.lower_bound(wanted);
    if (found == whole.end() || found->bytes != bytes || (there && found->address != address))
      return false;
    Release(found->block);
    return true;
  };
  for (const bool there : {true, false})
    for (Cached& cached : cached_)
      if (release(cached.whole, {.bytes = bytes, .address = there ? address : 0}, there))
        return true;
  return false;
}

void CachingAllocator::Release(BlockNumber number) {
  EraseFree(number);
  device_->Give(blocks_[number].bytes);
  NoteReleased(blocks_[number].bytes, 1);
  DropBlock(number);
}

}  // namespace memprof::analysis::allocators
