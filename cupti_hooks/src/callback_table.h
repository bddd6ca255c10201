// Every driver callback that this source enables in CUPTI: X(function, callback id, group,
// handler…); the handler may contain commas.
//
// Ids are written as numbers because older toolkits lack the newer names. CUPTI never reuses an id,
// so a number means the same function in every version of CUPTI. An id that the loaded CUPTI does
// not know (cuptiGetCallbackName) is skipped. A test compares the numbers with the toolkit's header
// and, where there is one, with the real libcupti.
//
// Functions that no driver exports by themselves (cu64*, cuMemHostAlloc_v2) are left out. Calls of
// the groups kMemory, kContext and kAddress are interpreted by the recorder (events/); the handlers
// of kAddress only update the address map. Loading of device code is not in the table: CUPTI
// reports each load, also a lazy one, by an event of its own.
#pragma once

#define MEMPROF_CUPTI_MEMORY_CALLBACKS(X)                                    \
  X(cuMemAlloc_v2, 243, kAddress, MarkDevice<cuMemAlloc_v2_params>)          \
  X(cuMemAllocPitch_v2, 244, kAddress, MarkPitched)                          \
  X(cuMemFree_v2, 245, kMemory, nullptr)                                     \
  X(cuMemAllocManaged, 371, kAddress, MarkDevice<cuMemAllocManaged_params>)  \
  X(cuMemAllocHost_v2, 294, kAddress, MarkHost<cuMemAllocHost_v2_params>)    \
  X(cuMemHostAlloc, 39, kAddress, MarkHost<cuMemHostAlloc_params>)           \
  X(cuMemFreeHost, 38, kMemory, nullptr)                                     \
  X(cuMemHostRegister, 301, kAddress, MarkRegistered)                        \
  X(cuMemHostRegister_v2, 379, kAddress, MarkRegistered)                     \
  X(cuMemHostUnregister, 302, kMemory, nullptr)                              \
  X(cuMemAllocAsync, 598, kAddress, MarkDevice<cuMemAllocAsync_params>)      \
  X(cuMemAllocAsync_ptsz, 599, kAddress, MarkDevice<cuMemAllocAsync_params>) \
  X(cuMemAllocFromPoolAsync, 611, kAddress, MarkFromPool)                    \
  X(cuMemAllocFromPoolAsync_ptsz, 612, kAddress, MarkFromPool)               \
  X(cuMemFreeAsync, 600, kMemory, nullptr)                                   \
  X(cuMemFreeAsync_ptsz, 601, kMemory, nullptr)                              \
  X(cuMemPoolCreate, 607, kMemory, nullptr)                                  \
  X(cuMemPoolDestroy, 608, kMemory, nullptr)                                 \
  X(cuMemPoolTrimTo, 602, kMemory, nullptr)                                  \
  X(cuMemAddressReserve, 547, kMemory, nullptr)                              \
  X(cuMemAddressFree, 548, kMemory, nullptr)                                 \
  X(cuMemCreate, 549, kMemory, nullptr)                                      \
  X(cuMemRelease, 550, kMemory, nullptr)                                     \
  X(cuMemMap, 551, kAddress, MarkMapped)                                     \
  X(cuMemUnmap, 552, kMemory, nullptr)                                       \
  X(cuMemRetainAllocationHandle, 565, kMemory, nullptr)                      \
  X(cuMemExportToShareableHandle, 554, kMemory, nullptr)                     \
  X(cuMemImportFromShareableHandle, 555, kMemory, nullptr)                   \
  X(cuMulticastCreate, 706, kMemory, nullptr)                                \
  X(cuArrayCreate_v2, 272, kMemory, nullptr)                                 \
  X(cuArray3DCreate_v2, 274, kMemory, nullptr)                               \
  X(cuArrayDestroy, 89, kMemory, nullptr)                                    \
  X(cuMipmappedArrayCreate, 347, kMemory, nullptr)                           \
  X(cuMipmappedArrayDestroy, 349, kMemory, nullptr)                          \
  X(cuIpcOpenMemHandle, 329, kAddress, MarkIpc)                              \
  X(cuIpcOpenMemHandle_v2, 567, kAddress, MarkIpc)                           \
  X(cuIpcCloseMemHandle, 330, kMemory, nullptr)                              \
  X(cuGraphAddMemAllocNode, 638, kAddress, MarkAllocNode)                    \
  X(cuGraphAddMemFreeNode, 639, kMemory, nullptr)                            \
  X(cuGraphAddNode, 712, kAddress, MarkNode<GraphAddNodeParams>)             \
  X(cuGraphAddNode_v2, 723, kAddress, MarkNode<GraphAddNodeV2Params>)        \
  X(cuGraphAddNode_v3, 863, kAddress, MarkNode<GraphAddNodeV2Params>)        \
  X(cuGraphInstantiate, 513, kMemory, nullptr)                               \
  X(cuGraphInstantiate_v2, 578, kMemory, nullptr)                            \
  X(cuGraphInstantiateWithFlags, 643, kMemory, nullptr)                      \
  X(cuGraphInstantiateWithParams, 656, kMemory, nullptr)                     \
  X(cuGraphInstantiateWithParams_ptsz, 657, kMemory, nullptr)                \
  X(cuGraphExecDestroy, 516, kMemory, nullptr)                               \
  X(cuGraphDestroy, 517, kMemory, nullptr)                                   \
  X(cuDeviceGraphMemTrim, 640, kMemory, nullptr)                             \
  X(cuImportExternalMemory, 485, kMemory, nullptr)                           \
  X(cuExternalMemoryGetMappedBuffer, 486, kAddress, MarkExternal)            \
  X(cuDestroyExternalMemory, 488, kMemory, nullptr)                          \
  X(cuMemPoolImportPointer, 616, kAddress, MarkPoolPointer)                  \
  X(cuMemPrefetchAsync, 467, kMemory, nullptr)                               \
  X(cuMemPrefetchAsync_ptsz, 468, kMemory, nullptr)                          \
  X(cuMemPrefetchAsync_v2, 716, kMemory, nullptr)                            \
  X(cuMemPrefetchAsync_v2_ptsz, 717, kMemory, nullptr)                       \
  X(cuMemAdvise, 457, kMemory, nullptr)                                      \
  X(cuMemAdvise_v2, 715, kMemory, nullptr)                                   \
  X(cuMulticastAddDevice, 707, kMemory, nullptr)                             \
  X(cuMulticastBindMem, 708, kMemory, nullptr)                               \
  X(cuMulticastBindAddr, 709, kMemory, nullptr)                              \
  X(cuMulticastUnbind, 710, kMemory, nullptr)                                \
  X(cuMulticastBindMem_v2, 820, kMemory, nullptr)                            \
  X(cuMulticastBindAddr_v2, 821, kMemory, nullptr)                           \
  X(cuLogicalEndpointCreate, 850, kMemory, nullptr)                          \
  X(cuLogicalEndpointAddDevice, 851, kMemory, nullptr)                       \
  X(cuLogicalEndpointDestroy, 852, kMemory, nullptr)                         \
  X(cuLogicalEndpointBindAddr, 853, kMemory, nullptr)                        \
  X(cuLogicalEndpointBindMem, 854, kMemory, nullptr)                         \
  X(cuLogicalEndpointUnbind, 855, kMemory, nullptr)                          \
  X(cuLogicalEndpointImport, 857, kMemory, nullptr)                          \
  X(cuCheckpointProcessLock, 770, kMemory, nullptr)                          \
  X(cuCheckpointProcessCheckpoint, 771, kMemory, nullptr)                    \
  X(cuCheckpointProcessRestore, 772, kMemory, nullptr)                       \
  X(cuCheckpointProcessUnlock, 773, kMemory, nullptr)                        \
  X(cuMemMapArrayAsync, 584, kMemory, nullptr)                               \
  X(cuMemMapArrayAsync_ptsz, 585, kMemory, nullptr)                          \
  X(cuIpcGetMemHandle, 328, kMemory, nullptr)                                \
  X(cuGraphAddChildGraphNode, 525, kMemory, nullptr)                         \
  X(cuGraphClone, 523, kMemory, nullptr)                                     \
  X(cuGraphExecUpdate, 561, kMemory, nullptr)                                \
  X(cuGraphExecUpdate_v2, 696, kMemory, nullptr)                             \
  X(cuGraphUpload, 580, kMemory, nullptr)                                    \
  X(cuGraphUpload_ptsz, 581, kMemory, nullptr)                               \
  X(cuMemPrefetchBatchAsync, 784, kMemory, nullptr)                          \
  X(cuMemPrefetchBatchAsync_ptsz, 785, kMemory, nullptr)                     \
  X(cuMemDiscardBatchAsync, 789, kMemory, nullptr)                           \
  X(cuMemDiscardBatchAsync_ptsz, 790, kMemory, nullptr)                      \
  X(cuMemDiscardAndPrefetchBatchAsync, 791, kMemory, nullptr)                \
  X(cuMemDiscardAndPrefetchBatchAsync_ptsz, 792, kMemory, nullptr)           \
  X(cuMemPoolImportFromShareableHandle, 614, kMemory, nullptr)               \
  X(cuMemPoolExportPointer, 615, kMemory, nullptr)                           \
  X(cuExternalMemoryGetMappedMipmappedArray, 487, kMemory, nullptr)          \
  X(cuGraphicsGLRegisterBuffer, 175, kMemory, nullptr)                       \
  X(cuGraphicsGLRegisterImage, 176, kMemory, nullptr)                        \
  X(cuGraphicsEGLRegisterImage, 390, kMemory, nullptr)                       \
  X(cuEGLStreamConsumerAcquireFrame, 395, kMemory, nullptr)                  \
  X(cuEGLStreamConsumerReleaseFrame, 396, kMemory, nullptr)                  \
  X(cuGraphicsUnregisterResource, 128, kMemory, nullptr)                     \
  X(cuGraphicsResourceGetMappedPointer_v2, 258, kAddress, MarkGraphics)      \
  X(cuGraphicsSubResourceGetMappedArray, 129, kMemory, nullptr)              \
  X(cuGraphicsResourceGetMappedMipmappedArray, 360, kMemory, nullptr)        \
  X(cuGraphicsResourceGetMappedEglFrame, 449, kMemory, nullptr)              \
  X(cuGraphicsMapResources, 133, kMemory, nullptr)                           \
  X(cuGraphicsMapResources_ptsz, 443, kMemory, nullptr)                      \
  X(cuGraphicsUnmapResources, 134, kMemory, nullptr)                         \
  X(cuGraphicsUnmapResources_ptsz, 444, kMemory, nullptr)

