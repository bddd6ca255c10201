// How the stand-in cudart calls the driver: as the real one. It opens libcuda.so.1, looks up
// cuGetProcAddress, and gets every other function from that. So interposers between the real
// runtime and the driver work here too.
#ifndef SIMCUDA_RUNTIME_CALLS_H
#define SIMCUDA_RUNTIME_CALLS_H

#include "simcuda/driver/cuda_headers.h"
#include "simcuda/simcuda.h"

namespace memprof::simcuda::runtime {

// Converts the runtime's pointers to the driver's addresses.
inline CUdeviceptr Address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

// X(exported name, base name, CUDA version at which it is the base name's variant)
#define SIMCUDA_RUNTIME_CALLS(X)                                                   \
  X(cuInit, cuInit, 2000)                                                          \
  X(cuDriverGetVersion, cuDriverGetVersion, 2020)                                  \
  X(cuGetErrorName, cuGetErrorName, 6000)                                          \
  X(cuGetErrorString, cuGetErrorString, 6000)                                      \
  X(cuDeviceGet, cuDeviceGet, 2000)                                                \
  X(cuDeviceGetCount, cuDeviceGetCount, 2000)                                      \
  X(cuDeviceGetName, cuDeviceGetName, 2000)                                        \
  X(cuDeviceGetUuid, cuDeviceGetUuid, 9020)                                        \
  X(cuDeviceTotalMem_v2, cuDeviceTotalMem, 3020)                                   \
  X(cuDeviceGetAttribute, cuDeviceGetAttribute, 2000)                              \
  X(cuDeviceGetPCIBusId, cuDeviceGetPCIBusId, 4010)                                \
  X(cuDeviceGetByPCIBusId, cuDeviceGetByPCIBusId, 4010)                            \
  X(cuDeviceCanAccessPeer, cuDeviceCanAccessPeer, 4000)                            \
  X(cuDeviceGetP2PAttribute, cuDeviceGetP2PAttribute, 8000)                        \
  X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, 7000)                      \
  X(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset, 7000)                        \
  X(cuDevicePrimaryCtxSetFlags_v2, cuDevicePrimaryCtxSetFlags, 11000)              \
  X(cuDevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState, 7000)                  \
  X(cuDeviceGetDefaultMemPool, cuDeviceGetDefaultMemPool, 11020)                   \
  X(cuDeviceGetMemPool, cuDeviceGetMemPool, 11020)                                 \
  X(cuDeviceSetMemPool, cuDeviceSetMemPool, 11020)                                 \
  X(cuCtxGetCurrent, cuCtxGetCurrent, 4000)                                        \
  X(cuCtxSetCurrent, cuCtxSetCurrent, 4000)                                        \
  X(cuCtxGetDevice, cuCtxGetDevice, 2000)                                          \
  X(cuCtxSynchronize, cuCtxSynchronize, 2000)                                      \
  X(cuCtxGetLimit, cuCtxGetLimit, 3010)                                            \
  X(cuCtxSetLimit, cuCtxSetLimit, 3010)                                            \
  X(cuCtxGetCacheConfig, cuCtxGetCacheConfig, 3020)                                \
  X(cuCtxSetCacheConfig, cuCtxSetCacheConfig, 3020)                                \
  X(cuCtxGetStreamPriorityRange, cuCtxGetStreamPriorityRange, 5050)                \
  X(cuCtxEnablePeerAccess, cuCtxEnablePeerAccess, 4000)                            \
  X(cuCtxDisablePeerAccess, cuCtxDisablePeerAccess, 4000)                          \
  X(cuCtxResetPersistingL2Cache, cuCtxResetPersistingL2Cache, 11000)               \
  X(cuMemGetInfo_v2, cuMemGetInfo, 3020)                                           \
  X(cuMemAlloc_v2, cuMemAlloc, 3020)                                               \
  X(cuMemAllocPitch_v2, cuMemAllocPitch, 3020)                                     \
  X(cuMemFree_v2, cuMemFree, 3020)                                                 \
  X(cuMemAllocManaged, cuMemAllocManaged, 6000)                                    \
  X(cuMemHostAlloc, cuMemHostAlloc, 2020)                                          \
  X(cuMemFreeHost, cuMemFreeHost, 2000)                                            \
  X(cuMemHostRegister_v2, cuMemHostRegister, 6050)                                 \
  X(cuMemHostUnregister, cuMemHostUnregister, 4000)                                \
  X(cuMemHostGetDevicePointer_v2, cuMemHostGetDevicePointer, 3020)                 \
  X(cuMemHostGetFlags, cuMemHostGetFlags, 2030)                                    \
  X(cuMemPrefetchAsync, cuMemPrefetchAsync, 8000)                                  \
  X(cuMemAdvise, cuMemAdvise, 8000)                                                \
  X(cuMemRangeGetAttribute, cuMemRangeGetAttribute, 8000)                          \
  X(cuMemRangeGetAttributes, cuMemRangeGetAttributes, 8000)                        \
  X(cuMemAllocAsync, cuMemAllocAsync, 11020)                                       \
  X(cuMemFreeAsync, cuMemFreeAsync, 11020)                                         \
  X(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync, 11020)                       \
  X(cuMemPoolCreate, cuMemPoolCreate, 11020)                                       \
  X(cuMemPoolDestroy, cuMemPoolDestroy, 11020)                                     \
  X(cuMemPoolTrimTo, cuMemPoolTrimTo, 11020)                                       \
  X(cuMemPoolSetAttribute, cuMemPoolSetAttribute, 11020)                           \
  X(cuMemPoolGetAttribute, cuMemPoolGetAttribute, 11020)                           \
  X(cuMemPoolSetAccess, cuMemPoolSetAccess, 11020)                                 \
  X(cuMemPoolGetAccess, cuMemPoolGetAccess, 11020)                                 \
  X(cuArray3DCreate_v2, cuArray3DCreate, 3020)                                     \
  X(cuArrayDestroy, cuArrayDestroy, 2000)                                          \
  X(cuArray3DGetDescriptor_v2, cuArray3DGetDescriptor, 3020)                       \
  X(cuMipmappedArrayCreate, cuMipmappedArrayCreate, 5000)                          \
  X(cuMipmappedArrayGetLevel, cuMipmappedArrayGetLevel, 5000)                      \
  X(cuMipmappedArrayDestroy, cuMipmappedArrayDestroy, 5000)                        \
  X(cuMemcpy, cuMemcpy, 4000)                                                      \
  X(cuMemcpyAsync, cuMemcpyAsync, 4000)                                            \
  X(cuMemcpyHtoD_v2, cuMemcpyHtoD, 3020)                                           \
  X(cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync, 3020)                                 \
  X(cuMemcpyDtoH_v2, cuMemcpyDtoH, 3020)                                           \
  X(cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync, 3020)                                 \
  X(cuMemcpyDtoD_v2, cuMemcpyDtoD, 3020)                                           \
  X(cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync, 3020)                                 \
  X(cuMemcpyPeer, cuMemcpyPeer, 4000)                                              \
  X(cuMemcpyPeerAsync, cuMemcpyPeerAsync, 4000)                                    \
  X(cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned, 3020)                             \
  X(cuMemcpy2DAsync_v2, cuMemcpy2DAsync, 3020)                                     \
  X(cuMemcpy3D_v2, cuMemcpy3D, 3020)                                               \
  X(cuMemcpy3DAsync_v2, cuMemcpy3DAsync, 3020)                                     \
  X(cuMemsetD8_v2, cuMemsetD8, 3020)                                               \
  X(cuMemsetD8Async, cuMemsetD8Async, 3020)                                        \
  X(cuMemsetD2D8_v2, cuMemsetD2D8, 3020)                                           \
  X(cuMemsetD2D8Async, cuMemsetD2D8Async, 3020)                                    \
  X(cuPointerGetAttributes, cuPointerGetAttributes, 7000)                          \
  X(cuStreamCreateWithPriority, cuStreamCreateWithPriority, 5050)                  \
  X(cuStreamCreate, cuStreamCreate, 2000)                                          \
  X(cuStreamDestroy_v2, cuStreamDestroy, 4000)                                     \
  X(cuStreamSynchronize, cuStreamSynchronize, 2000)                                \
  X(cuStreamQuery, cuStreamQuery, 2000)                                            \
  X(cuStreamWaitEvent, cuStreamWaitEvent, 3020)                                    \
  X(cuStreamGetPriority, cuStreamGetPriority, 5050)                                \
  X(cuStreamGetFlags, cuStreamGetFlags, 5050)                                      \
  X(cuStreamAddCallback, cuStreamAddCallback, 5000)                                \
  X(cuStreamAttachMemAsync, cuStreamAttachMemAsync, 6000)                          \
  X(cuStreamIsCapturing, cuStreamIsCapturing, 10000)                               \
  X(cuStreamBeginCapture_v2, cuStreamBeginCapture, 10010)                          \
  X(cuStreamEndCapture, cuStreamEndCapture, 10000)                                 \
  X(cuStreamGetCaptureInfo_v2, cuStreamGetCaptureInfo, 11030)                      \
  X(cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, 10010)   \
  X(cuGraphCreate, cuGraphCreate, 10000)                                           \
  X(cuGraphDestroy, cuGraphDestroy, 10000)                                         \
  X(cuGraphGetNodes, cuGraphGetNodes, 10000)                                       \
  X(cuGraphGetRootNodes, cuGraphGetRootNodes, 10000)                               \
  X(cuGraphNodeGetType, cuGraphNodeGetType, 10000)                                 \
  X(cuGraphDestroyNode, cuGraphDestroyNode, 10000)                                 \
  X(cuGraphAddEmptyNode, cuGraphAddEmptyNode, 10000)                               \
  X(cuGraphAddHostNode, cuGraphAddHostNode, 10000)                                 \
  X(cuGraphAddKernelNode, cuGraphAddKernelNode, 10000)                             \
  X(cuGraphAddMemsetNode, cuGraphAddMemsetNode, 10000)                             \
  X(cuCtxGetSharedMemConfig, cuCtxGetSharedMemConfig, 4020)                        \
  X(cuCtxSetSharedMemConfig, cuCtxSetSharedMemConfig, 4020)                        \
  X(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags, 11040)               \
  X(cuGraphLaunch, cuGraphLaunch, 10000)                                           \
  X(cuGraphUpload, cuGraphUpload, 11010)                                           \
  X(cuGraphExecDestroy, cuGraphExecDestroy, 10000)                                 \
  X(cuLaunchHostFunc, cuLaunchHostFunc, 10000)                                     \
  X(cuEventCreate, cuEventCreate, 2000)                                            \
  X(cuEventDestroy_v2, cuEventDestroy, 4000)                                       \
  X(cuEventRecord, cuEventRecord, 2000)                                            \
  X(cuEventRecordWithFlags, cuEventRecordWithFlags, 11010)                         \
  X(cuEventQuery, cuEventQuery, 2000)                                              \
  X(cuEventSynchronize, cuEventSynchronize, 2000)                                  \
  X(cuEventElapsedTime, cuEventElapsedTime, 2000)                                  \
  X(cuModuleLoadData, cuModuleLoadData, 2000)                                      \
  X(cuModuleUnload, cuModuleUnload, 2000)                                          \
  X(cuModuleGetFunction, cuModuleGetFunction, 2000)                                \
  X(cuModuleGetGlobal_v2, cuModuleGetGlobal, 3020)                                 \
  X(cuFuncGetAttribute, cuFuncGetAttribute, 2020)                                  \
  X(cuFuncSetAttribute, cuFuncSetAttribute, 9000)                                  \
  X(cuFuncSetCacheConfig, cuFuncSetCacheConfig, 3000)                              \
  X(cuLaunchKernel, cuLaunchKernel, 4000)                                          \
  X(cuLaunchKernelEx, cuLaunchKernelEx, 11060)                                     \
  X(cuLaunchCooperativeKernel, cuLaunchCooperativeKernel, 9000)                    \
  X(cuIpcGetMemHandle, cuIpcGetMemHandle, 4010)                                    \
  X(cuIpcOpenMemHandle_v2, cuIpcOpenMemHandle, 11000)                              \
  X(cuIpcCloseMemHandle, cuIpcCloseMemHandle, 4010)                                \
  X(cuIpcGetEventHandle, cuIpcGetEventHandle, 4010)                                \
  X(cuIpcOpenEventHandle, cuIpcOpenEventHandle, 4010)                              \
  X(cuMemPoolExportToShareableHandle, cuMemPoolExportToShareableHandle, 11020)     \
  X(cuMemPoolImportFromShareableHandle, cuMemPoolImportFromShareableHandle, 11020) \
  X(cuMemPoolExportPointer, cuMemPoolExportPointer, 11020)                         \
  X(cuMemPoolImportPointer, cuMemPoolImportPointer, 11020)                         \
  X(cuImportExternalMemory, cuImportExternalMemory, 10000)                         \
  X(cuExternalMemoryGetMappedBuffer, cuExternalMemoryGetMappedBuffer, 10000)       \
  X(cuDestroyExternalMemory, cuDestroyExternalMemory, 10000)                       \
  X(cuGraphAddMemAllocNode, cuGraphAddMemAllocNode, 11040)                         \
  X(cuGraphMemAllocNodeGetParams, cuGraphMemAllocNodeGetParams, 11040)             \
  X(cuGraphAddMemFreeNode, cuGraphAddMemFreeNode, 11040)                           \
  X(cuGraphMemFreeNodeGetParams, cuGraphMemFreeNodeGetParams, 11040)               \
  X(cuDeviceGraphMemTrim, cuDeviceGraphMemTrim, 11040)                             \
  X(cuDeviceGetGraphMemAttribute, cuDeviceGetGraphMemAttribute, 11040)             \
  X(cuDeviceSetGraphMemAttribute, cuDeviceSetGraphMemAttribute, 11040)             \
  X(cuGraphNodeGetDependencies, cuGraphNodeGetDependencies, 10000)                 \
  X(cuUserObjectCreate, cuUserObjectCreate, 11030)                                 \
  X(cuUserObjectRetain, cuUserObjectRetain, 11030)                                 \
  X(cuUserObjectRelease, cuUserObjectRelease, 11030)                               \
  X(cuGraphRetainUserObject, cuGraphRetainUserObject, 11030)                       \
  X(cuGraphReleaseUserObject, cuGraphReleaseUserObject, 11030)                     \
  X(cuStreamUpdateCaptureDependencies, cuStreamUpdateCaptureDependencies, 11030)   \
  X(cuGraphAddMemcpyNode, cuGraphAddMemcpyNode, 10000)                             \
  X(cuTexObjectCreate, cuTexObjectCreate, 5000)                                    \
  X(cuTexObjectDestroy, cuTexObjectDestroy, 5000)                                  \
  X(cuTexObjectGetResourceDesc, cuTexObjectGetResourceDesc, 5000)                  \
  X(cuTexObjectGetTextureDesc, cuTexObjectGetTextureDesc, 5000)                    \
  X(cuTexObjectGetResourceViewDesc, cuTexObjectGetResourceViewDesc, 5000)          \
  X(cuSurfObjectCreate, cuSurfObjectCreate, 5000)                                  \
  X(cuSurfObjectDestroy, cuSurfObjectDestroy, 5000)                                \
  X(cuSurfObjectGetResourceDesc, cuSurfObjectGetResourceDesc, 5000)                \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,                          \
    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, 7000)                    \
  X(cuOccupancyAvailableDynamicSMemPerBlock, cuOccupancyAvailableDynamicSMemPerBlock, 10020)

