// Multicast objects.
#include "driver_api.h"
#include "simcuda/driver/device.h"
#include "simcuda/driver/multicast.h"
#include "simcuda/driver/vmm.h"

#if CUDA_VERSION >= 12010
namespace memprof::simcuda {
namespace {

CUresult CheckProperties(const CUmulticastObjectProp* properties) {
  if (properties == nullptr || properties->numDevices == 0 || properties->size == 0 ||
      properties->flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (properties->numDevices > Devices().size()) return CUDA_ERROR_INVALID_DEVICE;
  return (properties->handleTypes & ~size_t{CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR}) == 0
             ? CUDA_SUCCESS
             : CUDA_ERROR_NOT_SUPPORTED;
}

std::shared_ptr<Multicast> FindMulticast(CUmemGenericAllocationHandle handle) {
  const auto physical = Vmm::Get().Find(handle);
  return physical == nullptr ? nullptr : physical->multicast();
}

}  // namespace

namespace api {

CUresult cuMulticastGetGranularity(size_t* granularity, const CUmulticastObjectProp* prop,
                                   CUmulticastGranularity_flags option) {
  const CUresult known = CheckProperties(prop);
  if (known != CUDA_SUCCESS) return known;
  if (granularity == nullptr || (option != CU_MULTICAST_GRANULARITY_MINIMUM &&
                                 option != CU_MULTICAST_GRANULARITY_RECOMMENDED)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *granularity = kPageBytes;
  return CUDA_SUCCESS;
}

CUresult cuMulticastCreate(CUmemGenericAllocationHandle* mcHandle,
                           const CUmulticastObjectProp* prop) {
  const CUresult known = CheckProperties(prop);
  if (known != CUDA_SUCCESS) return known;
  if (mcHandle == nullptr || prop->size % kPageBytes != 0) return CUDA_ERROR_INVALID_VALUE;
  auto physical = Physical::CreateMulticast(
      FindDevice(0), prop->size, static_cast<CUmemAllocationHandleType>(prop->handleTypes),
      std::make_shared<Multicast>(prop->numDevices, prop->size));
  if (physical == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *mcHandle = Vmm::Get().Add(std::move(physical));
  return CUDA_SUCCESS;
}

CUresult cuMulticastAddDevice(CUmemGenericAllocationHandle mcHandle, CUdevice dev) {
  const auto multicast = FindMulticast(mcHandle);
  if (multicast == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (FindDevice(dev) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  return multicast->AddDevice(dev);
}

CUresult cuMulticastBindMem(CUmemGenericAllocationHandle mcHandle, size_t mcOffset,
                            CUmemGenericAllocationHandle memHandle, size_t memOffset, size_t size,
                            unsigned long long flags) {
  const auto multicast = FindMulticast(mcHandle);
  auto memory = Vmm::Get().Find(memHandle);
  if (multicast == nullptr || memory == nullptr || memory->multicast() != nullptr || flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return multicast->Bind(mcOffset, std::move(memory), memOffset, size);
}

CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle mcHandle, size_t mcOffset,
                             CUdeviceptr memptr, size_t size, unsigned long long flags) {
  const auto multicast = FindMulticast(mcHandle);
  uint64_t offset = 0;
  auto memory = Vmm::Get().FindMapped(memptr, size, &offset);
  if (multicast == nullptr || memory == nullptr || memory->multicast() != nullptr || flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return multicast->Bind(mcOffset, std::move(memory), offset, size);
}

CUresult cuMulticastUnbind(CUmemGenericAllocationHandle mcHandle, CUdevice dev, size_t mcOffset,
                           size_t size) {
  const auto multicast = FindMulticast(mcHandle);
  if (multicast == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return multicast->Unbind(dev, mcOffset, size);
}

}  // namespace api
}  // namespace memprof::simcuda
#endif