#define MEMPROF_CUPTI_CONTEXT_CALLBACKS(X)                \
  X(cuCtxCreate, 10, kContext, nullptr)                   \
  X(cuCtxCreate_v2, 235, kContext, nullptr)               \
  X(cuCtxCreate_v3, 645, kContext, nullptr)               \
  X(cuCtxCreate_v4, 757, kContext, nullptr)               \
  X(cuCtxAttach, 12, kContext, nullptr)                   \
  X(cuGreenCtxCreate, 743, kContext, nullptr)             \
  X(cuCtxFromGreenCtx, 753, kContext, nullptr)            \
  X(cuCtxDestroy, 11, kContext, nullptr)                  \
  X(cuCtxDestroy_v2, 322, kContext, nullptr)              \
  X(cuCtxDetach, 13, kContext, nullptr)                   \
  X(cuDevicePrimaryCtxRetain, 386, kContext, nullptr)     \
  X(cuDevicePrimaryCtxReset, 389, kContext, nullptr)      \
  X(cuDevicePrimaryCtxRelease, 387, kContext, nullptr)    \
  X(cuDevicePrimaryCtxRelease_v2, 544, kContext, nullptr) \
  X(cuGreenCtxDestroy, 744, kContext, nullptr)            \
  X(cuDevicePrimaryCtxReset_v2, 545, kContext, nullptr)