// Nodes of graphs, libraries and other rarely used functions: null if the driver lacks them.
#define SIMCUDA_RUNTIME_NEWER_CALLS(X)                                               \
  X(cuGraphAddChildGraphNode, cuGraphAddChildGraphNode, 10000)                       \
  X(cuGraphChildGraphNodeGetGraph, cuGraphChildGraphNodeGetGraph, 10000)             \
  X(cuGraphClone, cuGraphClone, 10000)                                               \
  X(cuGraphNodeFindInClone, cuGraphNodeFindInClone, 10000)                           \
  X(cuGraphAddDependencies, cuGraphAddDependencies, 10000)                           \
  X(cuGraphRemoveDependencies, cuGraphRemoveDependencies, 10000)                     \
  X(cuGraphGetEdges, cuGraphGetEdges, 10000)                                         \
  X(cuGraphNodeGetDependentNodes, cuGraphNodeGetDependentNodes, 10000)               \
  X(cuGraphKernelNodeGetParams, cuGraphKernelNodeGetParams, 10000)                   \
  X(cuGraphKernelNodeSetParams, cuGraphKernelNodeSetParams, 10000)                   \
  X(cuGraphMemcpyNodeGetParams, cuGraphMemcpyNodeGetParams, 10000)                   \
  X(cuGraphMemcpyNodeSetParams, cuGraphMemcpyNodeSetParams, 10000)                   \
  X(cuGraphMemsetNodeGetParams, cuGraphMemsetNodeGetParams, 10000)                   \
  X(cuGraphMemsetNodeSetParams, cuGraphMemsetNodeSetParams, 10000)                   \
  X(cuGraphHostNodeGetParams, cuGraphHostNodeGetParams, 10000)                       \
  X(cuGraphHostNodeSetParams, cuGraphHostNodeSetParams, 10000)                       \
  X(cuGraphKernelNodeSetAttribute, cuGraphKernelNodeSetAttribute, 11000)             \
  X(cuGraphKernelNodeGetAttribute, cuGraphKernelNodeGetAttribute, 11000)             \
  X(cuGraphKernelNodeCopyAttributes, cuGraphKernelNodeCopyAttributes, 11000)         \
  X(cuGraphAddEventRecordNode, cuGraphAddEventRecordNode, 11010)                     \
  X(cuGraphAddEventWaitNode, cuGraphAddEventWaitNode, 11010)                         \
  X(cuGraphEventRecordNodeGetEvent, cuGraphEventRecordNodeGetEvent, 11010)           \
  X(cuGraphEventRecordNodeSetEvent, cuGraphEventRecordNodeSetEvent, 11010)           \
  X(cuGraphEventWaitNodeGetEvent, cuGraphEventWaitNodeGetEvent, 11010)               \
  X(cuGraphEventWaitNodeSetEvent, cuGraphEventWaitNodeSetEvent, 11010)               \
  X(cuGraphExecKernelNodeSetParams, cuGraphExecKernelNodeSetParams, 10010)           \
  X(cuGraphExecMemcpyNodeSetParams, cuGraphExecMemcpyNodeSetParams, 10020)           \
  X(cuGraphExecMemsetNodeSetParams, cuGraphExecMemsetNodeSetParams, 10020)           \
  X(cuGraphExecHostNodeSetParams, cuGraphExecHostNodeSetParams, 10020)               \
  X(cuGraphExecChildGraphNodeSetParams, cuGraphExecChildGraphNodeSetParams, 11010)   \
  X(cuGraphExecEventRecordNodeSetEvent, cuGraphExecEventRecordNodeSetEvent, 11010)   \
  X(cuGraphExecEventWaitNodeSetEvent, cuGraphExecEventWaitNodeSetEvent, 11010)       \
  X(cuGraphExecUpdate_v2, cuGraphExecUpdate, 12000)                                  \
  X(cuGraphExecGetFlags, cuGraphExecGetFlags, 12000)                                 \
  X(cuGraphInstantiateWithParams, cuGraphInstantiateWithParams, 12000)               \
  X(cuGraphNodeSetEnabled, cuGraphNodeSetEnabled, 11060)                             \
  X(cuGraphNodeGetEnabled, cuGraphNodeGetEnabled, 11060)                             \
  X(cuGraphDebugDotPrint, cuGraphDebugDotPrint, 11030)                               \
  X(cuGraphAddNode_v2, cuGraphAddNode, 12030)                                        \
  X(cuGraphNodeSetParams, cuGraphNodeSetParams, 12020)                               \
  X(cuGraphExecNodeSetParams, cuGraphExecNodeSetParams, 12020)                       \
  X(cuStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph, 12030)                 \
  X(cuStreamSetAttribute, cuStreamSetAttribute, 11000)                               \
  X(cuStreamGetAttribute, cuStreamGetAttribute, 11000)                               \
  X(cuStreamCopyAttributes, cuStreamCopyAttributes, 11000)                           \
  X(cuStreamGetId, cuStreamGetId, 12000)                                             \
  X(cuStreamGetDevice, cuStreamGetDevice, 12080)                                     \
  X(cuOccupancyMaxActiveClusters, cuOccupancyMaxActiveClusters, 11070)               \
  X(cuOccupancyMaxPotentialClusterSize, cuOccupancyMaxPotentialClusterSize, 11070)   \
  X(cuDeviceGetTexture1DLinearMaxWidth, cuDeviceGetTexture1DLinearMaxWidth, 11010)   \
  X(cuGraphicsMapResources, cuGraphicsMapResources, 3000)                            \
  X(cuGraphicsUnmapResources, cuGraphicsUnmapResources, 3000)                        \
  X(cuGraphicsUnregisterResource, cuGraphicsUnregisterResource, 3000)                \
  X(cuGraphicsResourceSetMapFlags_v2, cuGraphicsResourceSetMapFlags, 6050)           \
  X(cuGraphicsResourceGetMappedPointer_v2, cuGraphicsResourceGetMappedPointer, 3020) \
  X(cuGraphicsSubResourceGetMappedArray, cuGraphicsSubResourceGetMappedArray, 3000)  \
  X(cuGraphicsGLRegisterBuffer, cuGraphicsGLRegisterBuffer, 3000)                    \
  X(cuGraphicsGLRegisterImage, cuGraphicsGLRegisterImage, 3000)                      \
  X(cuLibraryLoadData, cuLibraryLoadData, 12000)                                     \
  X(cuLibraryLoadFromFile, cuLibraryLoadFromFile, 12000)                             \
  X(cuLibraryUnload, cuLibraryUnload, 12000)                                         \
  X(cuLibraryGetKernel, cuLibraryGetKernel, 12000)                                   \
  X(cuLibraryGetGlobal, cuLibraryGetGlobal, 12000)                                   \
  X(cuLibraryGetKernelCount, cuLibraryGetKernelCount, 12040)                         \
  X(cuLibraryEnumerateKernels, cuLibraryEnumerateKernels, 12040)                     \
  X(cuKernelGetFunction, cuKernelGetFunction, 12000)                                 \
  X(cuKernelGetName, cuKernelGetName, 12030)                                         \
  X(cuFuncGetParamInfo, cuFuncGetParamInfo, 12040)                                   \
  X(cuMemcpyBatchAsync_v2, cuMemcpyBatchAsync, 13000)                                \
  X(cuArrayGetMemoryRequirements, cuArrayGetMemoryRequirements, 11060)               \
  X(cuArrayGetSparseProperties, cuArrayGetSparseProperties, 11010)

