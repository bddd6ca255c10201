// The real device behind the allocators, and the observer that reports to memprof.
#include <cuda_runtime_api.h>

#include <unordered_map>

#include "demo_trainer/allocator/driver.h"
#include "demo_trainer/error.h"
#include "demo_trainer/profiler.h"

namespace memprof::demo {
namespace {

class CudaDriver : public DeviceDriver {
 public:
  explicit CudaDriver(int device) : device_(device) {}

  ~CudaDriver() override {
    for (const auto& [id, event] : events_) cudaEventDestroy(event);
  }

  void* Allocate(size_t bytes) override {
    Check(cudaSetDevice(device_), "selecting a device");
    void* ptr = nullptr;
    const cudaError_t result = cudaMalloc(&ptr, bytes);
    if (result == cudaErrorMemoryAllocation) {
      cudaGetLastError();  // it is handled: the next launch must not report it
      return nullptr;
    }
    Check(result, "allocating device memory");
    return ptr;
  }

  void Free(void* ptr) override {
    Check(cudaSetDevice(device_), "selecting a device");
    Check(cudaFree(ptr), "freeing device memory");
  }

  void MemoryInfo(size_t* free_bytes, size_t* total_bytes) override {
    Check(cudaSetDevice(device_), "selecting a device");
    Check(cudaMemGetInfo(free_bytes, total_bytes), "asking for free memory");
  }

  Event RecordEvent(StreamHandle stream) override {
    Check(cudaSetDevice(device_), "selecting a device");
    cudaEvent_t event = nullptr;
    Check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "creating an event");
    events_.emplace(next_event_, event);
    Check(cudaEventRecord(event, static_cast<cudaStream_t>(stream)), "recording an event");
    return next_event_++;
  }

  bool TakeIfDone(Event event) override {
    const cudaError_t result = cudaEventQuery(events_.at(event));
    if (result == cudaErrorNotReady) {
      cudaGetLastError();
      return false;
    }
    Check(result, "querying an event");
    Destroy(event);
    return true;
  }

  void WaitFor(Event event) override {
    Check(cudaEventSynchronize(events_.at(event)), "waiting for an event");
    Destroy(event);
  }

 private:
  void Destroy(Event event) {
    cudaEventDestroy(events_.at(event));
    events_.erase(event);
  }

  const int device_;
  Event next_event_ = 1;
  std::unordered_map<Event, cudaEvent_t> events_;
};

class ProfilerObserver : public AllocatorObserver {
 public:
  explicit ProfilerObserver(int device) : device_(device) {}

  void SegmentCreated(const void* ptr, size_t bytes, StreamHandle stream) override {
    profiler::SegmentCreate(device_, ptr, bytes, stream);
  }
  void SegmentEnding(const void* ptr) override { profiler::SegmentDestroy(device_, ptr); }
  void BlockCreated(const void* ptr, size_t bytes, size_t requested, StreamHandle stream) override {
    profiler::BlockCreate(device_, ptr, bytes, requested, stream);
  }
  void BlockEnding(const void* ptr) override { profiler::BlockDestroy(device_, ptr); }
  void OutOfMemory(size_t requested, size_t allocated, size_t reserved) override {
    profiler::FrameworkOom(device_, requested, allocated, reserved);
  }

 private:
  const int device_;
};

}  // namespace

std::unique_ptr<DeviceDriver> MakeCudaDriver(int device) {
  return std::make_unique<CudaDriver>(device);
}

std::unique_ptr<AllocatorObserver> MakeProfilerObserver(int device) {
  return std::make_unique<ProfilerObserver>(device);
}

}  // namespace memprof::demo