#define MEMPROF_CUPTI_LAUNCH_CALLBACKS(X)                               \
  X(cuLaunch, 115, kUse, LaunchOld<cuLaunch_params>)                    \
  X(cuLaunchGrid, 116, kUse, LaunchOld<cuLaunchGrid_params>)            \
  X(cuLaunchGridAsync, 117, kUse, LaunchOldAsync)                       \
  X(cuLaunchKernel, 307, kUse, LaunchKernel)                            \
  X(cuLaunchKernel_ptsz, 442, kUse, LaunchKernel)                       \
  X(cuLaunchKernelEx, 652, kUse, LaunchKernelEx)                        \
  X(cuLaunchKernelEx_ptsz, 653, kUse, LaunchKernelEx)                   \
  X(cuLaunchCooperativeKernel, 477, kUse, LaunchCooperative)            \
  X(cuLaunchCooperativeKernel_ptsz, 478, kUse, LaunchCooperative)       \
  X(cuLaunchCooperativeKernelMultiDevice, 480, kUse, LaunchMultiDevice) \
  X(cuGraphLaunch, 514, kUse, LaunchGraph)                              \
  X(cuGraphLaunch_ptsz, 515, kUse, LaunchGraph)                         \
  X(cuModuleGetFunction, 23, kKernel, NoteFunction)                     \
  X(cuLibraryGetKernel, 681, kKernel, NoteKernel)                       \
  X(cuKernelGetFunction, 683, kKernel, NoteFunction)

