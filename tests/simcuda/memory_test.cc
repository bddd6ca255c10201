// Linear, pitched, managed, pinned and registered memory of the stand-in driver.
#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "driver_fixture.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=1GiB,overhead=64MiB,devices=2");
constexpr size_t kUsable = kGiB - 64 * kMiB;

using MemoryTest = DriverTest;

TEST_F(MemoryTest, ContextTakesItsOverhead) {
  size_t free = 0;
  size_t total = 0;
  CHECK_CU(cuMemGetInfo(&free, &total));
  EXPECT_EQ(total, kGiB);
  EXPECT_EQ(free, kUsable);
  EXPECT_EQ(Memory().context_bytes, 64 * kMiB);
}

TEST_F(MemoryTest, OutOfMemoryExactlyAtCapacity) {
  CUdeviceptr most = 0;
  EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&most, kUsable + 1));
  CHECK_CU(cuMemAlloc(&most, kUsable));
  EXPECT_EQ(Memory().free_bytes, 0u);
  CUdeviceptr more = 0;
  EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&more, 1));
  CHECK_CU(cuMemFree(most));
  CHECK_CU(cuMemAlloc(&more, 1));
  EXPECT_EQ(Memory().linear_bytes, 2 * kMiB);
  CHECK_CU(cuMemFree(more));
  EXPECT_EQ(Memory().free_bytes, kUsable);
}

TEST_F(MemoryTest, SmallAllocationsShareAPage) {
  CUdeviceptr blocks[3];
  for (CUdeviceptr& block : blocks) CHECK_CU(cuMemAlloc(&block, 700));
  EXPECT_EQ(blocks[1] - blocks[0], 1024u);
  EXPECT_EQ(Memory().linear_bytes, 2 * kMiB);
  EXPECT_EQ(Memory().live_allocations, 3u);
  // The blocks are adjacent, but no operation may extend from one into the next.
  CHECK_CU(cuMemsetD8(blocks[0], 1, 1024));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemsetD8(blocks[0], 1, 1025));
  for (const CUdeviceptr block : blocks) CHECK_CU(cuMemFree(block));
  EXPECT_EQ(Memory().linear_bytes, 0u);
}

TEST_F(MemoryTest, RandomAllocationsKeepTheirContents) {
  std::mt19937 random(11);
  struct Block {
    size_t bytes;
    unsigned char value;
  };
  std::map<CUdeviceptr, Block> live;
  const auto check_and_free = [&](CUdeviceptr address) {
    const Block block = live.at(address);
    std::vector<unsigned char> read(block.bytes);
    ASSERT_EQ(CUDA_SUCCESS, cuMemcpyDtoH(read.data(), address, block.bytes));
    ASSERT_EQ(read, std::vector<unsigned char>(block.bytes, block.value));
    ASSERT_EQ(CUDA_SUCCESS, cuMemFree(address));
    live.erase(address);
  };
  for (int round = 0; round < 600; ++round) {
    if (live.size() < 40 && (live.empty() || random() % 2 == 0)) {
      const Block block = {1 + random() % (random() % 4 == 0 ? 3 * kMiB : 20 * kKiB),
                           static_cast<unsigned char>(random())};
      CUdeviceptr address = 0;
      CHECK_CU(cuMemAlloc(&address, block.bytes));
      CHECK_CU(cuMemsetD8(address, block.value, block.bytes));
      live[address] = block;
    } else {
      auto victim = live.begin();
      std::advance(victim, static_cast<std::ptrdiff_t>(random() % live.size()));
      check_and_free(victim->first);
    }
  }
  while (!live.empty()) check_and_free(live.begin()->first);
}

TEST_F(MemoryTest, BadArgumentsAreRefused) {
  CUdeviceptr address = 0;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemAlloc(nullptr, 4));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemAlloc(&address, 0));
  EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&address, SIZE_MAX));
  EXPECT_EQ(CUDA_SUCCESS, cuMemFree(0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFree(0x1000));
  CHECK_CU(cuMemAlloc(&address, 4096));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFree(address + 512));
  CHECK_CU(cuMemFree(address));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFree(address));
  CHECK_CU(cuCtxSetCurrent(nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&address, 4));
}

