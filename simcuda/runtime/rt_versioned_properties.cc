// Properties of devices, whose struct and functions differ between the cudart of CUDA 12 and of
// CUDA 13: built once for each version, like rt_versioned.cc.
#include <cstring>
#include <type_traits>

#include "simcuda/runtime/device_prop.h"
#include "simcuda/runtime/state.h"

namespace runtime = memprof::simcuda::runtime;
using memprof::simcuda::runtime::Calls;
using memprof::simcuda::runtime::Library;
using memprof::simcuda::runtime::Record;

namespace {

// Fields that both versions have: those that are an attribute each, ...
#define SIMCUDA_PROP_ATTRIBUTES(X)                                              \
  X(sharedMemPerBlock, MAX_SHARED_MEMORY_PER_BLOCK)                             \
  X(regsPerBlock, MAX_REGISTERS_PER_BLOCK)                                      \
  X(warpSize, WARP_SIZE)                                                        \
  X(memPitch, MAX_PITCH)                                                        \
  X(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK)                                  \
  X(maxThreadsDim[0], MAX_BLOCK_DIM_X)                                          \
  X(maxThreadsDim[1], MAX_BLOCK_DIM_Y)                                          \
  X(maxThreadsDim[2], MAX_BLOCK_DIM_Z)                                          \
  X(maxGridSize[0], MAX_GRID_DIM_X)                                             \
  X(maxGridSize[1], MAX_GRID_DIM_Y)                                             \
  X(maxGridSize[2], MAX_GRID_DIM_Z)                                             \
  X(totalConstMem, TOTAL_CONSTANT_MEMORY)                                       \
  X(major, COMPUTE_CAPABILITY_MAJOR)                                            \
  X(minor, COMPUTE_CAPABILITY_MINOR)                                            \
  X(textureAlignment, TEXTURE_ALIGNMENT)                                        \
  X(texturePitchAlignment, TEXTURE_PITCH_ALIGNMENT)                             \
  X(multiProcessorCount, MULTIPROCESSOR_COUNT)                                  \
  X(canMapHostMemory, CAN_MAP_HOST_MEMORY)                                      \
  X(maxTexture1D, MAXIMUM_TEXTURE1D_WIDTH)                                      \
  X(maxTexture1DMipmap, MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH)                      \
  X(maxTexture2D[0], MAXIMUM_TEXTURE2D_WIDTH)                                   \
  X(maxTexture2D[1], MAXIMUM_TEXTURE2D_HEIGHT)                                  \
  X(maxTexture2DMipmap[0], MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH)                   \
  X(maxTexture2DMipmap[1], MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT)                  \
  X(maxTexture2DLinear[0], MAXIMUM_TEXTURE2D_LINEAR_WIDTH)                      \
  X(maxTexture2DLinear[1], MAXIMUM_TEXTURE2D_LINEAR_HEIGHT)                     \
  X(maxTexture2DLinear[2], MAXIMUM_TEXTURE2D_LINEAR_PITCH)                      \
  X(maxTexture2DGather[0], MAXIMUM_TEXTURE2D_GATHER_WIDTH)                      \
  X(maxTexture2DGather[1], MAXIMUM_TEXTURE2D_GATHER_HEIGHT)                     \
  X(maxTexture3D[0], MAXIMUM_TEXTURE3D_WIDTH)                                   \
  X(maxTexture3D[1], MAXIMUM_TEXTURE3D_HEIGHT)                                  \
  X(maxTexture3D[2], MAXIMUM_TEXTURE3D_DEPTH)                                   \
  X(maxTextureCubemap, MAXIMUM_TEXTURECUBEMAP_WIDTH)                            \
  X(maxTexture1DLayered[0], MAXIMUM_TEXTURE1D_LAYERED_WIDTH)                    \
  X(maxTexture1DLayered[1], MAXIMUM_TEXTURE1D_LAYERED_LAYERS)                   \
  X(maxTexture2DLayered[0], MAXIMUM_TEXTURE2D_LAYERED_WIDTH)                    \
  X(maxTexture2DLayered[1], MAXIMUM_TEXTURE2D_LAYERED_HEIGHT)                   \
  X(maxTexture2DLayered[2], MAXIMUM_TEXTURE2D_LAYERED_LAYERS)                   \
  X(maxTextureCubemapLayered[0], MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH)          \
  X(maxTextureCubemapLayered[1], MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS)         \
  X(maxSurface1D, MAXIMUM_SURFACE1D_WIDTH)                                      \
  X(maxSurface2D[0], MAXIMUM_SURFACE2D_WIDTH)                                   \
  X(maxSurface2D[1], MAXIMUM_SURFACE2D_HEIGHT)                                  \
  X(maxSurface3D[0], MAXIMUM_SURFACE3D_WIDTH)                                   \
  X(maxSurface3D[1], MAXIMUM_SURFACE3D_HEIGHT)                                  \
  X(maxSurface3D[2], MAXIMUM_SURFACE3D_DEPTH)                                   \
  X(surfaceAlignment, SURFACE_ALIGNMENT)                                        \
  X(concurrentKernels, CONCURRENT_KERNELS)                                      \
  X(pciBusID, PCI_BUS_ID)                                                       \
  X(asyncEngineCount, ASYNC_ENGINE_COUNT)                                       \
  X(unifiedAddressing, UNIFIED_ADDRESSING)                                      \
  X(memoryBusWidth, GLOBAL_MEMORY_BUS_WIDTH)                                    \
  X(l2CacheSize, L2_CACHE_SIZE)                                                 \
  X(persistingL2CacheMaxSize, MAX_PERSISTING_L2_CACHE_SIZE)                     \
  X(maxThreadsPerMultiProcessor, MAX_THREADS_PER_MULTIPROCESSOR)                \
  X(streamPrioritiesSupported, STREAM_PRIORITIES_SUPPORTED)                     \
  X(globalL1CacheSupported, GLOBAL_L1_CACHE_SUPPORTED)                          \
  X(localL1CacheSupported, LOCAL_L1_CACHE_SUPPORTED)                            \
  X(sharedMemPerMultiprocessor, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)           \
  X(regsPerMultiprocessor, MAX_REGISTERS_PER_MULTIPROCESSOR)                    \
  X(managedMemory, MANAGED_MEMORY)                                              \
  X(concurrentManagedAccess, CONCURRENT_MANAGED_ACCESS)                         \
  X(computePreemptionSupported, COMPUTE_PREEMPTION_SUPPORTED)                   \
  X(canUseHostPointerForRegisteredMem, CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM) \
  X(cooperativeLaunch, COOPERATIVE_LAUNCH)                                      \
  X(sharedMemPerBlockOptin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)                  \
  X(maxBlocksPerMultiProcessor, MAX_BLOCKS_PER_MULTIPROCESSOR)                  \
  X(accessPolicyMaxWindowSize, MAX_ACCESS_POLICY_WINDOW_SIZE)                   \
  X(reservedSharedMemPerBlock, RESERVED_SHARED_MEMORY_PER_BLOCK)                \
  X(hostRegisterSupported, HOST_REGISTER_SUPPORTED)                             \
  X(sparseCudaArraySupported, SPARSE_CUDA_ARRAY_SUPPORTED)                      \
  X(memoryPoolsSupported, MEMORY_POOLS_SUPPORTED)                               \
  X(memoryPoolSupportedHandleTypes, MEMPOOL_SUPPORTED_HANDLE_TYPES)

// ... and the rest.
template <class Properties>
void FillCommon(const Calls& cu, int device, Properties* p) {
  std::memset(static_cast<void*>(p), 0, sizeof(*p));
  const auto get = [&](CUdevice_attribute attribute) {
    int value = 0;
    cu.cuDeviceGetAttribute(&value, attribute, device);
    return value;
  };
#define SIMCUDA_PROP(field, attribute)                                 \
  p->field = static_cast<std::remove_reference_t<decltype(p->field)>>( \
      get(CU_DEVICE_ATTRIBUTE_##attribute));
  SIMCUDA_PROP_ATTRIBUTES(SIMCUDA_PROP)
#if CUDA_VERSION >= 11080
  SIMCUDA_PROP(clusterLaunch, CLUSTER_LAUNCH)
#endif
#if CUDA_VERSION >= 12010
  SIMCUDA_PROP(ipcEventSupported, IPC_EVENT_SUPPORTED)
#endif
#undef SIMCUDA_PROP
  cu.cuDeviceGetName(p->name, sizeof(p->name), device);
  CUuuid uuid;
  if (cu.cuDeviceGetUuid(&uuid, device) == CUDA_SUCCESS) {
    std::memcpy(p->uuid, uuid.bytes, sizeof(p->uuid));
  }
  cu.cuDeviceTotalMem_v2(&p->totalGlobalMem, device);
}

int GoodDevice(int device) {
  if (const int error = runtime::RequireDriver(); error != 0) return error;
  CUdevice found = 0;
  return Library().legacy.cuDeviceGet(&found, device);
}

#if SIMCUDA_RUNTIME_VERSION == 12
int FillProperties(runtime::DeviceProp12* p, int device) {
  if (p == nullptr) return cudaErrorInvalidValue;
  if (const int error = GoodDevice(device); error != 0) return error;
  const Calls& cu = Library().legacy;
  FillCommon(cu, device, p);
  cu.cuDeviceGetAttribute(&p->clockRate, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, device);
  cu.cuDeviceGetAttribute(&p->memoryClockRate, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, device);
  cu.cuDeviceGetAttribute(&p->maxTexture1DLinear,
                          CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH, device);
  cu.cuDeviceGetAttribute(&p->singleToDoublePrecisionPerfRatio,
                          CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, device);
  p->deviceOverlap = 1;
  return 0;
}
#endif

}  // namespace

#if SIMCUDA_RUNTIME_VERSION == 12

extern "C" cudaError_t cudaGetDeviceProperties_v2(runtime::DeviceProp12* properties, int device) {
  return Record(FillProperties(properties, device));
}

// The struct of CUDA 11: it ends before the fields that 12 appended.
extern "C" cudaError_t cudaGetDeviceProperties(runtime::DeviceProp12* properties, int device) {
  if (properties == nullptr) return Record(cudaErrorInvalidValue);
  runtime::DeviceProp12 full;
  const int error = FillProperties(&full, device);
  if (error == 0) {
    std::memcpy(static_cast<void*>(properties), &full,
                offsetof(runtime::DeviceProp12, hostRegisterSupported));
  }
  return Record(error);
}

#else

extern "C" cudaError_t cudaGetDeviceProperties(runtime::DeviceProp13* properties, int device) {
  if (properties == nullptr) return Record(cudaErrorInvalidValue);
  const int error = GoodDevice(device);
  if (error == 0) FillCommon(Library().legacy, device, properties);
  return Record(error);
}

#endif