#define MEMPROF_CUPTI_COPY_CALLBACKS(X)                                            \
  X(cuMemcpyHtoD, 43, kUse, CopyHtoD<cuMemcpyHtoD_params>)                         \
  X(cuMemcpyHtoD_v2, 276, kUse, CopyHtoD<cuMemcpyHtoD_v2_params>)                  \
  X(cuMemcpyHtoD_v2_ptds, 397, kUse, CopyHtoD<cuMemcpyHtoD_v2_params>)             \
  X(cuMemcpyHtoDAsync, 60, kUse, CopyHtoD<cuMemcpyHtoDAsync_params>)               \
  X(cuMemcpyHtoDAsync_v2, 277, kUse, CopyHtoD<cuMemcpyHtoDAsync_v2_params>)        \
  X(cuMemcpyHtoDAsync_v2_ptsz, 421, kUse, CopyHtoD<cuMemcpyHtoDAsync_v2_params>)   \
  X(cuMemcpyDtoH, 45, kUse, CopyDtoH<cuMemcpyDtoH_params>)                         \
  X(cuMemcpyDtoH_v2, 278, kUse, CopyDtoH<cuMemcpyDtoH_v2_params>)                  \
  X(cuMemcpyDtoH_v2_ptds, 398, kUse, CopyDtoH<cuMemcpyDtoH_v2_params>)             \
  X(cuMemcpyDtoHAsync, 62, kUse, CopyDtoH<cuMemcpyDtoHAsync_params>)               \
  X(cuMemcpyDtoHAsync_v2, 279, kUse, CopyDtoH<cuMemcpyDtoHAsync_v2_params>)        \
  X(cuMemcpyDtoHAsync_v2_ptsz, 422, kUse, CopyDtoH<cuMemcpyDtoHAsync_v2_params>)   \
  X(cuMemcpyDtoD, 47, kUse, CopyDtoD<cuMemcpyDtoD_params>)                         \
  X(cuMemcpyDtoD_v2, 280, kUse, CopyDtoD<cuMemcpyDtoD_v2_params>)                  \
  X(cuMemcpyDtoD_v2_ptds, 399, kUse, CopyDtoD<cuMemcpyDtoD_v2_params>)             \
  X(cuMemcpyDtoDAsync, 64, kUse, CopyDtoD<cuMemcpyDtoDAsync_params>)               \
  X(cuMemcpyDtoDAsync_v2, 281, kUse, CopyDtoD<cuMemcpyDtoDAsync_v2_params>)        \
  X(cuMemcpyDtoDAsync_v2_ptsz, 423, kUse, CopyDtoD<cuMemcpyDtoDAsync_v2_params>)   \
  X(cuMemcpy, 305, kUse, CopyUnified<cuMemcpy_params>)                             \
  X(cuMemcpy_ptds, 408, kUse, CopyUnified<cuMemcpy_params>)                        \
  X(cuMemcpyAsync, 306, kUse, CopyUnified<cuMemcpyAsync_params>)                   \
  X(cuMemcpyAsync_ptsz, 418, kUse, CopyUnified<cuMemcpyAsync_params>)              \
  X(cuMemcpyPeer, 318, kUse, CopyPeer<cuMemcpyPeer_params>)                        \
  X(cuMemcpyPeer_ptds, 409, kUse, CopyPeer<cuMemcpyPeer_params>)                   \
  X(cuMemcpyPeerAsync, 319, kUse, CopyPeer<cuMemcpyPeerAsync_params>)              \
  X(cuMemcpyPeerAsync_ptsz, 426, kUse, CopyPeer<cuMemcpyPeerAsync_params>)         \
  X(cuMemcpy2D, 56, kUse, Copy2D<cuMemcpy2D_params>)                               \
  X(cuMemcpy2D_v2, 287, kUse, Copy2D<cuMemcpy2D_v2_params>)                        \
  X(cuMemcpy2D_v2_ptds, 405, kUse, Copy2D<cuMemcpy2D_v2_params>)                   \
  X(cuMemcpy2DUnaligned, 57, kUse, Copy2D<cuMemcpy2DUnaligned_params>)             \
  X(cuMemcpy2DUnaligned_v2, 288, kUse, Copy2D<cuMemcpy2DUnaligned_v2_params>)      \
  X(cuMemcpy2DUnaligned_v2_ptds, 406, kUse, Copy2D<cuMemcpy2DUnaligned_v2_params>) \
  X(cuMemcpy2DAsync, 68, kUse, Copy2D<cuMemcpy2DAsync_params>)                     \
  X(cuMemcpy2DAsync_v2, 289, kUse, Copy2D<cuMemcpy2DAsync_v2_params>)              \
  X(cuMemcpy2DAsync_v2_ptsz, 424, kUse, Copy2D<cuMemcpy2DAsync_v2_params>)         \
  X(cuMemcpy3D, 58, kUse, Copy3D<cuMemcpy3D_params>)                               \
  X(cuMemcpy3D_v2, 290, kUse, Copy3D<cuMemcpy3D_v2_params>)                        \
  X(cuMemcpy3D_v2_ptds, 407, kUse, Copy3D<cuMemcpy3D_v2_params>)                   \
  X(cuMemcpy3DAsync, 69, kUse, Copy3D<cuMemcpy3DAsync_params>)                     \
  X(cuMemcpy3DAsync_v2, 291, kUse, Copy3D<cuMemcpy3DAsync_v2_params>)              \
  X(cuMemcpy3DAsync_v2_ptsz, 425, kUse, Copy3D<cuMemcpy3DAsync_v2_params>)         \
  X(cuMemcpy3DPeer, 320, kUse, Copy3DPeer<cuMemcpy3DPeer_params>)                  \
  X(cuMemcpy3DPeer_ptds, 410, kUse, Copy3DPeer<cuMemcpy3DPeer_params>)             \
  X(cuMemcpy3DPeerAsync, 321, kUse, Copy3DPeer<cuMemcpy3DPeerAsync_params>)        \
  X(cuMemcpy3DPeerAsync_ptsz, 427, kUse, Copy3DPeer<cuMemcpy3DPeerAsync_params>)   \
  X(cuMemcpyBatchAsync, 776, kUse, CopyBatch<MemcpyBatchParams>)                   \
  X(cuMemcpyBatchAsync_ptsz, 777, kUse, CopyBatch<MemcpyBatchParams>)              \
  X(cuMemcpyBatchAsync_v2, 796, kUse, CopyBatch<MemcpyBatchV2Params>)              \
  X(cuMemcpyBatchAsync_v2_ptsz, 797, kUse, CopyBatch<MemcpyBatchV2Params>)

