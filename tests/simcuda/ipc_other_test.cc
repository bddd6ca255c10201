// What processes share besides linear memory: events, pools and their pointers, physical memory.
#include <atomic>
#include <cstring>
#include <thread>

#include "tests/simcuda/ipc_fixture.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=1GiB,overhead=0,devices=2");

TEST_F(IpcTest, EventsWorkInBothDirections) {
  CUevent event = nullptr;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuEventCreate(&event, CU_EVENT_INTERPROCESS));
  CHECK_CU(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
  CUipcEventHandle handle = {};
  CHECK_CU(cuIpcGetEventHandle(&handle, event));
  ASSERT_EQ(peer_.Ask("event-open " + Hex(&handle, sizeof(handle))), "0");
  // An event that was never recorded counts as complete.
  EXPECT_EQ(peer_.Ask("event-query"), "0");
  CUstream stream = nullptr;
  CHECK_CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  std::atomic<bool> go{false};
  CHECK_CU(cuLaunchHostFunc(
      stream,
      [](void* flag) {
        while (!static_cast<std::atomic<bool>*>(flag)->load()) std::this_thread::yield();
      },
      &go));
  CHECK_CU(cuEventRecord(event, stream));
  EXPECT_EQ(CUDA_ERROR_NOT_READY, cuEventQuery(event));
  EXPECT_EQ(peer_.Ask("event-query"), std::to_string(CUDA_ERROR_NOT_READY));
  peer_.Tell("event-wait");  // answers when the stream of this process reaches the event
  go = true;
  EXPECT_EQ(peer_.Hear(), "0");
  EXPECT_EQ(peer_.Ask("event-query"), "0");
  CHECK_CU(cuEventSynchronize(event));
  // Now the other process records and this one waits.
  EXPECT_EQ(peer_.Ask("event-record"), "0");
  CHECK_CU(cuStreamWaitEvent(stream, event, 0));
  CHECK_CU(cuStreamSynchronize(stream));
  CHECK_CU(cuEventSynchronize(event));
  CUevent plain = nullptr;
  CHECK_CU(cuEventCreate(&plain, CU_EVENT_DISABLE_TIMING));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuIpcGetEventHandle(&handle, plain));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuIpcGetEventHandle(nullptr, event));
  CUevent opened = nullptr;
  CHECK_CU(cuIpcGetEventHandle(&handle, event));
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuIpcOpenEventHandle(&opened, handle));
  std::memset(&handle, 1, sizeof(handle));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuIpcOpenEventHandle(&opened, handle));
  CHECK_CU(cuEventDestroy(event));
}

