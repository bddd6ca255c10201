// Virtual memory management, prefetch and advice.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "driver_api.h"
#include "simcuda/driver/allocation.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/device.h"
#include "simcuda/driver/pool.h"
#include "simcuda/driver/vmm.h"

namespace memprof::simcuda {
namespace {

// What a physical allocation may be: pinned memory of a device, perhaps to be shared by descriptor.
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

bool IsManaged(uint64_t address, uint64_t bytes) {
  const auto found = Allocations().Find(address);
  return found != nullptr && found->kind == AllocationKind::kManaged && bytes != 0 &&
         bytes <= found->address + found->granted - address;
}

// Managed memory is reachable from everywhere; moving it has no visible effect here.
CUresult CheckManaged(uint64_t address, uint64_t bytes, int device) {
  std::shared_ptr<Context> context;
  const CUresult result = RequireContext(&context);
  if (result != CUDA_SUCCESS) return result;
  if (!IsManaged(address, bytes)) return CUDA_ERROR_INVALID_VALUE;
  return device != CU_DEVICE_CPU && FindDevice(device) == nullptr ? CUDA_ERROR_INVALID_DEVICE
                                                                  : CUDA_SUCCESS;
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

CUresult cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUdevice dstDevice,
                            CUstream hStream) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  const CUresult result = RequireStream(hStream, &context, &stream);
  return result != CUDA_SUCCESS ? result : CheckManaged(devPtr, count, dstDevice);
}

CUresult cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device) {
  if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  // Whether data is mostly read does not depend on a device.
  const bool any = advice == CU_MEM_ADVISE_SET_READ_MOSTLY ||
                   advice == CU_MEM_ADVISE_UNSET_READ_MOSTLY ||
                   advice == CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION;
  return CheckManaged(devPtr, count, any ? CU_DEVICE_CPU : device);
}

#if CUDA_VERSION >= 12020
CUresult cuMemPrefetchAsync_v2(CUdeviceptr devPtr, size_t count, CUmemLocation location,
                               unsigned int flags, CUstream hStream) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const int device = location.type == CU_MEM_LOCATION_TYPE_DEVICE ? location.id : CU_DEVICE_CPU;
  return api::cuMemPrefetchAsync(devPtr, count, device, hStream);
}

CUresult cuMemAdvise_v2(CUdeviceptr devPtr, size_t count, CUmem_advise advice,
                        CUmemLocation location) {
  const int device = location.type == CU_MEM_LOCATION_TYPE_DEVICE ? location.id : CU_DEVICE_CPU;
  return api::cuMemAdvise(devPtr, count, advice, device);
}
#endif

CUresult cuMemRangeGetAttribute(void* data, size_t dataSize, CUmem_range_attribute attribute,
                                CUdeviceptr devPtr, size_t count) {
  if (data == nullptr || dataSize < sizeof(int) || !IsManaged(devPtr, count)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  int value = CU_DEVICE_INVALID;
  if (attribute == CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY) value = 0;
  for (size_t at = 0; at + sizeof(int) <= dataSize; at += sizeof(int)) {
    std::memcpy(static_cast<char*>(data) + at, &value, sizeof(value));
  }
  return CUDA_SUCCESS;
}

CUresult cuMemRangeGetAttributes(void** data, size_t* dataSizes, CUmem_range_attribute* attributes,
                                 size_t numAttributes, CUdeviceptr devPtr, size_t count) {
  if (data == nullptr || dataSizes == nullptr || attributes == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (size_t i = 0; i < numAttributes; ++i) {
    const CUresult result =
        api::cuMemRangeGetAttribute(data[i], dataSizes[i], attributes[i], devPtr, count);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

}  // namespace api
}  // namespace memprof::simcuda
