// Where memory lies: on a device, or in host memory.
#pragma once

#include "libmemprof/src/driver/api.h"

namespace memprof::recorder {

// The device of a location on a device or in a part of one; -1 for any other. Older toolkits lack
// CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN (CUDA 13.5), where the first byte of the id is the
// device and the second one the domain.
inline std::int32_t LocationDevice(const CUmemLocation& location) {
  constexpr int kLocalityDomain = 6;
  if (location.type == CU_MEM_LOCATION_TYPE_DEVICE) return location.id;
  return static_cast<int>(location.type) == kLocalityDomain ? location.id & 0xff : -1;
}

// CU_MEM_LOCATION_TYPE_HOST, _HOST_NUMA and _HOST_NUMA_CURRENT, which older toolkits lack.
inline bool IsHostLocation(const CUmemLocation& location) {
  const int type = static_cast<int>(location.type);
  return type >= 2 && type <= 4;
}

// A pool of managed memory counts as the device's, whatever location it prefers.
inline bool IsHostPool(const CUmemPoolProps& properties) {
  constexpr int kManaged = 2;  // CU_MEM_ALLOCATION_TYPE_MANAGED, from CUDA 13.0
  return static_cast<int>(properties.allocType) != kManaged && IsHostLocation(properties.location);
}

// What the driver reports about an address. `query` is cuPointerGetAttribute, or null.
template <typename Query>
bool IsHostMemory(Query query, CUdeviceptr pointer) {
  unsigned type = 0;
  unsigned managed = 0;  // some drivers write a byte, others a word
  return query != nullptr && query(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer) == 0 &&
         type == CU_MEMORYTYPE_HOST &&
         (query(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, pointer) != 0 || managed == 0);
}

}  // namespace memprof::recorder
