// Stream-ordered memory pools.
#include "simcuda/driver/pool.h"

#include <algorithm>
#include <atomic>
#include <iterator>

#include "simcuda/driver/device.h"
#include "simcuda/driver/handles.h"

namespace memprof::simcuda {
namespace {

// Pools of real drivers grow in steps of this size.
constexpr uint64_t kChunkBytes = uint64_t{32} << 20;

std::atomic<uint64_t> g_next_id{1};

}  // namespace

Pool::Pool(Device* device, uint64_t max_bytes)
    : device_(device), max_bytes_(max_bytes), id_(g_next_id++) {}

bool Pool::ChunkOf(uint64_t address, uint64_t* start, uint64_t* bytes) const {
  const std::lock_guard lock(mutex_);
  auto chunk = chunks_.upper_bound(address);
  if (chunk == chunks_.begin()) return false;
  chunk = std::prev(chunk);
  *start = chunk->first;
  *bytes = chunk->second;
  return address - chunk->first < chunk->second;
}

std::shared_ptr<Pool> Pool::Create(Device* device, uint64_t max_bytes) {
  auto pool = std::make_shared<Pool>(device, max_bytes);
  AllHandles<Pool>().Add(pool);
  return pool;
}

Pool::~Pool() {
  for (const auto& [address, bytes] : chunks_) {
    device_->memory().FreePages(Use::kPool, address, bytes);
  }
}

bool Pool::TakePendingOf(const Stream* stream, uint64_t bytes, uint64_t* address) {
  auto best = pending_.end();
  for (auto entry = pending_.begin(); entry != pending_.end(); ++entry) {
    if (entry->after.stream.get() != stream || entry->bytes < bytes) continue;
    if (best == pending_.end() || entry->bytes < best->bytes) best = entry;
  }
  if (best == pending_.end()) return false;
  *address = best->address;
  best->address += bytes;
  best->bytes -= bytes;
  if (best->bytes == 0) pending_.erase(best);
  return true;
}

void Pool::ReapLocked() {
  for (auto entry = pending_.begin(); entry != pending_.end();) {
    if (entry->after.Reached()) {
      free_.Add(entry->address, entry->bytes);
      entry = pending_.erase(entry);
    } else {
      ++entry;
    }
  }
}

bool Pool::TakeLocked(uint64_t bytes, const std::shared_ptr<Stream>& stream, uint64_t* address) {
  if (TakePendingOf(stream.get(), bytes, address)) return true;
  if (reuse_opportunistic_ != 0) ReapLocked();
  return free_.Take(bytes, address);
}

bool Pool::GrowLocked(uint64_t bytes) {
  const uint64_t least = RoundUp(bytes, kPageBytes);
  for (const uint64_t chunk : {std::max(least, kChunkBytes), least}) {
    if (max_bytes_ != 0 && reserved_ + chunk > max_bytes_) continue;
    uint64_t address = 0;
    if (!device_->memory().AllocatePages(Use::kPool, chunk, &address)) continue;
    chunks_.emplace(address, chunk);
    // Chunks may be neighbours; a free range never reaches over two of them.
    free_.SetBarrier(address);
    free_.Add(address, chunk);
    reserved_ += chunk;
    reserved_high_ = std::max(reserved_high_, reserved_);
    return true;
  }
  return false;
}

CUresult Pool::Allocate(uint64_t bytes, const std::shared_ptr<Stream>& stream, uint64_t* address,
                        uint64_t* granted, std::vector<StreamPoint>* after) {
  if (bytes > device_->memory().capacity()) return CUDA_ERROR_OUT_OF_MEMORY;
  *granted = RoundUp(bytes, kSmallAlignment);
  std::unique_lock lock(mutex_);
  bool found = TakeLocked(*granted, stream, address);
  if (!found && GrowLocked(*granted)) found = free_.Take(*granted, address);
  if (!found && reuse_internal_ != 0) {
    // Memory that another stream is about to free is used, if this stream waits for it.
    for (auto entry = pending_.begin(); entry != pending_.end() && !found; ++entry) {
      if (entry->bytes < *granted) continue;
      after->push_back(entry->after);
      found = TakePendingOf(entry->after.stream.get(), *granted, address);
      break;
    }
  }
  if (!found) {
    // Other pools may have unused memory.
    lock.unlock();
    TrimPoolsOf(device_);
    lock.lock();
    found = TakeLocked(*granted, stream, address) ||
            (GrowLocked(*granted) && free_.Take(*granted, address));
  }
  if (!found) return CUDA_ERROR_OUT_OF_MEMORY;
  used_ += *granted;
  used_high_ = std::max(used_high_, used_);
  return CUDA_SUCCESS;
}

void Pool::FreeAsync(uint64_t address, uint64_t granted, const StreamPoint& after) {
  std::unique_lock lock(mutex_);
  if (abandoned_) {
    lock.unlock();
    after.Wait();
    Release(address, granted);
    return;
  }
  used_ -= granted;
  pending_.push_back({address, granted, after});
}

void Pool::Release(uint64_t address, uint64_t granted) {
  const std::lock_guard lock(mutex_);
  used_ -= granted;
  free_.Add(address, granted);
  if (abandoned_) TrimLocked(0);
}

void Pool::TrimLocked(uint64_t keep) {
  ReapLocked();
  for (auto chunk = chunks_.begin(); chunk != chunks_.end() && reserved_ > keep;) {
    const auto range = free_.ranges().find(chunk->first);
    if (range == free_.ranges().end() || range->second != chunk->second) {
      ++chunk;
      continue;
    }
    free_.TakeAt(chunk->first, chunk->second);
    free_.ClearBarrier(chunk->first);
    device_->memory().FreePages(Use::kPool, chunk->first, chunk->second);
    reserved_ -= chunk->second;
    chunk = chunks_.erase(chunk);
  }
}

void Pool::Trim(uint64_t keep) {
  const std::lock_guard lock(mutex_);
  TrimLocked(keep);
}

void Pool::Synchronised() {
  const std::lock_guard lock(mutex_);
  ReapLocked();
  if (reserved_ > threshold_) TrimLocked(threshold_);
}

void Pool::Abandon() {
  std::unique_lock lock(mutex_);
  abandoned_ = true;
  const std::list<Pending> pending = pending_;
  lock.unlock();
  for (const Pending& one : pending) one.after.Wait();
  lock.lock();
  TrimLocked(0);
}

uint64_t Pool::reserved() const {
  const std::lock_guard lock(mutex_);
  return reserved_;
}

uint64_t Pool::used() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

CUresult Pool::GetAttribute(CUmemPool_attribute attribute, void* value) {
  const std::lock_guard lock(mutex_);
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
      *static_cast<int*>(value) = reuse_event_;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
      *static_cast<int*>(value) = reuse_opportunistic_;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      *static_cast<int*>(value) = reuse_internal_;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      *static_cast<cuuint64_t*>(value) = threshold_;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
      *static_cast<cuuint64_t*>(value) = reserved_;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      *static_cast<cuuint64_t*>(value) = reserved_high_;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      *static_cast<cuuint64_t*>(value) = used_;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      *static_cast<cuuint64_t*>(value) = used_high_;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult Pool::SetAttribute(CUmemPool_attribute attribute, const void* value) {
  const std::lock_guard lock(mutex_);
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
      reuse_event_ = *static_cast<const int*>(value) != 0;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
      reuse_opportunistic_ = *static_cast<const int*>(value) != 0;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      reuse_internal_ = *static_cast<const int*>(value) != 0;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      threshold_ = *static_cast<const cuuint64_t*>(value);
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      if (*static_cast<const cuuint64_t*>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
      reserved_high_ = reserved_;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      if (*static_cast<const cuuint64_t*>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
      used_high_ = used_;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

void Pool::SetAccess(int device, CUmemAccess_flags flags) {
  const std::lock_guard lock(mutex_);
  access_[device] = flags;
}

CUmemAccess_flags Pool::GetAccess(int device) const {
  const std::lock_guard lock(mutex_);
  if (device == device_->id()) return CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  const auto found = access_.find(device);
  return found == access_.end() ? CU_MEM_ACCESS_FLAGS_PROT_NONE : found->second;
}

void TrimPoolsOf(Device* device) {
  for (const auto& pool :
       AllHandles<Pool>().Select([&](const Pool& one) { return &one.device() == device; })) {
    pool->Trim(0);
  }
}

void PoolsSynchronised(Device* device) {
  for (const auto& pool :
       AllHandles<Pool>().Select([&](const Pool& one) { return &one.device() == device; })) {
    pool->Synchronised();
  }
}

}  // namespace memprof::simcuda