TEST_F(IpcTest, WaitsEndWithTheRecordingProcess) {
  CUevent event = nullptr;
  CHECK_CU(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
  CUipcEventHandle handle = {};
  CHECK_CU(cuIpcGetEventHandle(&handle, event));
  ASSERT_EQ(peer_.Ask("event-open " + Hex(&handle, sizeof(handle))), "0");
  ASSERT_EQ(peer_.Ask("event-stick"), "0");
  EXPECT_EQ(CUDA_ERROR_NOT_READY, cuEventQuery(event));
  peer_.Kill();
  CHECK_CU(cuEventSynchronize(event));
  CHECK_CU(cuEventDestroy(event));
}

// A pool that is imported, here in the same process, cannot allocate.
void CheckImportedPool(int file) {
  CUmemoryPool imported = nullptr;
  CHECK_CU(cuMemPoolImportFromShareableHandle(&imported,
                                              reinterpret_cast<void*>(static_cast<intptr_t>(file)),
                                              CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  CUdeviceptr none = 0;
  int again = -1;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemAllocFromPoolAsync(&none, 100, imported, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuDeviceSetMemPool(0, imported));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuMemPoolExportToShareableHandle(&again, imported,
                                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  CUmemPoolPtrExportData noise = {};
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemPoolImportPointer(&none, imported, &noise));
  CHECK_CU(cuMemPoolDestroy(imported));
}

TEST_F(IpcTest, PoolsAndTheirPointersTravel) {
  CUmemPoolProps properties = {};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  properties.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemoryPool pool = nullptr;
  CHECK_CU(cuMemPoolCreate(&pool, &properties));
  int file = -1;
  CHECK_CU(
      cuMemPoolExportToShareableHandle(&file, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  CUdeviceptr first = 0;
  CUdeviceptr second = 0;
  CHECK_CU(cuMemAllocFromPoolAsync(&first, 3000, pool, nullptr));
  CHECK_CU(cuMemAllocFromPoolAsync(&second, 40 * kMiB, pool, nullptr));
  CHECK_CU(cuMemsetD8Async(first, 31, 3000, nullptr));
  CHECK_CU(cuMemsetD8Async(second, 32, 40 * kMiB, nullptr));
  CHECK_CU(cuStreamSynchronize(nullptr));
  CUmemPoolPtrExportData data[2] = {};
  CHECK_CU(cuMemPoolExportPointer(&data[0], first));
  CHECK_CU(cuMemPoolExportPointer(&data[1], second));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemPoolExportPointer(&data[1], second + 512));

  const int passed = dup(file);  // without close-on-exec: the peer inherits it
  Peer heir(kPeerSpec);
  ASSERT_EQ(heir.Ask("pool-import " + std::to_string(passed)), "0");
  close(passed);
  ASSERT_EQ(heir.Ask("pool-pointer " + Hex(&data[0], sizeof(data[0]))), "0");
  EXPECT_EQ(heir.Ask("read 2999"), "31");
  EXPECT_EQ(heir.Ask("read 3000"), "-1");
  EXPECT_EQ(heir.Ask("fill 55 3000"), "0");
  EXPECT_EQ(ByteAt(first + 2999), 55);
  EXPECT_EQ(heir.Ask("free"), "0");
  ASSERT_EQ(heir.Ask("pool-pointer " + Hex(&data[1], sizeof(data[1]))), "0");
  EXPECT_EQ(heir.Ask("read 41943039"), "32");
  EXPECT_EQ(heir.AskNumber("info"), kGiB);
  CHECK_CU(cuMemFree(first));
  CHECK_CU(cuMemFree(second));

  ASSERT_NO_FATAL_FAILURE(CheckImportedPool(file));
  close(file);
  // A pool created without a handle type cannot be exported, and other files cannot be imported as
  // pools.
  properties.handleTypes = CU_MEM_HANDLE_TYPE_NONE;
  CUmemoryPool plain = nullptr;
  CHECK_CU(cuMemPoolCreate(&plain, &properties));
  EXPECT_EQ(
      CUDA_ERROR_INVALID_VALUE,
      cuMemPoolExportToShareableHandle(&file, plain, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuMemPoolImportFromShareableHandle(&plain, reinterpret_cast<void*>(intptr_t{-1}),
                                               CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  CHECK_CU(cuMemPoolDestroy(plain));
  CHECK_CU(cuMemPoolDestroy(pool));
}

TEST_F(IpcTest, PhysicalMemoryTravelsByDescriptor) {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemGenericAllocationHandle handle = 0;
  CHECK_CU(cuMemCreate(&handle, 4 * kMiB, &properties, 0));
  int file = -1;
  CHECK_CU(
      cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  const int passed = dup(file);
  close(file);
  Peer heir(kPeerSpec);
  ASSERT_EQ(heir.Ask("vmm-import " + std::to_string(passed)), "0");
  close(passed);
  ASSERT_EQ(heir.Ask("vmm-map 4194304"), "0");
  CUdeviceptr address = 0;
  CUmemAccessDesc access = {properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CHECK_CU(cuMemAddressReserve(&address, 4 * kMiB, 0, 0, 0));
  CHECK_CU(cuMemMap(address, 4 * kMiB, 0, handle, 0));
  CHECK_CU(cuMemSetAccess(address, 4 * kMiB, &access, 1));
  CHECK_CU(cuMemsetD8(address + 4 * kMiB - 1, 77, 1));
  EXPECT_EQ(heir.Ask("read 4194303"), "77");
  // The memory is counted in one process only.
  EXPECT_EQ(Memory().vmm_bytes, 4 * kMiB);
  EXPECT_EQ(heir.AskNumber("info"), kGiB);
  // The memory lives as long as it is mapped here.
  CHECK_CU(cuMemUnmap(address, 4 * kMiB));
  CHECK_CU(cuMemRelease(handle));
  CHECK_CU(cuMemAddressFree(address, 4 * kMiB));
  EXPECT_EQ(Memory().vmm_bytes, 0u);
  EXPECT_EQ(heir.Ask("read 4194303"), "77");
}

}  // namespace
}  // namespace memprof::simcuda
