// Queries of a range of managed memory.
#include <cstring>
#include <vector>

#include "driver_api.h"
#include "simcuda/driver/device_memory.h"
#include "simcuda/driver/managed_range.h"

namespace memprof::simcuda {

CUresult FindManagedRange(uint64_t address, uint64_t bytes, ManagedRange* range) {
  const auto found = Allocations().Find(address);
  if (found == nullptr || found->kind != AllocationKind::kManaged || bytes == 0 ||
      bytes > found->address + found->granted - address) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const uint64_t offset = address - found->address;
  *range = {found, offset / kPageBytes, (offset + bytes + kPageBytes - 1) / kPageBytes};
  return CUDA_SUCCESS;
}

namespace {

CUresult AnswerLocation(void* data, size_t bytes, int value) {
  if (bytes != sizeof(int)) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(data, &value, sizeof(value));
  return CUDA_SUCCESS;
}

[[maybe_unused]] int TypeOfLocation(int location) {
  constexpr int kHost = 2;  // CU_MEM_LOCATION_TYPE_HOST
  return location == CU_DEVICE_INVALID ? CU_MEM_LOCATION_TYPE_INVALID
         : location == CU_DEVICE_CPU   ? kHost
                                       : CU_MEM_LOCATION_TYPE_DEVICE;
}

CUresult AnswerAccessedBy(void* data, size_t bytes, const std::vector<int>& locations) {
  if (bytes == 0 || bytes % sizeof(int) != 0) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < bytes / sizeof(int); ++i) {
    const int value = i < locations.size() ? locations[i] : CU_DEVICE_INVALID;
    std::memcpy(static_cast<char*>(data) + i * sizeof(int), &value, sizeof(value));
  }
  return CUDA_SUCCESS;
}

}  // namespace

namespace api {

CUresult cuMemRangeGetAttribute(void* data, size_t dataSize, CUmem_range_attribute attribute,
                                CUdeviceptr devPtr, size_t count) {
  ManagedRange range;
  if (data == nullptr || FindManagedRange(devPtr, count, &range) != CUDA_SUCCESS) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const ManagedPages& pages = *range.allocation->pages;
  const int preferred = pages.PreferredLocation(range.first, range.last);
  const int prefetched = pages.LastPrefetch(range.first, range.last);
  switch (static_cast<int>(attribute)) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
      return AnswerLocation(data, dataSize, pages.ReadMostly(range.first, range.last) ? 1 : 0);
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
      return AnswerLocation(data, dataSize, preferred);
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
      return AnswerAccessedBy(data, dataSize, pages.AccessedBy(range.first, range.last));
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
      return AnswerLocation(data, dataSize, prefetched);
#if CUDA_VERSION >= 12020
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
      return AnswerLocation(data, dataSize, TypeOfLocation(preferred));
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
      return AnswerLocation(data, dataSize, preferred);
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
      return AnswerLocation(data, dataSize, TypeOfLocation(prefetched));
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
      return AnswerLocation(data, dataSize, prefetched);
#endif
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult cuMemRangeGetAttributes(void** data, size_t* dataSizes, CUmem_range_attribute* attributes,
                                 size_t numAttributes, CUdeviceptr devPtr, size_t count) {
  if (data == nullptr || dataSizes == nullptr || attributes == nullptr || numAttributes == 0) {
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
