// Every driver function that memprof intercepts, once. The table makes the enum, the pointers to
// the real functions, the exported wrappers, the map that cuGetProcAddress answers are looked up
// in, and the list of exported names.
//
//   X(exported name, base name, since, streams, (parameters), (arguments), handler)
//
// `base name`, `since` and `streams` say how cuGetProcAddress names the function: base name asked
// for, smallest version (as in CUDA_VERSION) that gets it, and the default-stream flavour:
// kAny, kLegacy, or kPerThread. `handler` is the function template of hooks_*.h that calls the
// real one and records. Names without suffix that have a _v2 twin take 32-bit sizes; the driver
// still exports them.
//
// Names and signatures: the driver API reference and cuda.h of CUDA 11.8 to 13.0.
#pragma once

#define MEMPROF_DRIVER_FUNCTIONS(X)                                                                \
  X(cuGetProcAddress, cuGetProcAddress, 11030, kAny,                                               \
    (const char* symbol, void** function, int version, cuuint64_t flags),                          \
    (symbol, function, version, flags), GetProcAddress)                                            \
  X(cuGetProcAddress_v2, cuGetProcAddress, 12000, kAny,                                            \
    (const char* symbol, void** function, int version, cuuint64_t flags, void* status),            \
    (symbol, function, version, flags, status), GetProcAddressV2)                                  \
  X(cuInit, cuInit, 2000, kAny, (unsigned flags), (flags), Init)                                   \
                                                                                                   \
  X(cuCtxCreate, cuCtxCreate, 2000, kAny, (CUcontext * context, unsigned flags, CUdevice device),  \
    (context, flags, device), CreateContext)                                                       \
  X(cuCtxCreate_v2, cuCtxCreate, 3020, kAny,                                                       \
    (CUcontext * context, unsigned flags, CUdevice device), (context, flags, device),              \
    CreateContext)                                                                                 \
  X(cuCtxCreate_v3, cuCtxCreate, 11040, kAny,                                                      \
    (CUcontext * context, void* affinity, int count, unsigned flags, CUdevice device),             \
    (context, affinity, count, flags, device), CreateContext)                                      \
  X(cuCtxCreate_v4, cuCtxCreate, 12050, kAny,                                                      \
    (CUcontext * context, void* parameters, unsigned flags, CUdevice device),                      \
    (context, parameters, flags, device), CreateContext)                                           \
  X(cuCtxDestroy, cuCtxDestroy, 2000, kAny, (CUcontext context), (context), DestroyContext)        \
  X(cuCtxDestroy_v2, cuCtxDestroy, 4000, kAny, (CUcontext context), (context), DestroyContext)     \
  X(cuCtxDetach, cuCtxDetach, 2000, kAny, (CUcontext context), (context), DestroyContext)          \
  X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, 7000, kAny,                                \
    (CUcontext * context, CUdevice device), (context, device), RetainPrimary)                      \
  X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease, 7000, kAny, (CUdevice device), (device), \
    ReleasePrimary)                                                                                \
  X(cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease, 11000, kAny, (CUdevice device),       \
    (device), ReleasePrimary)                                                                      \
  X(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset, 7000, kAny, (CUdevice device), (device),     \
    ResetPrimary)                                                                                  \
  X(cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxReset, 11000, kAny, (CUdevice device), (device), \
    ResetPrimary)                                                                                  \
                                                                                                   \
  X(cuMemAlloc, cuMemAlloc, 2000, kAny, (unsigned* pointer, unsigned bytes), (pointer, bytes),     \
    AllocateLinear)                                                                                \
  X(cuMemAlloc_v2, cuMemAlloc, 3020, kAny, (CUdeviceptr * pointer, size_t bytes),                  \
    (pointer, bytes), AllocateLinear)                                                              \
  X(cuMemAllocPitch, cuMemAllocPitch, 2000, kAny,                                                  \
    (unsigned* pointer, unsigned* pitch, unsigned width, unsigned height, unsigned element),       \
    (pointer, pitch, width, height, element), AllocatePitched)                                     \
  X(cuMemAllocPitch_v2, cuMemAllocPitch, 3020, kAny,                                               \
    (CUdeviceptr * pointer, size_t * pitch, size_t width, size_t height, unsigned element),        \
    (pointer, pitch, width, height, element), AllocatePitched)                                     \
  X(cuMemAllocManaged, cuMemAllocManaged, 6000, kAny,                                              \
    (CUdeviceptr * pointer, size_t bytes, unsigned flags), (pointer, bytes, flags),                \
    AllocateManaged)                                                                               \
  X(cuMemFree, cuMemFree, 2000, kAny, (unsigned pointer), (pointer), FreeLinear)                   \
  X(cuMemFree_v2, cuMemFree, 3020, kAny, (CUdeviceptr pointer), (pointer), FreeLinear)             \
                                                                                                   \
  X(cuMemAllocHost, cuMemAllocHost, 2000, kAny, (void** pointer, unsigned bytes),                  \
    (pointer, bytes), AllocateHost)                                                                \
  X(cuMemAllocHost_v2, cuMemAllocHost, 3020, kAny, (void** pointer, size_t bytes),                 \
    (pointer, bytes), AllocateHost)                                                                \
  X(cuMemHostAlloc, cuMemHostAlloc, 2020, kAny, (void** pointer, size_t bytes, unsigned flags),    \
    (pointer, bytes, flags), AllocateHost)                                                         \
  X(cuMemFreeHost, cuMemFreeHost, 2000, kAny, (void* pointer), (pointer), FreeHost)                \
  X(cuMemHostRegister, cuMemHostRegister, 4000, kAny,                                              \
    (void* pointer, size_t bytes, unsigned flags), (pointer, bytes, flags), RegisterHost)          \
  X(cuMemHostRegister_v2, cuMemHostRegister, 6050, kAny,                                           \
    (void* pointer, size_t bytes, unsigned flags), (pointer, bytes, flags), RegisterHost)          \
  X(cuMemHostUnregister, cuMemHostUnregister, 4000, kAny, (void* pointer), (pointer),              \
    UnregisterHost)                                                                                \
                                                                                                   \
  X(cuMemAllocAsync, cuMemAllocAsync, 11020, kLegacy,                                              \
    (CUdeviceptr * pointer, size_t bytes, CUstream stream), (pointer, bytes, stream),              \
    AllocateAsync)                                                                                 \
  X(cuMemAllocAsync_ptsz, cuMemAllocAsync, 11020, kPerThread,                                      \
    (CUdeviceptr * pointer, size_t bytes, CUstream stream), (pointer, bytes, stream),              \
    AllocateAsync)                                                                                 \
  X(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync, 11020, kLegacy,                              \
    (CUdeviceptr * pointer, size_t bytes, CUmemoryPool pool, CUstream stream),                     \
    (pointer, bytes, pool, stream), AllocateFromPool)                                              \
  X(cuMemAllocFromPoolAsync_ptsz, cuMemAllocFromPoolAsync, 11020, kPerThread,                      \
    (CUdeviceptr * pointer, size_t bytes, CUmemoryPool pool, CUstream stream),                     \
    (pointer, bytes, pool, stream), AllocateFromPool)                                              \
  X(cuMemFreeAsync, cuMemFreeAsync, 11020, kLegacy, (CUdeviceptr pointer, CUstream stream),        \
    (pointer, stream), FreeAsync)                                                                  \
  X(cuMemFreeAsync_ptsz, cuMemFreeAsync, 11020, kPerThread,                                        \
    (CUdeviceptr pointer, CUstream stream), (pointer, stream), FreeAsync)                          \
  X(cuMemPoolCreate, cuMemPoolCreate, 11020, kAny,                                                 \
    (CUmemoryPool * pool, const CUmemPoolProps* properties), (pool, properties), CreatePool)       \
  X(cuMemPoolDestroy, cuMemPoolDestroy, 11020, kAny, (CUmemoryPool pool), (pool), DestroyPool)     \
  X(cuMemPoolTrimTo, cuMemPoolTrimTo, 11020, kAny, (CUmemoryPool pool, size_t keep), (pool, keep), \
    TrimPool)                                                                                      \
                                                                                                   \
  X(cuArrayCreate, cuArrayCreate, 2000, kAny, (CUarray * array, const void* descriptor),           \
    (array, descriptor), CreateArray32)                                                            \
  X(cuArrayCreate_v2, cuArrayCreate, 3020, kAny,                                                   \
    (CUarray * array, const CUDA_ARRAY_DESCRIPTOR* descriptor), (array, descriptor), CreateArray)  \
  X(cuArray3DCreate, cuArray3DCreate, 2000, kAny, (CUarray * array, const void* descriptor),       \
    (array, descriptor), CreateArray3D32)                                                          \
  X(cuArray3DCreate_v2, cuArray3DCreate, 3020, kAny,                                               \
    (CUarray * array, const CUDA_ARRAY3D_DESCRIPTOR* descriptor), (array, descriptor),             \
    CreateArray3D)                                                                                 \
  X(cuArrayDestroy, cuArrayDestroy, 2000, kAny, (CUarray array), (array), DestroyArray)            \
  X(cuMipmappedArrayCreate, cuMipmappedArrayCreate, 5000, kAny,                                    \
    (CUmipmappedArray * array, const CUDA_ARRAY3D_DESCRIPTOR* descriptor, unsigned levels),        \
    (array, descriptor, levels), CreateMipmap)                                                     \
  X(cuMipmappedArrayDestroy, cuMipmappedArrayDestroy, 5000, kAny, (CUmipmappedArray array),        \
    (array), DestroyArray)                                                                         \
                                                                                                   \
  X(cuMemCreate, cuMemCreate, 10020, kAny,                                                         \
    (CUmemGenericAllocationHandle * handle, size_t bytes, const CUmemAllocationProp* properties,   \
     unsigned long long flags),                                                                    \
    (handle, bytes, properties, flags), CreatePhysical)                                            \
  X(cuMemRelease, cuMemRelease, 10020, kAny, (CUmemGenericAllocationHandle handle), (handle),      \
    ReleasePhysical)                                                                               \
  X(cuMemRetainAllocationHandle, cuMemRetainAllocationHandle, 11000, kAny,                         \
    (CUmemGenericAllocationHandle * handle, void* address), (handle, address), RetainPhysical)     \
  X(cuMemImportFromShareableHandle, cuMemImportFromShareableHandle, 10020, kAny,                   \
    (CUmemGenericAllocationHandle * handle, void* shared, CUmemAllocationHandleType type),         \
    (handle, shared, type), ImportPhysical)                                                        \
  X(cuMulticastCreate, cuMulticastCreate, 12010, kAny,                                             \
    (CUmemGenericAllocationHandle * handle, const void* properties), (handle, properties),         \
    CreateMulticast)                                                                               \
  X(cuMemMap, cuMemMap, 10020, kAny,                                                               \
    (CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,        \
     unsigned long long flags),                                                                    \
    (address, bytes, offset, handle, flags), MapPhysical)                                          \
  X(cuMemUnmap, cuMemUnmap, 10020, kAny, (CUdeviceptr address, size_t bytes), (address, bytes),    \
    UnmapPhysical)                                                                                 \
  X(cuMemAddressReserve, cuMemAddressReserve, 10020, kAny,                                         \
    (CUdeviceptr * address, size_t bytes, size_t alignment, CUdeviceptr hint,                      \
     unsigned long long flags),                                                                    \
    (address, bytes, alignment, hint, flags), ReserveAddress)                                      \
  X(cuMemAddressFree, cuMemAddressFree, 10020, kAny, (CUdeviceptr address, size_t bytes),          \
    (address, bytes), FreeAddress)                                                                 \
                                                                                                   \
  X(cuIpcOpenMemHandle, cuIpcOpenMemHandle, 4010, kAny,                                            \
    (CUdeviceptr * pointer, CUipcMemHandle handle, unsigned flags), (pointer, handle, flags),      \
    OpenIpc)                                                                                       \
  X(cuIpcOpenMemHandle_v2, cuIpcOpenMemHandle, 11000, kAny,                                        \
    (CUdeviceptr * pointer, CUipcMemHandle handle, unsigned flags), (pointer, handle, flags),      \
    OpenIpc)                                                                                       \
  X(cuIpcCloseMemHandle, cuIpcCloseMemHandle, 4010, kAny, (CUdeviceptr pointer), (pointer),        \
    CloseIpc)