TEST_F(MemoryTest, PitchedRowsAreAligned) {
  CUdeviceptr address = 0;
  size_t pitch = 0;
  CHECK_CU(cuMemAllocPitch(&address, &pitch, 1000, 3000, 4));
  EXPECT_EQ(pitch, 1024u);
  size_t bytes = 0;
  CUdeviceptr base = 0;
  CHECK_CU(cuMemGetAddressRange(&base, &bytes, address + 5000));
  EXPECT_EQ(base, address);
  EXPECT_EQ(bytes, 1024u * 3000);
  CHECK_CU(cuMemFree(address));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemAllocPitch(&address, &pitch, 1000, 10, 3));
  EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocPitch(&address, &pitch, 1000, SIZE_MAX / 2, 4));
}

TEST_F(MemoryTest, ManagedMemoryIsReachedFromTheHost) {
  CUdeviceptr address = 0;
  CHECK_CU(cuMemAllocManaged(&address, 5 * kMiB, CU_MEM_ATTACH_GLOBAL));
  EXPECT_EQ(Memory().managed_bytes, 6 * kMiB);
  *reinterpret_cast<int*>(address) = 42;
  int value = 0;
  CHECK_CU(cuMemcpyDtoH(&value, address, sizeof(value)));
  EXPECT_EQ(value, 42);
  unsigned managed = 0;
  CHECK_CU(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address + 100));
  EXPECT_EQ(managed, 1u);
  CHECK_CU(cuMemAdvise_v2(address, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY,
                          {CU_MEM_LOCATION_TYPE_DEVICE, {0}}));
  CHECK_CU(cuMemPrefetchAsync_v2(address, 4096, {CU_MEM_LOCATION_TYPE_DEVICE, {0}}, 0, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE,
            cuMemPrefetchAsync_v2(address, 4096, {CU_MEM_LOCATION_TYPE_DEVICE, {7}}, 0, nullptr));
  CHECK_CU(cuMemFree(address));
}

TEST_F(MemoryTest, ManagedMemoryMayExceedTheDevice) {
  CUdeviceptr managed = 0;
  CHECK_CU(cuMemAllocManaged(&managed, 3 * kGiB, CU_MEM_ATTACH_GLOBAL));
  EXPECT_EQ(Memory().free_bytes, 0u);
  CUdeviceptr linear = 0;
  CHECK_CU(cuMemAlloc(&linear, 100 * kMiB));
  EXPECT_EQ(Memory().managed_bytes, kUsable - 100 * kMiB);
  CHECK_CU(cuMemFree(linear));
  CHECK_CU(cuMemFree(managed));
  EXPECT_EQ(Memory().free_bytes, kUsable);
}

TEST_F(MemoryTest, PinnedMemoryIsHostMemory) {
  void* pinned = nullptr;
  CHECK_CU(cuMemHostAlloc(&pinned, 10000, CU_MEMHOSTALLOC_PORTABLE));
  std::memset(pinned, 3, 10000);
  CUdeviceptr device = 0;
  CHECK_CU(cuMemHostGetDevicePointer(&device, pinned, 0));
  EXPECT_EQ(device, reinterpret_cast<CUdeviceptr>(pinned));
  unsigned flags = 0;
  CHECK_CU(cuMemHostGetFlags(&flags, pinned));
  EXPECT_EQ(flags, unsigned{CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP});
  unsigned type = 0;
  CHECK_CU(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device));
  EXPECT_EQ(type, unsigned{CU_MEMORYTYPE_HOST});
  EXPECT_EQ(Memory().free_bytes, kUsable);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFree(device));
  CHECK_CU(cuMemFreeHost(pinned));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost(pinned));
}

