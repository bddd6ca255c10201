// Every driver callback that this source asks CUPTI for: X(function, callback id, group, handler…);
// the handler may hold commas.
//
// Ids are written as numbers because older toolkits lack the newer names; ids are append-only, so
// a number means the same function in every CUPTI that knows it, and one that CUPTI does not know
// (cuptiGetCallbackName) is skipped. A test compares the numbers with the toolkit's header and,
// where there is one, with the real libcupti.
//
// Functions without an export of their own in any driver (cu64*, cuMemHostAlloc_v2) are left out.
#pragma once

#define MEMPROF_CUPTI_ALLOCATION_CALLBACKS(X)                                          \
  X(cuMemAlloc, 29, kAllocation, AllocLinear<cuMemAlloc_params>)                       \
  X(cuMemAlloc_v2, 243, kAllocation, AllocLinear<cuMemAlloc_v2_params>)                \
  X(cuMemAllocPitch, 31, kAllocation, AllocPitched<cuMemAllocPitch_params>)            \
  X(cuMemAllocPitch_v2, 244, kAllocation, AllocPitched<cuMemAllocPitch_v2_params>)     \
  X(cuMemFree, 33, kAllocation, FreeDevice<cuMemFree_params>)                          \
  X(cuMemFree_v2, 245, kAllocation, FreeDevice<cuMemFree_v2_params>)                   \
  X(cuMemAllocManaged, 371, kAllocation, AllocManaged)                                 \
  X(cuMemAllocHost, 37, kAllocation, AllocPinned<cuMemAllocHost_params>)               \
  X(cuMemAllocHost_v2, 294, kAllocation, AllocPinned<cuMemAllocHost_v2_params>)        \
  X(cuMemHostAlloc, 39, kAllocation, AllocPinned<cuMemHostAlloc_params>)               \
  X(cuMemFreeHost, 38, kAllocation, FreePinned)                                        \
  X(cuMemHostRegister, 301, kAllocation, RegisterHost<cuMemHostRegister_params>)       \
  X(cuMemHostRegister_v2, 379, kAllocation, RegisterHost<cuMemHostRegister_v2_params>) \
  X(cuMemHostUnregister, 302, kAllocation, UnregisterHost)                             \
  X(cuMemAllocAsync, 598, kAllocation, AllocAsync)                                     \
  X(cuMemAllocAsync_ptsz, 599, kAllocation, AllocAsync)                                \
  X(cuMemAllocFromPoolAsync, 611, kAllocation, AllocFromPool)                          \
  X(cuMemAllocFromPoolAsync_ptsz, 612, kAllocation, AllocFromPool)                     \
  X(cuMemFreeAsync, 600, kAllocation, FreeAsync)                                       \
  X(cuMemFreeAsync_ptsz, 601, kAllocation, FreeAsync)                                  \
  X(cuMemPoolCreate, 607, kLedger, PoolCreate)                                         \
  X(cuMemPoolDestroy, 608, kLedger, PoolDestroy)                                       \
  X(cuMemPoolTrimTo, 602, kLedger, PoolTrim)                                           \
  X(cuMemAddressReserve, 547, kAllocation, AddressReserve)                             \
  X(cuMemAddressFree, 548, kAllocation, AddressFree)                                   \
  X(cuMemCreate, 549, kAllocation, CreatePhysical)                                     \
  X(cuMemRelease, 550, kAllocation, ReleasePhysical)                                   \
  X(cuMemMap, 551, kAllocation, MapPhysical)                                           \
  X(cuMemUnmap, 552, kAllocation, UnmapPhysical)                                       \
  X(cuMemRetainAllocationHandle, 565, kLedger, RetainPhysical)                         \
  X(cuMemExportToShareableHandle, 554, kLedger, ExportPhysical)                        \
  X(cuMemImportFromShareableHandle, 555, kLedger, ImportPhysical)                      \
  X(cuMulticastCreate, 706, kLedger, CreateMulticast)                                  \
  X(cuArrayCreate, 87, kAllocation, CreateArray<cuArrayCreate_params>)                 \
  X(cuArrayCreate_v2, 272, kAllocation, CreateArray<cuArrayCreate_v2_params>)          \
  X(cuArray3DCreate, 90, kAllocation, CreateArray<cuArray3DCreate_params>)             \
  X(cuArray3DCreate_v2, 274, kAllocation, CreateArray<cuArray3DCreate_v2_params>)      \
  X(cuArrayDestroy, 89, kAllocation, DestroyArray)                                     \
  X(cuMipmappedArrayCreate, 347, kAllocation, CreateMipmappedArray)                    \
  X(cuMipmappedArrayDestroy, 349, kAllocation, DestroyMipmappedArray)                  \
  X(cuIpcOpenMemHandle, 329, kAllocation, IpcOpen<cuIpcOpenMemHandle_params>)          \
  X(cuIpcOpenMemHandle_v2, 567, kAllocation, IpcOpen<cuIpcOpenMemHandle_v2_params>)    \
  X(cuIpcCloseMemHandle, 330, kAllocation, IpcClose)                                   \
  X(cuDevicePrimaryCtxReset, 389, kLedger, PrimaryReset)                               \
  X(cuDevicePrimaryCtxRelease, 387, kLedger, ReleasePrimary)                           \
  X(cuDevicePrimaryCtxRelease_v2, 544, kLedger, ReleasePrimary)                        \
  X(cuGreenCtxDestroy, 744, kLedger, DestroyGreen)                                     \
  X(cuGraphAddMemAllocNode, 638, kLedger, AddAllocNode)                                \
  X(cuGraphAddMemFreeNode, 639, kLedger, AddFreeNode)                                  \
  X(cuGraphAddNode, 712, kLedger, AddNode<GraphAddNodeParams>)                         \
  X(cuGraphAddNode_v2, 723, kLedger, AddNode<GraphAddNodeV2Params>)                    \
  X(cuGraphInstantiate, 513, kLedger, InstantiateGraph)                                \
  X(cuGraphInstantiate_v2, 578, kLedger, InstantiateGraph)                             \
  X(cuGraphInstantiateWithFlags, 643, kLedger, InstantiateGraph)                       \
  X(cuGraphInstantiateWithParams, 656, kLedger, InstantiateGraph)                      \
  X(cuGraphInstantiateWithParams_ptsz, 657, kLedger, InstantiateGraph)                 \
  X(cuGraphExecDestroy, 516, kLedger, DestroyExec)                                     \
  X(cuGraphDestroy, 517, kLedger, DestroyGraph)                                        \
  X(cuDeviceGraphMemTrim, 640, kLedger, TrimGraphMemory)                               \
  X(cuImportExternalMemory, 485, kLedger, ImportExternal)                              \
  X(cuExternalMemoryGetMappedBuffer, 486, kAllocation, MapExternalBuffer)              \
  X(cuDestroyExternalMemory, 488, kLedger, DestroyExternal)                            \
  X(cuMemPoolImportPointer, 616, kAllocation, ImportPoolPointer)                       \
  X(cuMemPrefetchAsync, 467, kLedger, Prefetch)                                        \
  X(cuMemPrefetchAsync_ptsz, 468, kLedger, Prefetch)                                   \
  X(cuMemPrefetchAsync_v2, 716, kLedger, PrefetchTo)                                   \
  X(cuMemPrefetchAsync_v2_ptsz, 717, kLedger, PrefetchTo)                              \
  X(cuMemAdvise, 457, kLedger, Advise)                                                 \
  X(cuMemAdvise_v2, 715, kLedger, AdviseAbout)                                         \
  X(cuMulticastAddDevice, 707, kLedger, AddMulticastDevice)                            \
  X(cuMulticastBindMem, 708, kLedger, BindMemory)                                      \
  X(cuMulticastBindAddr, 709, kLedger, BindAddress)                                    \
  X(cuMulticastUnbind, 710, kLedger, UnbindMemory)                                     \
  X(cuCheckpointProcessLock, 770, kLedger, Checkpoint<1>)                              \
  X(cuCheckpointProcessCheckpoint, 771, kLedger, Checkpoint<2>)                        \
  X(cuCheckpointProcessRestore, 772, kLedger, Checkpoint<3>)                           \
  X(cuCheckpointProcessUnlock, 773, kLedger, Checkpoint<4>)                            \
  X(cuDevicePrimaryCtxReset_v2, 545, kLedger, PrimaryReset)

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

// cuEventSynchronize is not among them: it waits for an instant of a stream that only the program
// knows, and OP_SYNC speaks of a stream or of everything.
#define MEMPROF_CUPTI_SYNC_CALLBACKS(X)               \
  X(cuCtxSynchronize, 17, kUse, SyncContext)          \
  X(cuCtxSynchronize_v2, 800, kUse, SyncGivenContext) \
  X(cuStreamSynchronize, 126, kUse, SyncStream)       \
  X(cuStreamSynchronize_ptsz, 440, kUse, SyncStream)

#define MEMPROF_CUPTI_HEARTBEAT_CALLBACKS(X) X(cuDriverGetVersion, 2, kHeartbeat, NoteHeartbeat)

#define MEMPROF_CUPTI_CALLBACKS(X)      \
  MEMPROF_CUPTI_ALLOCATION_CALLBACKS(X) \
  MEMPROF_CUPTI_LAUNCH_CALLBACKS(X)     \
  MEMPROF_CUPTI_COPY_CALLBACKS(X)       \
  MEMPROF_CUPTI_FILL_CALLBACKS(X)       \
  MEMPROF_CUPTI_SYNC_CALLBACKS(X)       \
  MEMPROF_CUPTI_HEARTBEAT_CALLBACKS(X)
