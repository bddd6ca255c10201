// cudaMalloc or cudaMallocAsync for each tensor, with the same figures as the caching allocator.
#include "demo_trainer/allocator/direct_allocator.h"

#include <algorithm>
#include <utility>

#include "demo_trainer/error.h"

namespace memprof::demo {

std::string OutOfMemoryLine(int device, size_t requested, size_t free_bytes, size_t total_bytes,
                            const AllocatorStats& stats) {
  return "CUDA out of memory. Tried to allocate " + FormatBytes(requested) + ". GPU " +
         std::to_string(device) + " has a total capacity of " + FormatBytes(total_bytes) +
         " of which " + FormatBytes(free_bytes) + " is free. The allocator holds " +
         FormatBytes(stats.reserved.current) + ": " + FormatBytes(stats.allocated.current) +
         " allocated, " + FormatBytes(stats.reserved.current - stats.allocated.current) +
         " reserved but unallocated.";
}

void* DirectAllocator::Allocate(size_t bytes, StreamHandle stream) {
  if (bytes == 0) return nullptr;
  Check(cudaSetDevice(device_), "selecting a device");
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  void* ptr = nullptr;
  const cudaError_t result =
      kind_ == Kind::kCuda ? cudaMalloc(&ptr, bytes) : cudaMallocAsync(&ptr, bytes, cuda_stream);
  if (result == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    ++stats_.ooms;
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    Check(cudaMemGetInfo(&free_bytes, &total_bytes), "asking for free memory");
    throw OutOfMemory(OutOfMemoryLine(device_, bytes, free_bytes, total_bytes, stats_));
  }
  Check(result, "allocating device memory");
  live_[ptr] = Live{bytes, cuda_stream, {}};
  for (Gauge* gauge : {&stats_.allocated, &stats_.requested, &stats_.reserved}) gauge->Add(bytes);
  stats_.blocks.Add(1);
  stats_.segments.Add(1);
  ++stats_.allocations;
  return ptr;
}

void DirectAllocator::Free(void* ptr) {
  if (ptr == nullptr) return;
  const auto found = live_.find(ptr);
  if (found == live_.end()) throw Error("the allocator was given a pointer that is not in use");
  const Live live = std::move(found->second);
  live_.erase(found);
  for (Gauge* gauge : {&stats_.allocated, &stats_.requested, &stats_.reserved}) {
    gauge->Subtract(live.bytes);
  }
  stats_.blocks.Subtract(1);
  stats_.segments.Subtract(1);
  ++stats_.frees;
  Check(cudaSetDevice(device_), "selecting a device");
  if (kind_ == Kind::kCuda) {
    Check(cudaFree(ptr), "freeing device memory");
    return;
  }
  WaitForOtherStreams(live);
  Check(cudaFreeAsync(ptr, live.stream), "freeing device memory in stream order");
}

void DirectAllocator::WaitForOtherStreams(const Live& live) {
  for (const cudaStream_t stream : live.other_streams) {
    cudaEvent_t event = nullptr;
    Check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "creating an event");
    Check(cudaEventRecord(event, stream), "recording an event");
    Check(cudaStreamWaitEvent(live.stream, event, 0), "making a stream wait");
    Check(cudaEventDestroy(event), "destroying an event");
  }
}

void DirectAllocator::RecordStream(void* ptr, StreamHandle stream) {
  const auto found = live_.find(ptr);
  if (found == live_.end() || found->second.stream == stream) return;
  auto& streams = found->second.other_streams;
  if (std::find(streams.begin(), streams.end(), stream) == streams.end()) {
    streams.push_back(static_cast<cudaStream_t>(stream));
  }
}

void DirectAllocator::EmptyCache() {
  if (kind_ == Kind::kCuda) return;
  Check(cudaSetDevice(device_), "selecting a device");
  Check(cudaDeviceSynchronize(), "waiting for the device");
  cudaMemPool_t pool = nullptr;
  Check(cudaDeviceGetDefaultMemPool(&pool, device_), "finding the memory pool");
  Check(cudaMemPoolTrimTo(pool, 0), "trimming the memory pool");
}

}  // namespace memprof::demo
