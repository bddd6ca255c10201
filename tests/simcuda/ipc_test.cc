// What processes hand to each other: memory by IPC handles, events, pools and their pointers,
// physical memory by descriptor.
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "driver_fixture.h"
#include "peer.h"

namespace memprof::simcuda {
namespace {

const Configure kConfigure("memory=1GiB,overhead=0,devices=2");
const char kPeerSpec[] = "memory=1GiB,overhead=0,devices=2";

class IpcTest : public DriverTest {
 protected:
  CUdeviceptr Filled(size_t bytes, unsigned char value) {
    CUdeviceptr address = 0;
    EXPECT_EQ(CUDA_SUCCESS, cuMemAlloc(&address, bytes));
    EXPECT_EQ(CUDA_SUCCESS, cuMemsetD8(address, value, bytes));
    return address;
  }
  std::string HandleOf(CUdeviceptr address) {
    CUipcMemHandle handle = {};
    EXPECT_EQ(CUDA_SUCCESS, cuIpcGetMemHandle(&handle, address));
    return Hex(&handle, sizeof(handle));
  }
  unsigned char ByteAt(CUdeviceptr address) {
    unsigned char byte = 0;
    EXPECT_EQ(CUDA_SUCCESS, cuMemcpyDtoH(&byte, address, 1));
    return byte;
  }
  Peer peer_{kPeerSpec};
};

TEST_F(IpcTest, BothProcessesSeeTheSameBytes) {
  const CUdeviceptr big = Filled(5 * kMiB, 17);
  const std::string handle = HandleOf(big);
  EXPECT_EQ(HandleOf(big), handle);  // as often as one likes
  ASSERT_EQ(peer_.Ask("ipc-open " + handle), "0");
  EXPECT_EQ(peer_.Ask("read 0"), "17");
  EXPECT_EQ(peer_.Ask("read 5242879"), "17");
  EXPECT_EQ(peer_.Ask("read 5242880"), "-1");
  EXPECT_EQ(peer_.Ask("fill 99 4096"), "0");
  EXPECT_EQ(ByteAt(big), 99);
  EXPECT_EQ(ByteAt(big + 4096), 17);
  CHECK_CU(cuMemsetD8(big + 5 * kMiB - 1, 3, 1));
  EXPECT_EQ(peer_.Ask("read 5242879"), "3");
  // The importer pays nothing; it must close, not free.
  EXPECT_EQ(peer_.AskNumber("info"), kGiB);
  EXPECT_EQ(peer_.Ask("free"), std::to_string(CUDA_ERROR_INVALID_VALUE));
  EXPECT_EQ(peer_.Ask("ipc-close"), "0");
  EXPECT_EQ(peer_.Ask("ipc-close"), std::to_string(CUDA_ERROR_INVALID_VALUE));
  EXPECT_EQ(peer_.Ask("read 0"), "-1");
  EXPECT_EQ(ByteAt(big), 99);
  CHECK_CU(cuMemFree(big));
  EXPECT_EQ(Memory().free_bytes, kGiB);
}

TEST_F(IpcTest, SmallBlocksOfOnePageKeepTheirOffsets) {
  CUdeviceptr blocks[3];
  for (unsigned char i = 0; i < 3; ++i)
    blocks[i] = Filled(1000, static_cast<unsigned char>(40 + i));
  ASSERT_EQ(peer_.Ask("ipc-open " + HandleOf(blocks[1])), "0");
  EXPECT_EQ(peer_.Ask("read 0"), "41");
  EXPECT_EQ(peer_.Ask("read 999"), "41");
  EXPECT_EQ(peer_.Ask("read 1000"), "-1");
  ASSERT_EQ(peer_.Ask("ipc-open " + HandleOf(blocks[2])), "0");
  EXPECT_EQ(peer_.Ask("read 500"), "42");
  // The neighbour that was not exported kept its contents through the move.
  EXPECT_EQ(ByteAt(blocks[0] + 999), 40);
  EXPECT_EQ(peer_.Ask("fill 7 1000"), "0");
  EXPECT_EQ(ByteAt(blocks[1] + 999), 41);
  EXPECT_EQ(ByteAt(blocks[2] + 999), 7);
  for (const CUdeviceptr block : blocks) CHECK_CU(cuMemFree(block));
}

TEST_F(IpcTest, OpeningTwiceCounts) {
  const CUdeviceptr block = Filled(3 * kMiB, 5);
  const std::string handle = HandleOf(block);
  ASSERT_EQ(peer_.Ask("ipc-open " + handle), "0");
  ASSERT_EQ(peer_.Ask("ipc-open " + handle), "0");
  EXPECT_EQ(peer_.Ask("ipc-close"), "0");
  EXPECT_EQ(peer_.Ask("read 1"), "5");
  EXPECT_EQ(peer_.Ask("ipc-close"), "0");
  EXPECT_EQ(peer_.Ask("read 1"), "-1");
  CHECK_CU(cuMemFree(block));
}

TEST_F(IpcTest, HandlesOfFreedMemoryAndOfTheOwnProcess) {
  const CUdeviceptr first = Filled(2 * kMiB, 1);
  const std::string old = HandleOf(first);
  CHECK_CU(cuMemFree(first));
  const CUdeviceptr second = Filled(2 * kMiB, 2);
  ASSERT_EQ(first, second);
  CUipcMemHandle own = {};
  CHECK_CU(cuIpcGetMemHandle(&own, second));
  EXPECT_NE(Hex(&own, sizeof(own)), old);
  EXPECT_EQ(peer_.Ask("ipc-open " + old), std::to_string(CUDA_ERROR_MAP_FAILED));
  CUdeviceptr here = 0;
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT,
            cuIpcOpenMemHandle(&here, own, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuIpcOpenMemHandle(&here, own, 0));
  std::memset(&own, 'x', sizeof(own));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE,
            cuIpcOpenMemHandle(&here, own, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuIpcGetMemHandle(nullptr, second));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuIpcGetMemHandle(&own, 0x1000));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuIpcCloseMemHandle(second));
  // Only plain memory can be exported this way.
  CUdeviceptr managed = 0;
  CHECK_CU(cuMemAllocManaged(&managed, 100, CU_MEM_ATTACH_GLOBAL));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuIpcGetMemHandle(&own, managed));
  CHECK_CU(cuMemFree(managed));
  CHECK_CU(cuMemFree(second));
}

