// Properties of pointers: cuPointerGetAttribute and related functions.
#include "driver_api.h"
#include "simcuda/driver/allocation.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/device.h"

namespace memprof::simcuda {
namespace {

CUmemorytype TypeOf(const Allocation& one) {
  return one.kind == AllocationKind::kPinned || one.kind == AllocationKind::kRegistered
             ? CU_MEMORYTYPE_HOST
             : CU_MEMORYTYPE_DEVICE;
}

template <class Value>
CUresult Answer(void* data, Value value) {
  *static_cast<Value*>(data) = value;
  return CUDA_SUCCESS;
}

CUresult GetAttribute(const Allocation& one, CUpointer_attribute attribute, CUdeviceptr ptr,
                      void* data) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return Answer<CUcontext>(data, one.context == nullptr ? nullptr : one.context->handle());
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return Answer<unsigned>(data, TypeOf(one));
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return Answer<CUdeviceptr>(data, ptr);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (!one.on_host()) return CUDA_ERROR_INVALID_VALUE;
      return Answer<void*>(data, reinterpret_cast<void*>(ptr));
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return Answer<unsigned>(data, 0);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return Answer<unsigned long long>(data, one.id);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return Answer<unsigned>(data, one.kind == AllocationKind::kManaged ? 1 : 0);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return Answer<int>(data, one.device);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return Answer<CUdeviceptr>(data, one.address);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return Answer<size_t>(data, one.requested);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return Answer<unsigned>(data, 1);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return Answer<unsigned>(data, one.kind == AllocationKind::kLinear ? 1 : 0);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return Answer<unsigned long long>(data, 0);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return Answer<unsigned>(data, one.readable && one.writable
                                        ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE
                                        : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return Answer<void*>(data, one.pool.get());
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

}  // namespace

namespace api {

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr ptr) {
  if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto found = Allocations().Find(ptr);
  return found == nullptr ? CUDA_ERROR_INVALID_VALUE : GetAttribute(*found, attribute, ptr, data);
}

CUresult cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute* attributes,
                                void** data, CUdeviceptr ptr) {
  if (attributes == nullptr || data == nullptr || numAttributes == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto found = Allocations().Find(ptr);
  for (unsigned i = 0; i < numAttributes; ++i) {
    if (data[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (found != nullptr && GetAttribute(*found, attributes[i], ptr, data[i]) == CUDA_SUCCESS) {
      continue;
    }
    // Unlike cuPointerGetAttribute, this one returns null values for unknown memory.
    switch (attributes[i]) {
      case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      case CU_POINTER_ATTRIBUTE_MAPPED:
      case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        *static_cast<unsigned*>(data[i]) = 0;
        break;
      case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *static_cast<int*>(data[i]) = -2;
        break;
      case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
        return CUDA_ERROR_NOT_SUPPORTED;
      default:
        *static_cast<uint64_t*>(data[i]) = 0;
        break;
    }
  }
  return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute, CUdeviceptr ptr) {
  if (value == nullptr || Allocations().Find(ptr) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace api
}  // namespace memprof::simcuda