TEST_F(MemoryTest, RegistrationsDoNotOverlap) {
  std::vector<char> memory(100000);
  CHECK_CU(cuMemHostRegister(memory.data(), memory.size(), 0));
  EXPECT_EQ(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
            cuMemHostRegister(memory.data() + 5000, 10, 0));
  CUdeviceptr device = 0;
  CHECK_CU(cuMemHostGetDevicePointer(&device, memory.data() + 7, 0));
  CHECK_CU(cuMemHostUnregister(memory.data()));
  EXPECT_EQ(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(memory.data()));
  CHECK_CU(cuMemHostRegister(memory.data() + 5000, 10, 0));
  EXPECT_EQ(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
            cuMemHostRegister(memory.data(), memory.size(), 0));
  CHECK_CU(cuMemHostRegister(memory.data(), 5000, 0));
  CHECK_CU(cuMemHostUnregister(memory.data()));
  CHECK_CU(cuMemHostUnregister(memory.data() + 5000));
}

TEST_F(MemoryTest, PointerAttributes) {
  CUdeviceptr address = 0;
  CHECK_CU(cuMemAlloc(&address, 3000));
  unsigned type = 0;
  int ordinal = -1;
  CUdeviceptr start = 0;
  size_t size = 0;
  CUcontext owner = nullptr;
  CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                 CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                 CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                 CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_CONTEXT};
  void* answers[] = {&type, &ordinal, &start, &size, &owner};
  CHECK_CU(cuPointerGetAttributes(5, asked, answers, address + 2999));
  EXPECT_EQ(type, unsigned{CU_MEMORYTYPE_DEVICE});
  EXPECT_EQ(ordinal, 0);
  EXPECT_EQ(start, address);
  EXPECT_EQ(size, 3000u);
  EXPECT_EQ(owner, context_);
  unsigned long long first = 0;
  unsigned long long second = 0;
  CHECK_CU(cuPointerGetAttribute(&first, CU_POINTER_ATTRIBUTE_BUFFER_ID, address));
  CHECK_CU(cuMemFree(address));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
  CHECK_CU(cuPointerGetAttributes(1, asked, answers, address));
  EXPECT_EQ(type, 0u);
  CUdeviceptr again = 0;
  CHECK_CU(cuMemAlloc(&again, 3000));
  EXPECT_EQ(again, address);
  CHECK_CU(cuPointerGetAttribute(&second, CU_POINTER_ATTRIBUTE_BUFFER_ID, again));
  EXPECT_NE(first, second);
  CHECK_CU(cuMemFree(again));
}

TEST_F(MemoryTest, DevicesHaveTheirOwnMemory) {
  CUcontext other = nullptr;
  CHECK_CU(cuDevicePrimaryCtxRetain(&other, 1));
  CHECK_CU(cuCtxPushCurrent(other));
  CUdeviceptr there = 0;
  CHECK_CU(cuMemAlloc(&there, 100 * kMiB));
  EXPECT_EQ(Memory(1).free_bytes, kUsable - 100 * kMiB);
  EXPECT_EQ(Memory(0).free_bytes, kUsable);
  CHECK_CU(cuCtxPopCurrent(nullptr));
  // Freed with the other context current, as unified addresses allow.
  CHECK_CU(cuMemFree(there));
  EXPECT_EQ(Memory(1).free_bytes, kUsable);
  CHECK_CU(cuDevicePrimaryCtxRelease(1));
  EXPECT_EQ(Memory(1).free_bytes, kGiB);
}

TEST_F(MemoryTest, ContextEndFreesItsMemory) {
  CUcontext extra = nullptr;
#if CUDA_VERSION >= 13000
  CHECK_CU(cuCtxCreate(&extra, nullptr, 0, 0));
#else
  CHECK_CU(cuCtxCreate(&extra, 0, 0));
#endif
  CUdeviceptr address = 0;
  CHECK_CU(cuMemAlloc(&address, 10 * kMiB));
  CHECK_CU(cuMemAllocAsync(&address, 10 * kMiB, nullptr));
  void* pinned = nullptr;
  CHECK_CU(cuMemAllocHost(&pinned, 100));
  EXPECT_EQ(Memory().context_bytes, 128 * kMiB);
  CHECK_CU(cuCtxDestroy(extra));
  EXPECT_EQ(Memory().live_allocations, 0u);
  EXPECT_EQ(Memory().linear_bytes, 0u);
  EXPECT_EQ(Memory().context_bytes, 64 * kMiB);
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy(extra));
}

}  // namespace
}  // namespace memprof::simcuda