// The same for functions that older drivers lack: null then.
#if CUDA_VERSION >= 13000
#define SIMCUDA_RUNTIME_OPTIONAL_CALLS(X)                                        \
  SIMCUDA_RUNTIME_NEWER_CALLS(X)                                                 \
  X(cuMemPrefetchBatchAsync, cuMemPrefetchBatchAsync, 13000)                     \
  X(cuMemDiscardBatchAsync, cuMemDiscardBatchAsync, 13000)                       \
  X(cuMemDiscardAndPrefetchBatchAsync, cuMemDiscardAndPrefetchBatchAsync, 13000) \
  X(cuMemGetDefaultMemPool, cuMemGetDefaultMemPool, 13000)                       \
  X(cuMemGetMemPool, cuMemGetMemPool, 13000)                                     \
  X(cuMemSetMemPool, cuMemSetMemPool, 13000)
#else
#define SIMCUDA_RUNTIME_OPTIONAL_CALLS(X)
#endif

// Entry points of the driver under their exported names.
struct Calls {
#define SIMCUDA_RUNTIME_MEMBER(name, base, version) decltype(&::name) name = nullptr;
  SIMCUDA_RUNTIME_CALLS(SIMCUDA_RUNTIME_MEMBER)
  SIMCUDA_RUNTIME_OPTIONAL_CALLS(SIMCUDA_RUNTIME_MEMBER)
#undef SIMCUDA_RUNTIME_MEMBER
};

// The driver, loaded at the first use.
struct DriverLibrary {
  Calls legacy;      // stream 0 is the legacy default stream
  Calls per_thread;  // stream 0 is the calling thread's own
  decltype(&::cuGetProcAddress_v2) get_proc_address = nullptr;
  // Functions of the stand-in driver; null for other drivers.
  int (*set_host_kernel)(CUfunction, simcuda_host_kernel, int, const size_t*) = nullptr;
  int (*define_global)(CUmodule, const char*, size_t, CUdeviceptr*) = nullptr;
  int status = 0;  // a cudaError: the result of loading and cuInit
};
const DriverLibrary& Library();

}  // namespace memprof::simcuda::runtime

#endif  // SIMCUDA_RUNTIME_CALLS_H
