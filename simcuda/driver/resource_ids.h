// Ids of resource events, as cupti_callbacks.h has them.
#ifndef SIMCUDA_DRIVER_RESOURCE_IDS_H
#define SIMCUDA_DRIVER_RESOURCE_IDS_H

#include <cupti_callbacks.h>

#include <cstdint>

namespace memprof::simcuda {

constexpr uint32_t kResourceContextCreated = CUPTI_CBID_RESOURCE_CONTEXT_CREATED;
constexpr uint32_t kResourceContextDestroyStarting = CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING;
constexpr uint32_t kResourceStreamCreated = CUPTI_CBID_RESOURCE_STREAM_CREATED;
constexpr uint32_t kResourceStreamDestroyStarting = CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING;
constexpr uint32_t kResourceModuleLoaded = CUPTI_CBID_RESOURCE_MODULE_LOADED;
constexpr uint32_t kResourceModuleUnloadStarting = CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING;

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_RESOURCE_IDS_H