TEST_F(IpcTest, MemoryOfAnotherProcessEndsWithTheContext) {
  ASSERT_EQ(peer_.Ask("alloc 3000000"), "0");
  ASSERT_EQ(peer_.Ask("fill 66 3000000"), "0");
  const std::string hex = peer_.Ask("ipc-get");
  CUipcMemHandle handle = {};
  for (size_t i = 0; i < sizeof(handle); ++i) {
    handle.reserved[i] = static_cast<char>(std::stoul(hex.substr(2 * i, 2), nullptr, 16));
  }
  CUdeviceptr there = 0;
  CHECK_CU(cuIpcOpenMemHandle(&there, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  CUdeviceptr again = 0;
  CHECK_CU(cuIpcOpenMemHandle(&again, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  EXPECT_EQ(there, again);
  EXPECT_EQ(ByteAt(there + 2999999), 66);
  size_t bytes = 0;
  CHECK_CU(cuMemGetAddressRange(nullptr, &bytes, there));
  EXPECT_EQ(bytes, 3000000u);
  // The exporter may die: who has the memory mapped keeps it.
  peer_.Kill();
  EXPECT_EQ(ByteAt(there), 66);
  CHECK_CU(cuDevicePrimaryCtxReset(0));
  CHECK_CU(cuDevicePrimaryCtxRetain(&context_, 0));
  CHECK_CU(cuCtxSetCurrent(context_));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuIpcCloseMemHandle(there));
  EXPECT_EQ(CUDA_ERROR_MAP_FAILED,
            cuIpcOpenMemHandle(&there, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
}

TEST_F(IpcTest, ExportWaitsForRunningWork) {
  const CUdeviceptr block = Filled(4 * kMiB, 0);
  CUstream stream = nullptr;
  CHECK_CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  // Fills are under way when the pages move; none may get lost.
  for (int round = 1; round <= 40; ++round) {
    CHECK_CU(cuMemsetD8Async(block, static_cast<unsigned char>(round), 4 * kMiB, stream));
  }
  const std::string handle = HandleOf(block);
  CHECK_CU(cuStreamSynchronize(stream));
  std::vector<unsigned char> read(4 * kMiB);
  CHECK_CU(cuMemcpyDtoH(read.data(), block, read.size()));
  EXPECT_EQ(read, std::vector<unsigned char>(4 * kMiB, 40));
  ASSERT_EQ(peer_.Ask("ipc-open " + handle), "0");
  EXPECT_EQ(peer_.Ask("read 4194303"), "40");
  CHECK_CU(cuMemFree(block));
}

TEST_F(IpcTest, EventsWorkInBothDirections) {
  CUevent event = nullptr;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuEventCreate(&event, CU_EVENT_INTERPROCESS));
  CHECK_CU(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
  CUipcEventHandle handle = {};
  CHECK_CU(cuIpcGetEventHandle(&handle, event));
  ASSERT_EQ(peer_.Ask("event-open " + Hex(&handle, sizeof(handle))), "0");
  // Never recorded: done.
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
  peer_.Tell("event-wait");  // answers once the stream here gets there
  go = true;
  EXPECT_EQ(peer_.Hear(), "0");
  EXPECT_EQ(peer_.Ask("event-query"), "0");
  CHECK_CU(cuEventSynchronize(event));
  // The other way round.
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

  const int passed = dup(file);  // without close-on-exec
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

  // An imported pool, here in the same process, allocates nothing itself.
  CUmemoryPool imported = nullptr;
  CHECK_CU(cuMemPoolImportFromShareableHandle(&imported,
                                              reinterpret_cast<void*>(static_cast<intptr_t>(file)),
                                              CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  CUdeviceptr none = 0;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemAllocFromPoolAsync(&none, 100, imported, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuDeviceSetMemPool(0, imported));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuMemPoolExportToShareableHandle(&file, imported,
                                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  CUmemPoolPtrExportData noise = {};
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemPoolImportPointer(&none, imported, &noise));
  CHECK_CU(cuMemPoolDestroy(imported));
  close(file);
  // A pool that was not made for it is not exported, and other files are no pools.
  properties.handleTypes = CU_MEM_HANDLE_TYPE_NONE;
  CUmemoryPool plain = nullptr;
  CHECK_CU(cuMemPoolCreate(&plain, &properties));
  EXPECT_EQ(
      CUDA_ERROR_INVALID_VALUE,
      cuMemPoolExportToShareableHandle(&file, plain, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuMemPoolImportFromShareableHandle(&imported, reinterpret_cast<void*>(intptr_t{-1}),
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
  // One process paid.
  EXPECT_EQ(Memory().vmm_bytes, 4 * kMiB);
  EXPECT_EQ(heir.AskNumber("info"), kGiB);
  // And the memory outlives it here, for the one who mapped it.
  CHECK_CU(cuMemUnmap(address, 4 * kMiB));
  CHECK_CU(cuMemRelease(handle));
  CHECK_CU(cuMemAddressFree(address, 4 * kMiB));
  EXPECT_EQ(Memory().vmm_bytes, 0u);
  EXPECT_EQ(heir.Ask("read 4194303"), "77");
}

}  // namespace
}  // namespace memprof::simcuda