#define MEMPROF_CUPTI_FILL_CALLBACKS(X)                                       \
  X(cuMemsetD8, 71, kUse, Fill<cuMemsetD8_params, 1>)                         \
  X(cuMemsetD16, 73, kUse, Fill<cuMemsetD16_params, 2>)                       \
  X(cuMemsetD32, 75, kUse, Fill<cuMemsetD32_params, 4>)                       \
  X(cuMemsetD2D8, 77, kUse, Fill2D<cuMemsetD2D8_params, 1>)                   \
  X(cuMemsetD2D16, 79, kUse, Fill2D<cuMemsetD2D16_params, 2>)                 \
  X(cuMemsetD2D32, 81, kUse, Fill2D<cuMemsetD2D32_params, 4>)                 \
  X(cuMemsetD8_v2, 249, kUse, Fill<cuMemsetD8_v2_params, 1>)                  \
  X(cuMemsetD16_v2, 250, kUse, Fill<cuMemsetD16_v2_params, 2>)                \
  X(cuMemsetD32_v2, 251, kUse, Fill<cuMemsetD32_v2_params, 4>)                \
  X(cuMemsetD2D8_v2, 252, kUse, Fill2D<cuMemsetD2D8_v2_params, 1>)            \
  X(cuMemsetD2D16_v2, 253, kUse, Fill2D<cuMemsetD2D16_v2_params, 2>)          \
  X(cuMemsetD2D32_v2, 254, kUse, Fill2D<cuMemsetD2D32_v2_params, 4>)          \
  X(cuMemsetD8_v2_ptds, 411, kUse, Fill<cuMemsetD8_v2_params, 1>)             \
  X(cuMemsetD16_v2_ptds, 412, kUse, Fill<cuMemsetD16_v2_params, 2>)           \
  X(cuMemsetD32_v2_ptds, 413, kUse, Fill<cuMemsetD32_v2_params, 4>)           \
  X(cuMemsetD2D8_v2_ptds, 414, kUse, Fill2D<cuMemsetD2D8_v2_params, 1>)       \
  X(cuMemsetD2D16_v2_ptds, 415, kUse, Fill2D<cuMemsetD2D16_v2_params, 2>)     \
  X(cuMemsetD2D32_v2_ptds, 416, kUse, Fill2D<cuMemsetD2D32_v2_params, 4>)     \
  X(cuMemsetD8Async, 216, kUse, Fill<cuMemsetD8Async_params, 1>)              \
  X(cuMemsetD16Async, 218, kUse, Fill<cuMemsetD16Async_params, 2>)            \
  X(cuMemsetD32Async, 220, kUse, Fill<cuMemsetD32Async_params, 4>)            \
  X(cuMemsetD2D8Async, 222, kUse, Fill2D<cuMemsetD2D8Async_params, 1>)        \
  X(cuMemsetD2D16Async, 224, kUse, Fill2D<cuMemsetD2D16Async_params, 2>)      \
  X(cuMemsetD2D32Async, 226, kUse, Fill2D<cuMemsetD2D32Async_params, 4>)      \
  X(cuMemsetD8Async_ptsz, 428, kUse, Fill<cuMemsetD8Async_params, 1>)         \
  X(cuMemsetD16Async_ptsz, 429, kUse, Fill<cuMemsetD16Async_params, 2>)       \
  X(cuMemsetD32Async_ptsz, 430, kUse, Fill<cuMemsetD32Async_params, 4>)       \
  X(cuMemsetD2D8Async_ptsz, 431, kUse, Fill2D<cuMemsetD2D8Async_params, 1>)   \
  X(cuMemsetD2D16Async_ptsz, 432, kUse, Fill2D<cuMemsetD2D16Async_params, 2>) \
  X(cuMemsetD2D32Async_ptsz, 433, kUse, Fill2D<cuMemsetD2D32Async_params, 4>)

