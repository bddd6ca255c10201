// Every driver function that memprof intercepts, once. From the table are made the enum, the
// pointers to the real functions, the exported wrappers, the map for the results of
// cuGetProcAddress, and the list of exported names.
//
//   X(exported name, base name, since, streams, (parameters), (arguments), handler)
//
// `base name`, `since` and `streams` are for cuGetProcAddress: the requested base name, the
// smallest version (as in CUDA_VERSION) that returns the function, and the default-stream flavour:
// kAny, kLegacy, or kPerThread. `handler` is the type of events/ that interprets a call. The
// functions of CUDA 2 and 3 with 32-bit sizes are left out (docs/capture.md), because no current
// program can call them with success.
//
// Names and signatures: the driver API reference and cuda.h of CUDA 11.8 to 13.5. Why a
// function of these headers is not here: tests/drivers/decisions.txt.
#pragma once

#define MEMPROF_DRIVER_FUNCTIONS(X)                                                                \
  X(cuGetProcAddress, cuGetProcAddress, 11030, kAny,                                               \
    (const char* symbol, void** function, int version, cuuint64_t flags),                          \
    (symbol, function, version, flags), GetProcAddress)                                            \
  X(cuGetProcAddress_v2, cuGetProcAddress, 12000, kAny,                                            \
    (const char* symbol, void** function, int version, cuuint64_t flags, void* status),            \
    (symbol, function, version, flags, status), GetProcAddress)                                    \
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
  X(cuCtxAttach, cuCtxAttach, 2000, kAny, (CUcontext * context, unsigned flags), (context, flags), \
    AttachContext)                                                                                 \
  X(cuGreenCtxCreate, cuGreenCtxCreate, 12040, kAny,                                               \
    (void** green, void* resources, CUdevice device, unsigned flags),                              \
    (green, resources, device, flags), CreateGreen)                                                \
  X(cuCtxFromGreenCtx, cuCtxFromGreenCtx, 12040, kAny, (CUcontext * context, void* green),         \
    (context, green), ContextFromGreen)                                                            \
  X(cuGreenCtxDestroy, cuGreenCtxDestroy, 12040, kAny, (void* green), (green), DestroyGreen)       \
  X(cuCtxDestroy, cuCtxDestroy, 2000, kAny, (CUcontext context), (context), DestroyContext)        \
  X(cuCtxDestroy_v2, cuCtxDestroy, 4000, kAny, (CUcontext context), (context), DestroyContext)     \
  X(cuCtxDetach, cuCtxDetach, 2000, kAny, (CUcontext context), (context), DetachContext)           \
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
  X(cuMemAlloc_v2, cuMemAlloc, 3020, kAny, (CUdeviceptr * pointer, size_t bytes),                  \
    (pointer, bytes), AllocateLinear)                                                              \
  X(cuMemAllocPitch_v2, cuMemAllocPitch, 3020, kAny,                                               \
    (CUdeviceptr * pointer, size_t * pitch, size_t width, size_t height, unsigned element),        \
    (pointer, pitch, width, height, element), AllocatePitched)                                     \
  X(cuMemAllocManaged, cuMemAllocManaged, 6000, kAny,                                              \
    (CUdeviceptr * pointer, size_t bytes, unsigned flags), (pointer, bytes, flags),                \
    AllocateManaged)                                                                               \
  X(cuMemFree_v2, cuMemFree, 3020, kAny, (CUdeviceptr pointer), (pointer), FreeLinear)             \
                                                                                                   \
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
  X(cuArrayCreate_v2, cuArrayCreate, 3020, kAny,                                                   \
    (CUarray * array, const CUDA_ARRAY_DESCRIPTOR* descriptor), (array, descriptor), CreateArray)  \
  X(cuArray3DCreate_v2, cuArray3DCreate, 3020, kAny,                                               \
    (CUarray * array, const CUDA_ARRAY3D_DESCRIPTOR* descriptor), (array, descriptor),             \
    CreateArray3D)                                                                                 \
  X(cuArrayDestroy, cuArrayDestroy, 2000, kAny, (CUarray array), (array), DestroyArray)            \
  X(cuMipmappedArrayCreate, cuMipmappedArrayCreate, 5000, kAny,                                    \
    (CUmipmappedArray * array, const CUDA_ARRAY3D_DESCRIPTOR* descriptor, unsigned levels),        \
    (array, descriptor, levels), CreateMipmap)                                                     \
  X(cuMipmappedArrayDestroy, cuMipmappedArrayDestroy, 5000, kAny, (CUmipmappedArray array),        \
    (array), DestroyMipmap)                                                                        \
  X(cuMemMapArrayAsync, cuMemMapArrayAsync, 11010, kLegacy,                                        \
    (CUarrayMapInfo * list, unsigned count, CUstream stream), (list, count, stream), MapArrays)    \
  X(cuMemMapArrayAsync_ptsz, cuMemMapArrayAsync, 11010, kPerThread,                                \
    (CUarrayMapInfo * list, unsigned count, CUstream stream), (list, count, stream), MapArrays)    \
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
  X(cuMemExportToShareableHandle, cuMemExportToShareableHandle, 10020, kAny,                       \
    (void* shared, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,            \
     unsigned long long flags),                                                                    \
    (shared, handle, type, flags), ExportPhysical)                                                 \
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
  X(cuIpcGetMemHandle, cuIpcGetMemHandle, 4010, kAny,                                              \
    (CUipcMemHandle * handle, CUdeviceptr pointer), (handle, pointer), GetIpc)                     \
  X(cuIpcOpenMemHandle, cuIpcOpenMemHandle, 4010, kAny,                                            \
    (CUdeviceptr * pointer, CUipcMemHandle handle, unsigned flags), (pointer, handle, flags),      \
    OpenIpc)                                                                                       \
  X(cuIpcOpenMemHandle_v2, cuIpcOpenMemHandle, 11000, kAny,                                        \
    (CUdeviceptr * pointer, CUipcMemHandle handle, unsigned flags), (pointer, handle, flags),      \
    OpenIpc)                                                                                       \
  X(cuIpcCloseMemHandle, cuIpcCloseMemHandle, 4010, kAny, (CUdeviceptr pointer), (pointer),        \
    CloseIpc)                                                                                      \
                                                                                                   \
  X(cuGraphAddMemAllocNode, cuGraphAddMemAllocNode, 11040, kAny,                                   \
    (CUgraphNode * node, CUgraph graph, const CUgraphNode* dependencies, size_t count,             \
     CUDA_MEM_ALLOC_NODE_PARAMS* params),                                                          \
    (node, graph, dependencies, count, params), AddAllocNode)                                      \
  X(cuGraphAddMemFreeNode, cuGraphAddMemFreeNode, 11040, kAny,                                     \
    (CUgraphNode * node, CUgraph graph, const CUgraphNode* dependencies, size_t count,             \
     CUdeviceptr address),                                                                         \
    (node, graph, dependencies, count, address), AddFreeNode)                                      \
  X(cuGraphAddNode, cuGraphAddNode, 12020, kAny,                                                   \
    (CUgraphNode * node, CUgraph graph, const CUgraphNode* dependencies, size_t count,             \
     void* params),                                                                                \
    (node, graph, dependencies, count, params), AddNode)                                           \
  X(cuGraphAddNode_v2, cuGraphAddNode, 12030, kAny,                                                \
    (CUgraphNode * node, CUgraph graph, const CUgraphNode* dependencies, const void* edges,        \
     size_t count, void* params),                                                                  \
    (node, graph, dependencies, edges, count, params), AddNodeV2)                                  \
  X(cuGraphAddNode_v3, cuGraphAddNode, 13040, kAny,                                                \
    (CUgraphNode * node, CUgraph graph, const CUgraphNode* dependencies, const void* edges,        \
     size_t count, void* params),                                                                  \
    (node, graph, dependencies, edges, count, params), AddNodeV2)                                  \
  X(cuGraphAddChildGraphNode, cuGraphAddChildGraphNode, 10000, kAny,                               \
    (CUgraphNode * node, CUgraph graph, const CUgraphNode* dependencies, size_t count,             \
     CUgraph child),                                                                               \
    (node, graph, dependencies, count, child), AddChildGraph)                                      \
  X(cuGraphClone, cuGraphClone, 10000, kAny, (CUgraph * clone, CUgraph graph), (clone, graph),     \
    CloneGraph)                                                                                    \
  X(cuGraphExecUpdate, cuGraphExecUpdate, 10020, kAny,                                             \
    (CUgraphExec exec, CUgraph graph, CUgraphNode * error, void* update),                          \
    (exec, graph, error, update), UpdateExec)                                                      \
  X(cuGraphExecUpdate_v2, cuGraphExecUpdate, 12000, kAny,                                          \
    (CUgraphExec exec, CUgraph graph, void* update), (exec, graph, update), UpdateExec)            \
  X(cuGraphInstantiate, cuGraphInstantiate, 10000, kAny,                                           \
    (CUgraphExec * exec, CUgraph graph, CUgraphNode * error, char* log, size_t log_bytes),         \
    (exec, graph, error, log, log_bytes), InstantiateGraph)                                        \
  X(cuGraphInstantiate_v2, cuGraphInstantiate, 11000, kAny,                                        \
    (CUgraphExec * exec, CUgraph graph, CUgraphNode * error, char* log, size_t log_bytes),         \
    (exec, graph, error, log, log_bytes), InstantiateGraph)                                        \
  X(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags, 11040, kAny,                         \
    (CUgraphExec * exec, CUgraph graph, unsigned long long flags), (exec, graph, flags),           \
    InstantiateGraph)                                                                              \
  X(cuGraphInstantiateWithParams, cuGraphInstantiateWithParams, 12000, kLegacy,                    \
    (CUgraphExec * exec, CUgraph graph, void* params), (exec, graph, params), InstantiateGraph)    \
  X(cuGraphInstantiateWithParams_ptsz, cuGraphInstantiateWithParams, 12000, kPerThread,            \
    (CUgraphExec * exec, CUgraph graph, void* params), (exec, graph, params), InstantiateGraph)    \
  X(cuGraphUpload, cuGraphUpload, 11010, kLegacy, (CUgraphExec exec, CUstream stream),             \
    (exec, stream), UploadGraph)                                                                   \
  X(cuGraphUpload_ptsz, cuGraphUpload, 11010, kPerThread, (CUgraphExec exec, CUstream stream),     \
    (exec, stream), UploadGraph)                                                                   \
  X(cuGraphLaunch, cuGraphLaunch, 10000, kLegacy, (CUgraphExec exec, CUstream stream),             \
    (exec, stream), LaunchGraph)                                                                   \
  X(cuGraphLaunch_ptsz, cuGraphLaunch, 10000, kPerThread, (CUgraphExec exec, CUstream stream),     \
    (exec, stream), LaunchGraph)                                                                   \
  X(cuGraphExecDestroy, cuGraphExecDestroy, 10000, kAny, (CUgraphExec exec), (exec), DestroyExec)  \
  X(cuGraphDestroy, cuGraphDestroy, 10000, kAny, (CUgraph graph), (graph), DestroyGraph)           \
  X(cuDeviceGraphMemTrim, cuDeviceGraphMemTrim, 11040, kAny, (CUdevice device), (device),          \
    TrimGraphMemory)                                                                               \
                                                                                                   \
  X(cuModuleLoad, cuModuleLoad, 2000, kAny, (CUmodule * module, const char* file), (module, file), \
    LoadCode)                                                                                      \
  X(cuModuleLoadData, cuModuleLoadData, 2000, kAny, (CUmodule * module, const void* image),        \
    (module, image), LoadCode)                                                                     \
  X(cuModuleLoadDataEx, cuModuleLoadDataEx, 2010, kAny,                                            \
    (CUmodule * module, const void* image, unsigned count, CUjit_option* options, void** values),  \
    (module, image, count, options, values), LoadCode)                                             \
  X(cuModuleLoadFatBinary, cuModuleLoadFatBinary, 2000, kAny,                                      \
    (CUmodule * module, const void* image), (module, image), LoadCode)                             \
  X(cuModuleUnload, cuModuleUnload, 2000, kAny, (CUmodule module), (module), UnloadCode)           \
  X(cuModuleGetGlobal_v2, cuModuleGetGlobal, 3020, kAny,                                           \
    (CUdeviceptr * pointer, size_t * bytes, CUmodule module, const char* name),                    \
    (pointer, bytes, module, name), GetGlobal)                                                     \
  X(cuLibraryLoadData, cuLibraryLoadData, 12000, kAny,                                             \
    (void** library, const void* image, CUjit_option* jit_options, void** jit_values,              \
     unsigned jit_count, void* options, void** values, unsigned count),                            \
    (library, image, jit_options, jit_values, jit_count, options, values, count), LoadCode)        \
  X(cuLibraryLoadFromFile, cuLibraryLoadFromFile, 12000, kAny,                                     \
    (void** library, const char* file, CUjit_option* jit_options, void** jit_values,               \
     unsigned jit_count, void* options, void** values, unsigned count),                            \
    (library, file, jit_options, jit_values, jit_count, options, values, count), LoadCode)         \
  X(cuLibraryUnload, cuLibraryUnload, 12000, kAny, (void* library), (library), UnloadCode)         \
  X(cuLibraryGetGlobal, cuLibraryGetGlobal, 12000, kAny,                                           \
    (CUdeviceptr * pointer, size_t * bytes, void* library, const char* name),                      \
    (pointer, bytes, library, name), GetGlobal)                                                    \
  X(cuLibraryGetManaged, cuLibraryGetManaged, 12000, kAny,                                         \
    (CUdeviceptr * pointer, size_t * bytes, void* library, const char* name),                      \
    (pointer, bytes, library, name), GetGlobal)                                                    \
                                                                                                   \
  X(cuMemPrefetchAsync, cuMemPrefetchAsync, 8000, kLegacy,                                         \
    (CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream),                         \
    (address, bytes, device, stream), Prefetch)                                                    \
  X(cuMemPrefetchAsync_ptsz, cuMemPrefetchAsync, 8000, kPerThread,                                 \
    (CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream),                         \
    (address, bytes, device, stream), Prefetch)                                                    \
  X(cuMemPrefetchAsync_v2, cuMemPrefetchAsync, 12020, kLegacy,                                     \
    (CUdeviceptr address, size_t bytes, CUmemLocation place, unsigned flags, CUstream stream),     \
    (address, bytes, place, flags, stream), PrefetchTo)                                            \
  X(cuMemPrefetchAsync_v2_ptsz, cuMemPrefetchAsync, 12020, kPerThread,                             \
    (CUdeviceptr address, size_t bytes, CUmemLocation place, unsigned flags, CUstream stream),     \
    (address, bytes, place, flags, stream), PrefetchTo)                                            \
  X(cuMemAdvise, cuMemAdvise, 8000, kAny,                                                          \
    (CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice device),                     \
    (address, bytes, advice, device), Advise)                                                      \
  X(cuMemAdvise_v2, cuMemAdvise, 12020, kAny,                                                      \
    (CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation place),                 \
    (address, bytes, advice, place), Advise)                                                       \
  X(cuMemPrefetchBatchAsync, cuMemPrefetchBatchAsync, 13000, kLegacy,                              \
    (CUdeviceptr * addresses, size_t * sizes, size_t count, CUmemLocation * places,                \
     size_t * firsts, size_t place_count, unsigned long long flags, CUstream stream),              \
    (addresses, sizes, count, places, firsts, place_count, flags, stream), PrefetchBatch)          \
  X(cuMemPrefetchBatchAsync_ptsz, cuMemPrefetchBatchAsync, 13000, kPerThread,                      \
    (CUdeviceptr * addresses, size_t * sizes, size_t count, CUmemLocation * places,                \
     size_t * firsts, size_t place_count, unsigned long long flags, CUstream stream),              \
    (addresses, sizes, count, places, firsts, place_count, flags, stream), PrefetchBatch)          \
  X(cuMemDiscardBatchAsync, cuMemDiscardBatchAsync, 13000, kLegacy,                                \
    (CUdeviceptr * addresses, size_t * sizes, size_t count, unsigned long long flags,              \
     CUstream stream),                                                                             \
    (addresses, sizes, count, flags, stream), DiscardBatch)                                        \
  X(cuMemDiscardBatchAsync_ptsz, cuMemDiscardBatchAsync, 13000, kPerThread,                        \
    (CUdeviceptr * addresses, size_t * sizes, size_t count, unsigned long long flags,              \
     CUstream stream),                                                                             \
    (addresses, sizes, count, flags, stream), DiscardBatch)                                        \
  X(cuMemDiscardAndPrefetchBatchAsync, cuMemDiscardAndPrefetchBatchAsync, 13000, kLegacy,          \
    (CUdeviceptr * addresses, size_t * sizes, size_t count, CUmemLocation * places,                \
     size_t * firsts, size_t place_count, unsigned long long flags, CUstream stream),              \
    (addresses, sizes, count, places, firsts, place_count, flags, stream),                         \
    DiscardAndPrefetchBatch)                                                                       \
  X(cuMemDiscardAndPrefetchBatchAsync_ptsz, cuMemDiscardAndPrefetchBatchAsync, 13000, kPerThread,  \
    (CUdeviceptr * addresses, size_t * sizes, size_t count, CUmemLocation * places,                \
     size_t * firsts, size_t place_count, unsigned long long flags, CUstream stream),              \
    (addresses, sizes, count, places, firsts, place_count, flags, stream),                         \
    DiscardAndPrefetchBatch)                                                                       \
                                                                                                   \
  X(cuMulticastAddDevice, cuMulticastAddDevice, 12010, kAny,                                       \
    (CUmemGenericAllocationHandle multicast, CUdevice device), (multicast, device),                \
    AddMulticastDevice)                                                                            \
  X(cuMulticastBindMem, cuMulticastBindMem, 12010, kAny,                                           \
    (CUmemGenericAllocationHandle multicast, size_t offset, CUmemGenericAllocationHandle memory,   \
     size_t memory_offset, size_t bytes, unsigned long long flags),                                \
    (multicast, offset, memory, memory_offset, bytes, flags), BindMemory)                          \
  X(cuMulticastBindMem_v2, cuMulticastBindMem, 13010, kAny,                                        \
    (CUmemGenericAllocationHandle multicast, CUdevice device, size_t offset,                       \
     CUmemGenericAllocationHandle memory, size_t memory_offset, size_t bytes,                      \
     unsigned long long flags),                                                                    \
    (multicast, device, offset, memory, memory_offset, bytes, flags), BindMemory)                  \
  X(cuMulticastBindAddr, cuMulticastBindAddr, 12010, kAny,                                         \
    (CUmemGenericAllocationHandle multicast, size_t offset, CUdeviceptr address, size_t bytes,     \
     unsigned long long flags),                                                                    \
    (multicast, offset, address, bytes, flags), BindAddress)                                       \
  X(cuMulticastBindAddr_v2, cuMulticastBindAddr, 13010, kAny,                                      \
    (CUmemGenericAllocationHandle multicast, CUdevice device, size_t offset, CUdeviceptr address,  \
     size_t bytes, unsigned long long flags),                                                      \
    (multicast, device, offset, address, bytes, flags), BindAddress)                               \
  X(cuMulticastUnbind, cuMulticastUnbind, 12010, kAny,                                             \
    (CUmemGenericAllocationHandle multicast, CUdevice device, size_t offset, size_t bytes),        \
    (multicast, device, offset, bytes), UnbindMemory)                                              \
  X(cuLogicalEndpointCreate, cuLogicalEndpointCreate, 13030, kAny,                                 \
    (cuuint32_t endpoint, const void* properties), (endpoint, properties), CreateEndpoint)         \
  X(cuLogicalEndpointImport, cuLogicalEndpointImport, 13030, kAny,                                 \
    (cuuint32_t endpoint, const void* shared, int type), (endpoint, shared, type), CreateEndpoint) \
  X(cuLogicalEndpointAddDevice, cuLogicalEndpointAddDevice, 13030, kAny,                           \
    (cuuint32_t endpoint, CUdevice device), (endpoint, device), AddEndpointDevice)                 \
  X(cuLogicalEndpointBindMem, cuLogicalEndpointBindMem, 13030, kAny,                               \
    (cuuint32_t endpoint, CUdevice device, cuuint64_t offset, CUmemGenericAllocationHandle memory, \
     cuuint64_t memory_offset, cuuint64_t bytes, unsigned long long flags),                        \
    (endpoint, device, offset, memory, memory_offset, bytes, flags), BindEndpointMemory)           \
  X(cuLogicalEndpointBindAddr, cuLogicalEndpointBindAddr, 13030, kAny,                             \
    (cuuint32_t endpoint, CUdevice device, cuuint64_t offset, void* address, cuuint64_t bytes,     \
     unsigned long long flags),                                                                    \
    (endpoint, device, offset, address, bytes, flags), BindEndpointAddress)                        \
  X(cuLogicalEndpointUnbind, cuLogicalEndpointUnbind, 13030, kAny,                                 \
    (cuuint32_t endpoint, CUdevice device, cuuint64_t offset, cuuint64_t bytes),                   \
    (endpoint, device, offset, bytes), UnbindEndpoint)                                             \
  X(cuLogicalEndpointDestroy, cuLogicalEndpointDestroy, 13030, kAny, (cuuint32_t endpoint),        \
    (endpoint), DestroyEndpoint)                                                                   \
                                                                                                   \
  X(cuMemPoolImportFromShareableHandle, cuMemPoolImportFromShareableHandle, 11020, kAny,           \
    (CUmemoryPool * pool, void* shared, CUmemAllocationHandleType type, unsigned long long flags), \
    (pool, shared, type, flags), ImportPool)                                                       \
  X(cuMemPoolExportPointer, cuMemPoolExportPointer, 11020, kAny,                                   \
    (CUmemPoolPtrExportData * data, CUdeviceptr pointer), (data, pointer), ExportPoolPointer)      \
  X(cuMemPoolImportPointer, cuMemPoolImportPointer, 11020, kAny,                                   \
    (CUdeviceptr * pointer, CUmemoryPool pool, CUmemPoolPtrExportData * data),                     \
    (pointer, pool, data), ImportPoolPointer)                                                      \
  X(cuImportExternalMemory, cuImportExternalMemory, 10000, kAny,                                   \
    (CUexternalMemory * memory, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* description),              \
    (memory, description), ImportExternal)                                                         \
  X(cuExternalMemoryGetMappedBuffer, cuExternalMemoryGetMappedBuffer, 10000, kAny,                 \
    (CUdeviceptr * pointer, CUexternalMemory memory,                                               \
     const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* description),                                         \
    (pointer, memory, description), MapExternalBuffer)                                             \
  X(cuExternalMemoryGetMappedMipmappedArray, cuExternalMemoryGetMappedMipmappedArray, 10000, kAny, \
    (CUmipmappedArray * array, CUexternalMemory memory,                                            \
     const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC* description),                                \
    (array, memory, description), MapExternalMipmap)                                               \
  X(cuDestroyExternalMemory, cuDestroyExternalMemory, 10000, kAny, (CUexternalMemory memory),      \
    (memory), CloseExternal)                                                                       \
  X(cuGraphicsGLRegisterBuffer, cuGraphicsGLRegisterBuffer, 3000, kAny,                            \
    (CUgraphicsResource * resource, unsigned buffer, unsigned flags), (resource, buffer, flags),   \
    RegisterGraphics)                                                                              \
  X(cuGraphicsGLRegisterImage, cuGraphicsGLRegisterImage, 3000, kAny,                              \
    (CUgraphicsResource * resource, unsigned image, unsigned target, unsigned flags),              \
    (resource, image, target, flags), RegisterGraphics)                                            \
  X(cuGraphicsEGLRegisterImage, cuGraphicsEGLRegisterImage, 7000, kAny,                            \
    (CUgraphicsResource * resource, void* image, unsigned flags), (resource, image, flags),        \
    RegisterGraphics)                                                                              \
  X(cuEGLStreamConsumerAcquireFrame, cuEGLStreamConsumerAcquireFrame, 7000, kAny,                  \
    (void* connection, CUgraphicsResource* resource, CUstream* stream, unsigned timeout),          \
    (connection, resource, stream, timeout), AcquireFrame)                                         \
  X(cuEGLStreamConsumerReleaseFrame, cuEGLStreamConsumerReleaseFrame, 7000, kAny,                  \
    (void* connection, CUgraphicsResource resource, CUstream* stream),                             \
    (connection, resource, stream), ReleaseFrame)                                                  \
  X(cuGraphicsUnregisterResource, cuGraphicsUnregisterResource, 3000, kAny,                        \
    (CUgraphicsResource resource), (resource), UnregisterGraphics)                                 \
  X(cuGraphicsResourceGetMappedPointer_v2, cuGraphicsResourceGetMappedPointer, 3020, kAny,         \
    (CUdeviceptr * pointer, size_t * bytes, CUgraphicsResource resource),                          \
    (pointer, bytes, resource), GetGraphicsPointer)                                                \
  X(cuGraphicsSubResourceGetMappedArray, cuGraphicsSubResourceGetMappedArray, 3000, kAny,          \
    (CUarray * array, CUgraphicsResource resource, unsigned index, unsigned level),                \
    (array, resource, index, level), GetGraphicsArray)                                             \
  X(cuGraphicsResourceGetMappedMipmappedArray, cuGraphicsResourceGetMappedMipmappedArray, 5000,    \
    kAny, (CUmipmappedArray * array, CUgraphicsResource resource), (array, resource),              \
    GetGraphicsMipmap)                                                                             \
  X(cuGraphicsResourceGetMappedEglFrame, cuGraphicsResourceGetMappedEglFrame, 7000, kAny,          \
    (void* frame, CUgraphicsResource resource, unsigned index, unsigned level),                    \
    (frame, resource, index, level), GetEglFrame)                                                  \
  X(cuGraphicsMapResources, cuGraphicsMapResources, 3000, kLegacy,                                 \
    (unsigned count, CUgraphicsResource* resources, CUstream stream), (count, resources, stream),  \
    MapGraphics)                                                                                   \
  X(cuGraphicsMapResources_ptsz, cuGraphicsMapResources, 7000, kPerThread,                         \
    (unsigned count, CUgraphicsResource* resources, CUstream stream), (count, resources, stream),  \
    MapGraphics)                                                                                   \
  X(cuGraphicsUnmapResources, cuGraphicsUnmapResources, 3000, kLegacy,                             \
    (unsigned count, CUgraphicsResource* resources, CUstream stream), (count, resources, stream),  \
    UnmapGraphics)                                                                                 \
  X(cuGraphicsUnmapResources_ptsz, cuGraphicsUnmapResources, 7000, kPerThread,                     \
    (unsigned count, CUgraphicsResource* resources, CUstream stream), (count, resources, stream),  \
    UnmapGraphics)                                                                                 \
                                                                                                   \
  X(cuCheckpointProcessLock, cuCheckpointProcessLock, 12080, kAny, (int pid, void* arguments),     \
    (pid, arguments), CheckpointLock)                                                              \
  X(cuCheckpointProcessCheckpoint, cuCheckpointProcessCheckpoint, 12080, kAny,                     \
    (int pid, void* arguments), (pid, arguments), CheckpointSave)                                  \
  X(cuCheckpointProcessRestore, cuCheckpointProcessRestore, 12080, kAny,                           \
    (int pid, void* arguments), (pid, arguments), CheckpointRestore)                               \
  X(cuCheckpointProcessUnlock, cuCheckpointProcessUnlock, 12080, kAny, (int pid, void* arguments), \
    (pid, arguments), CheckpointUnlock)
