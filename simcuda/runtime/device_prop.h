// cudaDeviceProp as the headers of CUDA 12 and of CUDA 13 lay it out. The field names are the
// headers', so that one template fills both.
#ifndef SIMCUDA_RUNTIME_DEVICE_PROP_H
#define SIMCUDA_RUNTIME_DEVICE_PROP_H

#include <cstddef>

namespace memprof::simcuda::runtime {

// Every field once, in the order of the structs: (type, name, array bounds) of BOTH versions, of
// the OLD one (12) or of the NEW one (13) alone.
// clang-format off
#define SIMCUDA_DEVICE_PROP_FIELDS(BOTH, OLD, NEW) \
  BOTH(char, name, [256])                               \
  BOTH(char, uuid, [16])                                \
  BOTH(char, luid, [8])                                 \
  BOTH(unsigned int, luidDeviceNodeMask,)               \
  BOTH(size_t, totalGlobalMem,)                         \
  BOTH(size_t, sharedMemPerBlock,)                      \
  BOTH(int, regsPerBlock,)                              \
  BOTH(int, warpSize,)                                  \
  BOTH(size_t, memPitch,)                               \
  BOTH(int, maxThreadsPerBlock,)                        \
  BOTH(int, maxThreadsDim, [3])                         \
  BOTH(int, maxGridSize, [3])                           \
  OLD(int, clockRate,)                                  \
  BOTH(size_t, totalConstMem,)                          \
  BOTH(int, major,)                                     \
  BOTH(int, minor,)                                     \
  BOTH(size_t, textureAlignment,)                       \
  BOTH(size_t, texturePitchAlignment,)                  \
  OLD(int, deviceOverlap,)                              \
  BOTH(int, multiProcessorCount,)                       \
  OLD(int, kernelExecTimeoutEnabled,)                   \
  BOTH(int, integrated,)                                \
  BOTH(int, canMapHostMemory,)                          \
  OLD(int, computeMode,)                                \
  BOTH(int, maxTexture1D,)                              \
  BOTH(int, maxTexture1DMipmap,)                        \
  OLD(int, maxTexture1DLinear,)                         \
  BOTH(int, maxTexture2D, [2])                          \
  BOTH(int, maxTexture2DMipmap, [2])                    \
  BOTH(int, maxTexture2DLinear, [3])                    \
  BOTH(int, maxTexture2DGather, [2])                    \
  BOTH(int, maxTexture3D, [3])                          \
  BOTH(int, maxTexture3DAlt, [3])                       \
  BOTH(int, maxTextureCubemap,)                         \
  BOTH(int, maxTexture1DLayered, [2])                   \
  BOTH(int, maxTexture2DLayered, [3])                   \
  BOTH(int, maxTextureCubemapLayered, [2])              \
  BOTH(int, maxSurface1D,)                              \
  BOTH(int, maxSurface2D, [2])                          \
  BOTH(int, maxSurface3D, [3])                          \
  BOTH(int, maxSurface1DLayered, [2])                   \
  BOTH(int, maxSurface2DLayered, [3])                   \
  BOTH(int, maxSurfaceCubemap,)                         \
  BOTH(int, maxSurfaceCubemapLayered, [2])              \
  BOTH(size_t, surfaceAlignment,)                       \
  BOTH(int, concurrentKernels,)                         \
  BOTH(int, ECCEnabled,)                                \
  BOTH(int, pciBusID,)                                  \
  BOTH(int, pciDeviceID,)                               \
  BOTH(int, pciDomainID,)                               \
  BOTH(int, tccDriver,)                                 \
  BOTH(int, asyncEngineCount,)                          \
  BOTH(int, unifiedAddressing,)                         \
  OLD(int, memoryClockRate,)                            \
  BOTH(int, memoryBusWidth,)                            \
  BOTH(int, l2CacheSize,)                               \
  BOTH(int, persistingL2CacheMaxSize,)                  \
  BOTH(int, maxThreadsPerMultiProcessor,)               \
  BOTH(int, streamPrioritiesSupported,)                 \
  BOTH(int, globalL1CacheSupported,)                    \
  BOTH(int, localL1CacheSupported,)                     \
  BOTH(size_t, sharedMemPerMultiprocessor,)             \
  BOTH(int, regsPerMultiprocessor,)                     \
  BOTH(int, managedMemory,)                             \
  BOTH(int, isMultiGpuBoard,)                           \
  BOTH(int, multiGpuBoardGroupID,)                      \
  BOTH(int, hostNativeAtomicSupported,)                 \
  OLD(int, singleToDoublePrecisionPerfRatio,)           \
  BOTH(int, pageableMemoryAccess,)                      \
  BOTH(int, concurrentManagedAccess,)                   \
  BOTH(int, computePreemptionSupported,)                \
  BOTH(int, canUseHostPointerForRegisteredMem,)         \
  BOTH(int, cooperativeLaunch,)                         \
  OLD(int, cooperativeMultiDeviceLaunch,)               \
  BOTH(size_t, sharedMemPerBlockOptin,)                 \
  BOTH(int, pageableMemoryAccessUsesHostPageTables,)    \
  BOTH(int, directManagedMemAccessFromHost,)            \
  BOTH(int, maxBlocksPerMultiProcessor,)                \
  BOTH(int, accessPolicyMaxWindowSize,)                 \
  BOTH(size_t, reservedSharedMemPerBlock,)              \
  BOTH(int, hostRegisterSupported,)                     \
  BOTH(int, sparseCudaArraySupported,)                  \
  BOTH(int, hostRegisterReadOnlySupported,)             \
  BOTH(int, timelineSemaphoreInteropSupported,)         \
  BOTH(int, memoryPoolsSupported,)                      \
  BOTH(int, gpuDirectRDMASupported,)                    \
  BOTH(unsigned int, gpuDirectRDMAFlushWritesOptions,)  \
  BOTH(int, gpuDirectRDMAWritesOrdering,)               \
  BOTH(unsigned int, memoryPoolSupportedHandleTypes,)   \
  BOTH(int, deferredMappingCudaArraySupported,)         \
  BOTH(int, ipcEventSupported,)                         \
  BOTH(int, clusterLaunch,)                             \
  BOTH(int, unifiedFunctionPointers,)                   \
  OLD(int, reserved, [63])                              \
  NEW(int, deviceNumaConfig,)                           \
  NEW(int, deviceNumaId,)                               \
  NEW(int, mpsEnabled,)                                 \
  NEW(int, hostNumaId,)                                 \
  NEW(unsigned int, gpuPciDeviceID,)                    \
  NEW(unsigned int, gpuPciSubsystemID,)                 \
  NEW(int, hostNumaMultinodeIpcSupported,)              \
  NEW(int, reserved, [56])
// clang-format on

#define SIMCUDA_FIELD(type, name, bounds) type name bounds;
#define SIMCUDA_NO_FIELD(type, name, bounds)

struct DeviceProp12 {
  SIMCUDA_DEVICE_PROP_FIELDS(SIMCUDA_FIELD, SIMCUDA_FIELD, SIMCUDA_NO_FIELD)
};

struct DeviceProp13 {
  SIMCUDA_DEVICE_PROP_FIELDS(SIMCUDA_FIELD, SIMCUDA_NO_FIELD, SIMCUDA_FIELD)
};

#undef SIMCUDA_FIELD
#undef SIMCUDA_NO_FIELD

}  // namespace memprof::simcuda::runtime

#endif  // SIMCUDA_RUNTIME_DEVICE_PROP_H
