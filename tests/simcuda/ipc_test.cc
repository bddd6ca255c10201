// Sharing memory between processes by IPC handles.
#include <cstring>
#include <vector>

#include "tests/simcuda/ipc_fixture.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=1GiB,overhead=0,devices=2");

TEST_F(IpcTest, BothProcessesSeeTheSameBytes) {
  const CUdeviceptr big = Filled(5 * kMiB, 17);
  const std::string handle = HandleOf(big);
  EXPECT_EQ(HandleOf(big), handle);  // the same handle every time
  ASSERT_EQ(peer_.Ask("ipc-open " + handle), "0");
  EXPECT_EQ(peer_.Ask("read 0"), "17");
  EXPECT_EQ(peer_.Ask("read 5242879"), "17");
  EXPECT_EQ(peer_.Ask("read 5242880"), "-1");
  EXPECT_EQ(peer_.Ask("fill 99 4096"), "0");
  EXPECT_EQ(ByteAt(big), 99);
  EXPECT_EQ(ByteAt(big + 4096), 17);
  CHECK_CU(cuMemsetD8(big + 5 * kMiB - 1, 3, 1));
  EXPECT_EQ(peer_.Ask("read 5242879"), "3");
  // The memory is not counted in the importer, which must close the handle and cannot free it.
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
  // Exporting moves pages; the neighbouring block that was not exported kept its contents.
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
  // Only memory of cuMemAlloc can be exported this way.
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
  // The mapped memory stays after the exporter's death.
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
  // Fills are running when the pages are moved; none may be lost.
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

}  // namespace
}  // namespace memprof::simcuda
