// What cuCtxSetLimit does to the device's memory.
#include "simcuda/driver/context_limits.h"

#include <algorithm>

#include "simcuda/common/config.h"
#include "simcuda/common/gpu_model.h"
#include "simcuda/driver/device_memory.h"

namespace memprof::simcuda {
namespace {

constexpr size_t kDefaultStack = 1024;
constexpr size_t kMaxStack = 512 << 10;
constexpr size_t kMaxSyncDepth = 24;
constexpr size_t kMaxFetch = 128;

const std::map<CUlimit, size_t>& Defaults() {
  static const std::map<CUlimit, size_t> defaults = {
      {CU_LIMIT_STACK_SIZE, kDefaultStack},
      {CU_LIMIT_PRINTF_FIFO_SIZE, 7 << 20},
      {CU_LIMIT_MALLOC_HEAP_SIZE, 8 << 20},
      {CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 2},
      {CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 2048},
      {CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 64},
      {CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0}};
  return defaults;
}

// What all threads need that are on the device at once.
uint64_t StackBytes(size_t each) {
  const GpuModel& gpu = *GlobalConfig(false).gpu;
  const auto threads =
      static_cast<uint64_t>(gpu.multiprocessors) * static_cast<uint64_t>(LimitsOf(gpu).threads);
  return RoundUp((each - std::min(each, kDefaultStack)) * threads, kPageBytes);
}

}  // namespace

size_t ContextLimits::GetLocked(CUlimit limit) const {
  const auto set = set_.find(limit);
  return set == set_.end() ? Defaults().at(limit) : set->second;
}

CUresult ContextLimits::Get(CUlimit limit, size_t* value) {
  if (!Defaults().contains(limit)) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  const std::lock_guard lock(mutex_);
  *value = GetLocked(limit);
  return CUDA_SUCCESS;
}

CUresult ContextLimits::ResizeLocked(uint64_t* taken, uint64_t bytes) {
  if (bytes > *taken && !memory_->Charge(Use::kContext, bytes - *taken)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  if (bytes < *taken) memory_->Refund(Use::kContext, *taken - bytes);
  *taken = bytes;
  return CUDA_SUCCESS;
}

CUresult ContextLimits::Set(CUlimit limit, size_t value) {
  if (!Defaults().contains(limit)) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  const std::lock_guard lock(mutex_);
  CUresult result = CUDA_SUCCESS;
  switch (limit) {
    case CU_LIMIT_STACK_SIZE:
      if (value > kMaxStack) return CUDA_ERROR_INVALID_VALUE;
      result = ResizeLocked(&stacks_, StackBytes(value));
      break;
    case CU_LIMIT_MALLOC_HEAP_SIZE:
      if (heap_ != 0 && value != GetLocked(limit)) return CUDA_ERROR_INVALID_VALUE;
      if (modules_loaded_) result = ResizeLocked(&heap_, RoundUp(value, kPageBytes));
      break;
    case CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH:
      if (GlobalConfig(false).gpu->capability >= 90) return CUDA_ERROR_UNSUPPORTED_LIMIT;
      if (value > kMaxSyncDepth) return CUDA_ERROR_INVALID_VALUE;
      break;
    case CU_LIMIT_MAX_L2_FETCH_GRANULARITY:
      value = std::min(value, kMaxFetch);
      break;
    default:
      break;
  }
  if (result == CUDA_SUCCESS) set_[limit] = value;
  return result;
}

bool ContextLimits::TakeHeap() {
  const std::lock_guard lock(mutex_);
  const auto wanted = set_.find(CU_LIMIT_MALLOC_HEAP_SIZE);
  if (wanted != set_.end() &&
      ResizeLocked(&heap_, RoundUp(wanted->second, kPageBytes)) != CUDA_SUCCESS) {
    return false;
  }
  modules_loaded_ = true;
  return true;
}

void ContextLimits::Clear() {
  const std::lock_guard lock(mutex_);
  ResizeLocked(&heap_, 0);
  ResizeLocked(&stacks_, 0);
}

}  // namespace memprof::simcuda
