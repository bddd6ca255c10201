// Virtual memory management.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "driver_api.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/device.h"
#include "simcuda/driver/pool.h"
#include "simcuda/driver/vmm.h"

namespace memprof::simcuda {
namespace {

// The valid properties of a physical allocation: pinned memory of a device, possibly shareable by
// descriptor.
CUresult CheckProperties(const CUmemAllocationProp* properties, Device** device) {
  if (properties == nullptr || properties->type != CU_MEM_ALLOCATION_TYPE_PINNED) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
  if (properties->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE &&
      properties->requestedHandleTypes != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  *device = FindDevice(properties->location.id);
  return *device == nullptr ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

}  // namespace

namespace api {

CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* prop,
                                       CUmemAllocationGranularity_flags /*option*/) {
  Device* device = nullptr;
  const CUresult result = CheckProperties(prop, &device);
  if (result != CUDA_SUCCESS) return result;
  if (granularity == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *granularity = kPageBytes;
  return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size,
                     const CUmemAllocationProp* prop, unsigned long long flags) {
  Device* device = nullptr;
  const CUresult result = CheckProperties(prop, &device);
  if (result != CUDA_SUCCESS) return result;
  if (handle == nullptr || flags != 0 || size == 0 || size % kPageBytes != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (size > device->memory().capacity()) return CUDA_ERROR_OUT_OF_MEMORY;
  auto physical = Physical::Create(device, size, *prop);
  if (physical == nullptr) {
    TrimPoolsOf(device);
    physical = Physical::Create(device, size, *prop);
  }
  if (physical == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *handle = Vmm::Get().Add(std::move(physical));
  return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) { return Vmm::Get().Release(handle); }

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* addr) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Vmm::Get().Retain(reinterpret_cast<uint64_t>(addr), handle);
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* prop,
                                                CUmemGenericAllocationHandle handle) {
  const auto physical = Vmm::Get().Find(handle);
  if (prop == nullptr || physical == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *prop = physical->properties();
  return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr* ptr, size_t size, size_t alignment, CUdeviceptr addr,
                             unsigned long long flags) {
  if (ptr == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  uint64_t address = 0;
  const CUresult result = Vmm::Get().Reserve(size, alignment, addr, &address);
  if (result == CUDA_SUCCESS) *ptr = address;
  return result;
}

CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size) { return Vmm::Get().Unreserve(ptr, size); }

CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return Vmm::Get().Map(ptr, size, offset, handle);
}

CUresult cuMemUnmap(CUdeviceptr ptr, size_t size) {
  // Work enqueued so far may still use it.
  for (const auto& context : AllHandles<Context>().Select([](const Context&) { return true; })) {
    context->Synchronize();
  }
  return Vmm::Get().Unmap(ptr, size);
}

CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc* desc, size_t count) {
  if (desc == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  return Vmm::Get().SetAccess(ptr, size, desc, count);
}

CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr ptr) {
  if (flags == nullptr || location == nullptr || location->type != CU_MEM_LOCATION_TYPE_DEVICE) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return Vmm::Get().GetAccess(ptr, location->id, flags);
}

CUresult cuMemExportToShareableHandle(void* shareableHandle, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType handleType,
                                      unsigned long long flags) {
  const auto physical = Vmm::Get().Find(handle);
  if (shareableHandle == nullptr || physical == nullptr || flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
      physical->properties().requestedHandleTypes != handleType) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  const int descriptor = fcntl(physical->descriptor(), F_DUPFD_CLOEXEC, 0);
  if (descriptor < 0) return CUDA_ERROR_OPERATING_SYSTEM;
  *static_cast<int*>(shareableHandle) = descriptor;
  return CUDA_SUCCESS;
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* osHandle,
                                        CUmemAllocationHandleType shHandleType) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (shHandleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  std::shared_ptr<Context> context;
  const CUresult known = RequireContext(&context);
  if (known != CUDA_SUCCESS) return known;
  const int given = static_cast<int>(reinterpret_cast<intptr_t>(osHandle));
  struct stat status;
  if (fstat(given, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0 ||
      static_cast<uint64_t>(status.st_size) % kPageBytes != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const int descriptor = fcntl(given, F_DUPFD_CLOEXEC, 0);
  if (descriptor < 0) return CUDA_ERROR_OPERATING_SYSTEM;
  *handle = Vmm::Get().Add(
      Physical::Import(&context->device(), descriptor, static_cast<uint64_t>(status.st_size)));
  return CUDA_SUCCESS;
}

}  // namespace api
}  // namespace memprof::simcuda
