// Splits, merges and caches blocks of device memory; the rules are in the header.
#include "demo_trainer/allocator/caching_allocator.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "demo_trainer/error.h"

namespace memprof::demo {
namespace {

size_t RoundUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

size_t SegmentBytes(size_t size) {
  if (size <= kSmallLimit) return kSmallSegment;
  if (size < kLargeLimit) return kLargeSegment;
  return RoundUp(size, kSegmentRounding);
}

}  // namespace

struct CachingAllocator::Block {
  char* address = nullptr;
  size_t bytes = 0;
  size_t requested = 0;
  StreamHandle stream = nullptr;
  bool small = false;
  bool in_use = false;
  Block* previous = nullptr;  // neighbours in the same segment
  Block* next = nullptr;
  char* segment = nullptr;
  std::vector<StreamHandle> other_streams;
  int pending_events = 0;
};

bool CachingAllocator::BySize::operator()(const Block* a, const Block* b) const {
  return std::tie(a->stream, a->bytes, a->address) < std::tie(b->stream, b->bytes, b->address);
}

CachingAllocator::CachingAllocator(const CachingAllocatorOptions& options, DeviceDriver* driver,
                                   AllocatorObserver* observer)
    : options_(options), driver_(driver), observer_(observer) {}

CachingAllocator::~CachingAllocator() {
  try {
    EmptyCache();
  } catch (const Error&) {
    // The device is lost: nothing can be freed.
  }
}

CachingAllocator::FreeList& CachingAllocator::PoolOf(const Block& block) {
  return block.small ? small_ : large_;
}

void* CachingAllocator::Allocate(size_t bytes, StreamHandle stream) {
  if (bytes == 0) return nullptr;
  if (!pending_.empty()) ProcessEvents(/*wait=*/false);
  const size_t size = RoundUp(bytes, kBlockRounding);
  Block* block = FindFree(size, stream);
  if (block == nullptr) block = NewSegment(size, stream);
  if (block == nullptr) {
    ++stats_.ooms;
    observer_->OutOfMemory(bytes, stats_.allocated.current, stats_.reserved.current);
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    driver_->MemoryInfo(&free_bytes, &total_bytes);
    throw OutOfMemory(OutOfMemoryLine(options_.device, bytes, free_bytes, total_bytes, stats_));
  }
  if (ShouldSplit(*block, size)) Split(block, size);
  block->in_use = true;
  block->requested = bytes;
  stats_.allocated.Add(block->bytes);
  stats_.requested.Add(bytes);
  stats_.blocks.Add(1);
  ++stats_.allocations;
  observer_->BlockCreated(block->address, block->bytes, bytes, stream);
  return block->address;
}

CachingAllocator::Block* CachingAllocator::FindFree(size_t size, StreamHandle stream) {
  FreeList& pool = size <= kSmallLimit ? small_ : large_;
  Block key;
  key.stream = stream;
  key.bytes = size;
  const auto found = pool.lower_bound(&key);
  if (found == pool.end() || (*found)->stream != stream) return nullptr;
  Block* block = *found;
  const bool oversize_request = size >= options_.max_split_bytes;
  if (!oversize_request && block->bytes >= options_.max_split_bytes) return nullptr;
  if (oversize_request && block->bytes >= size + kLargeSegment) return nullptr;
  pool.erase(found);
  return block;
}

CachingAllocator::Block* CachingAllocator::NewSegment(size_t size, StreamHandle stream) {
  const size_t bytes = SegmentBytes(size);
  void* memory = driver_->Allocate(bytes);
  if (memory == nullptr) {
    ++stats_.retries;
    if (ReleaseOversize(bytes)) memory = driver_->Allocate(bytes);
  }
  if (memory == nullptr && ReleaseUnused()) memory = driver_->Allocate(bytes);
  if (memory == nullptr) return nullptr;
  auto block = std::make_unique<Block>();
  block->address = block->segment = static_cast<char*>(memory);
  block->bytes = bytes;
  block->stream = stream;
  block->small = size <= kSmallLimit;
  stats_.reserved.Add(bytes);
  stats_.segments.Add(1);
  observer_->SegmentCreated(memory, bytes, stream);
  return (blocks_[memory] = std::move(block)).get();
}

bool CachingAllocator::ShouldSplit(const Block& block, size_t size) const {
  const size_t remaining = block.bytes - size;
  if (block.small) return remaining >= kBlockRounding;
  return size < options_.max_split_bytes && remaining > kSmallLimit;
}

// Keeps the first `size` bytes in `block`; the rest becomes a free block after it.
void CachingAllocator::Split(Block* block, size_t size) {
  auto rest = std::make_unique<Block>();
  rest->address = block->address + size;
  rest->bytes = block->bytes - size;
  rest->stream = block->stream;
  rest->small = block->small;
  rest->segment = block->segment;
  rest->previous = block;
  rest->next = block->next;
  if (rest->next != nullptr) rest->next->previous = rest.get();
  block->next = rest.get();
  block->bytes = size;
  PoolOf(*rest).insert(rest.get());
  void* const address = rest->address;
  blocks_[address] = std::move(rest);
}

void CachingAllocator::Free(void* ptr) {
  if (ptr == nullptr) return;
  const auto found = blocks_.find(ptr);
  if (found == blocks_.end() || !found->second->in_use || found->second->pending_events > 0) {
    throw Error("the caching allocator was given a pointer that is not in use");
  }
  Block* block = found->second.get();
  observer_->BlockEnding(ptr);
  stats_.allocated.Subtract(block->bytes);
  stats_.requested.Subtract(block->requested);
  stats_.blocks.Subtract(1);
  ++stats_.frees;
  if (block->other_streams.empty()) {
    Release(block);
    return;
  }
  for (StreamHandle stream : std::exchange(block->other_streams, {})) {
    pending_.emplace_back(driver_->RecordEvent(stream), block);
    ++block->pending_events;
  }
}

void CachingAllocator::RecordStream(void* ptr, StreamHandle stream) {
  const auto found = blocks_.find(ptr);
  if (found == blocks_.end() || found->second->stream == stream) return;
  auto& streams = found->second->other_streams;
  if (std::find(streams.begin(), streams.end(), stream) == streams.end()) {
    streams.push_back(stream);
  }
}

// Makes a block available again: merges it with its free neighbours and returns it to its pool.
void CachingAllocator::Release(Block* block) {
  block->in_use = false;
  block->requested = 0;
  for (Block* neighbour : {block->previous, block->next}) {
    if (neighbour != nullptr && !neighbour->in_use) Merge(block, neighbour);
  }
  PoolOf(*block).insert(block);
}

// Joins a free neighbour to `block`.
void CachingAllocator::Merge(Block* block, Block* neighbour) {
  PoolOf(*neighbour).erase(neighbour);
  std::unique_ptr<Block> swallowed = std::move(blocks_.at(neighbour->address));
  blocks_.erase(neighbour->address);
  if (neighbour == block->previous) {
    auto self = blocks_.extract(block->address);
    block->address = neighbour->address;
    block->previous = neighbour->previous;
    if (block->previous != nullptr) block->previous->next = block;
    self.key() = block->address;
    blocks_.insert(std::move(self));
  } else {
    block->next = neighbour->next;
    if (block->next != nullptr) block->next->previous = block;
  }
  block->bytes += neighbour->bytes;
}

// Releases blocks whose use on other streams has ended.
void CachingAllocator::ProcessEvents(bool wait) {
  std::vector<std::pair<DeviceDriver::Event, Block*>> still_pending;
  for (const auto& [event, block] : std::exchange(pending_, {})) {
    if (wait) {
      driver_->WaitFor(event);
    } else if (!driver_->TakeIfDone(event)) {
      still_pending.emplace_back(event, block);
      continue;
    }
    if (--block->pending_events == 0) Release(block);
  }
  pending_ = std::move(still_pending);
}

// Releases unused oversize segments: the smallest that suffices alone, else the largest ones
// until they suffice. False when the oversize ones do not suffice.
bool CachingAllocator::ReleaseOversize(size_t size) {
  if (options_.max_split_bytes == std::numeric_limits<size_t>::max()) return false;
  std::vector<Block*> candidates;
  for (Block* block : large_) {
    const bool whole = block->previous == nullptr && block->next == nullptr;
    if (whole && block->bytes >= options_.max_split_bytes) candidates.push_back(block);
  }
  std::sort(candidates.begin(), candidates.end(), [](const Block* a, const Block* b) {
    return std::tie(a->bytes, a->address) < std::tie(b->bytes, b->address);
  });
  const auto enough = std::find_if(candidates.begin(), candidates.end(),
                                   [&](const Block* block) { return block->bytes >= size; });
  if (enough != candidates.end()) {
    ReleaseSegment(*enough);
    return true;
  }
  size_t released = 0;
  for (auto it = candidates.rbegin(); it != candidates.rend() && released < size; ++it) {
    released += (*it)->bytes;
    ReleaseSegment(*it);
  }
  return released >= size;
}

bool CachingAllocator::ReleaseUnused() {
  ProcessEvents(/*wait=*/true);
  std::vector<Block*> whole;
  for (const FreeList* pool : {&small_, &large_}) {
    for (Block* block : *pool) {
      if (block->previous == nullptr && block->next == nullptr) whole.push_back(block);
    }
  }
  for (Block* block : whole) ReleaseSegment(block);
  return !whole.empty();
}

void CachingAllocator::ReleaseSegment(Block* block) {
  char* const address = block->address;
  PoolOf(*block).erase(block);
  stats_.reserved.Subtract(block->bytes);
  stats_.segments.Subtract(1);
  blocks_.erase(address);
  observer_->SegmentEnding(address);
  driver_->Free(address);
}

void CachingAllocator::EmptyCache() { ReleaseUnused(); }

std::vector<CachingAllocator::BlockView> CachingAllocator::Blocks() const {
  std::vector<BlockView> views;
  views.reserve(blocks_.size());
  for (const auto& [address, block] : blocks_) {
    views.push_back({reinterpret_cast<uintptr_t>(address), block->bytes,
                     reinterpret_cast<uintptr_t>(block->segment), block->in_use, block->stream});
  }
  std::sort(views.begin(), views.end(),
            [](const BlockView& a, const BlockView& b) { return a.address < b.address; });
  return views;
}

}  // namespace memprof::demo
