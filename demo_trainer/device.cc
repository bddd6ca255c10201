// Opens and closes a GPU.
#include "demo_trainer/device.h"

#include "demo_trainer/allocator/caching_allocator.h"
#include "demo_trainer/allocator/direct_allocator.h"
#include "demo_trainer/error.h"

namespace memprof::demo {

Device::Device(int id, AllocatorKind kind, size_t max_split_bytes) : id_(id), kind_(kind) {
  Select();
  Check(cudaStreamCreateWithFlags(&copy_stream_, cudaStreamNonBlocking), "creating a stream");
  driver_ = MakeCudaDriver(id);
  observer_ = MakeProfilerObserver(id);
  if (kind == AllocatorKind::kCaching) {
    CachingAllocatorOptions options;
    options.device = id;
    options.max_split_bytes = max_split_bytes;
    allocator_ = std::make_unique<CachingAllocator>(options, driver_.get(), observer_.get());
  } else {
    allocator_ = std::make_unique<DirectAllocator>(
        kind == AllocatorKind::kCuda ? DirectAllocator::Kind::kCuda : DirectAllocator::Kind::kAsync,
        id);
  }
}

Device::~Device() {
  cudaSetDevice(id_);
  cudaDeviceSynchronize();
  allocator_.reset();
  cudaStreamDestroy(copy_stream_);
}

void Device::Select() const { Check(cudaSetDevice(id_), "selecting a device"); }

void Device::Synchronize() const {
  Select();
  Check(cudaDeviceSynchronize(), "waiting for the device");
}

}  // namespace memprof::demo
