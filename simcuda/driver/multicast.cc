// Devices and bindings of multicast objects.
#include "simcuda/driver/multicast.h"

#include "simcuda/driver/device.h"
#include "simcuda/driver/vmm.h"

namespace memprof::simcuda {

CUresult Multicast::AddDevice(int device) {
  const std::lock_guard lock(mutex_);
  if (devices_.size() >= device_count_ || !devices_.insert(device).second) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

bool Multicast::complete() const {
  const std::lock_guard lock(mutex_);
  return devices_.size() == device_count_;
}

CUresult Multicast::Bind(uint64_t at, std::shared_ptr<Physical> memory, uint64_t offset,
                         uint64_t bytes) {
  const bool whole =
      bytes != 0 && bytes % kPageBytes == 0 && at % kPageBytes == 0 && offset % kPageBytes == 0;
  if (!whole || at > bytes_ || bytes > bytes_ - at || offset > memory->bytes() ||
      bytes > memory->bytes() - offset) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const int device = memory->device().id();
  const std::lock_guard lock(mutex_);
  // A real driver blocks here until all devices are added; a single thread would block forever.
  if (devices_.size() != device_count_) return CUDA_ERROR_NOT_READY;
  if (!devices_.contains(device)) return CUDA_ERROR_INVALID_DEVICE;
  for (const auto& [place, binding] : bindings_) {
    if (place.first == device && at < place.second + binding.bytes && place.second < at + bytes) {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  bindings_[{device, at}] = {bytes, std::move(memory)};
  return CUDA_SUCCESS;
}

CUresult Multicast::Unbind(int device, uint64_t at, uint64_t bytes) {
  std::shared_ptr<Physical> last;
  const std::lock_guard lock(mutex_);
  if (!devices_.contains(device)) return CUDA_ERROR_INVALID_DEVICE;
  const auto found = bindings_.find({device, at});
  if (found == bindings_.end() || found->second.bytes != bytes) return CUDA_ERROR_INVALID_VALUE;
  last = std::move(found->second.memory);
  bindings_.erase(found);
  return CUDA_SUCCESS;
}

}  // namespace memprof::simcuda