// cuEventSynchronize is left out: it waits for a point in a stream that the log does not have, and
// OP_SYNC means a stream or the whole context.
#define MEMPROF_CUPTI_SYNC_CALLBACKS(X)               \
  X(cuCtxSynchronize, 17, kUse, SyncContext)          \
  X(cuCtxSynchronize_v2, 800, kUse, SyncGivenContext) \
  X(cuStreamSynchronize, 126, kUse, SyncStream)       \
  X(cuStreamSynchronize_ptsz, 440, kUse, SyncStream)

#define MEMPROF_CUPTI_HEARTBEAT_CALLBACKS(X) X(cuDriverGetVersion, 2, kHeartbeat, NoteHeartbeat)

#define MEMPROF_CUPTI_CALLBACKS(X)   \
  MEMPROF_CUPTI_MEMORY_CALLBACKS(X)  \
  MEMPROF_CUPTI_CONTEXT_CALLBACKS(X) \
  MEMPROF_CUPTI_LAUNCH_CALLBACKS(X)  \
  MEMPROF_CUPTI_COPY_CALLBACKS(X)    \
  MEMPROF_CUPTI_FILL_CALLBACKS(X)    \
  MEMPROF_CUPTI_SYNC_CALLBACKS(X)    \
  MEMPROF_CUPTI_HEARTBEAT_CALLBACKS(X)
