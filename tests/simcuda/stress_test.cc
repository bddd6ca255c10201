// Eight threads at once: every kind of memory, streams, events and contexts.
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "driver_fixture.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=4GiB,devices=2");

using StressTest = DriverTest;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kRounds = 150;
#else
constexpr int kRounds = 600;
#endif

// The work of one thread. Bytes that it writes must be unchanged when it frees the memory.
class Worker {
 public:
  Worker(CUcontext context, unsigned seed) : random_(seed) {
    Expect(cuCtxSetCurrent(context));
    Expect(cuStreamCreate(&stream_, random_() % 2));
    Expect(cuEventCreate(&event_, 0));
  }
  void Run() {
    for (int round = 0; round < kRounds; ++round) Step();
    while (!blocks_.empty()) Free();
    Expect(cuEventDestroy(event_));
    Expect(cuStreamDestroy(stream_));
  }

 private:
  struct Block {
    CUdeviceptr address;
    size_t bytes;
    unsigned value;
    bool ordered;
  };
  static void Expect(CUresult result) { EXPECT_EQ(result, CUDA_SUCCESS); }

  void Step() {
    switch (random_() % 6) {
      case 0:
      case 1:
      case 2:
        if (blocks_.size() < 20) Allocate();
        break;
      case 3:
        if (!blocks_.empty()) Free();
        break;
      case 4:
        Expect(cuEventRecord(event_, stream_));
        Expect(cuStreamWaitEvent(stream_, event_, 0));
        break;
      default: {
        void* pinned = nullptr;
        Expect(cuMemAllocHost(&pinned, 1000));
        Expect(cuMemFreeHost(pinned));
        break;
      }
    }
  }
  void Allocate() {
    Block block = {};
    block.bytes = 4 * (1 + random_() % (random_() % 8 == 0 ? 700000 : 2000));
    block.value = static_cast<unsigned>(random_());
    block.ordered = random_() % 2 == 0;
    Expect(block.ordered ? cuMemAllocAsync(&block.address, block.bytes, stream_)
                         : cuMemAlloc(&block.address, block.bytes));
    Expect(cuMemsetD32Async(block.address, block.value, block.bytes / 4, stream_));
    blocks_.push_back(block);
  }
  void Free() {
    const size_t index = random_() % blocks_.size();
    const Block block = blocks_[index];
    blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(index));
    unsigned ends[2] = {};
    Expect(cuMemcpyDtoHAsync(&ends[0], block.address, 4, stream_));
    Expect(cuMemcpyDtoHAsync(&ends[1], block.address + block.bytes - 4, 4, stream_));
    Expect(cuStreamSynchronize(stream_));
    EXPECT_EQ(ends[0], block.value);
    EXPECT_EQ(ends[1], block.value);
    Expect(block.ordered ? cuMemFreeAsync(block.address, stream_) : cuMemFree(block.address));
  }

  std::mt19937 random_;
  CUstream stream_ = nullptr;
  CUevent event_ = nullptr;
  std::vector<Block> blocks_;
};

TEST_F(StressTest, EightThreadsOfEverything) {
  CUcontext second = nullptr;
  CHECK_CU(cuDevicePrimaryCtxRetain(&second, 1));
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] { Worker(i % 2 == 0 ? context_ : second, 100 + i).Run(); });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_CU(cuCtxSynchronize());
  EXPECT_EQ(Memory(0).live_allocations, 0u);
  EXPECT_EQ(Memory(1).live_allocations, 0u);
  EXPECT_EQ(Memory(0).linear_bytes, 0u);
  CHECK_CU(cuDevicePrimaryCtxRelease(1));
}

TEST_F(StressTest, ContextsComeAndGoUnderLoad) {
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i) {
    threads.emplace_back([i] {
      for (int round = 0; round < 30; ++round) {
        CUcontext context = nullptr;
#if CUDA_VERSION >= 13000
        EXPECT_EQ(CUDA_SUCCESS, cuCtxCreate(&context, nullptr, 0, static_cast<int>(i % 2)));
#else
        EXPECT_EQ(CUDA_SUCCESS, cuCtxCreate(&context, 0, static_cast<int>(i % 2)));
#endif
        CUstream stream = nullptr;
        CUdeviceptr address = 0;
        EXPECT_EQ(CUDA_SUCCESS, cuStreamCreate(&stream, 0));
        EXPECT_EQ(CUDA_SUCCESS, cuMemAlloc(&address, 100000));
        EXPECT_EQ(CUDA_SUCCESS, cuMemsetD8Async(address, 1, 100000, stream));
        EXPECT_EQ(CUDA_SUCCESS, cuCtxDestroy(context));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Memory(1).free_bytes, Memory(1).capacity_bytes);
}

}  // namespace
}  // namespace memprof::simcuda
