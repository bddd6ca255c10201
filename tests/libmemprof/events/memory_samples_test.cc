// Samples of the device's memory, which the ledger needs to balance.

#include <unistd.h>

#include "tests/libmemprof/events/recorded_driver.h"

namespace memprof::recorder {
namespace {

using ::testing::ElementsAre;
using testing::Event;
using ::testing::IsEmpty;

using LedgerHooks = HooksTest;

TEST_F(LedgerHooks, AThreadThatAllocatesSamplesItsDeviceSometimes) {
  Start();
  CUdeviceptr pointer = 0;
  for (int i = 0; i < 200; ++i) Call("cuMemAlloc_v2", &pointer, std::size_t{1});
  const testing::Log log = Finish();
  const std::vector<Event> samples = log.WithOp(log::OP_MEMORY_INFO);
  ASSERT_GE(samples.size(), 1u) << "with the first allocation";
  EXPECT_EQ(samples[0].bytes, driver_.free_bytes);
  EXPECT_EQ(samples[0].aux0, driver_.total_bytes);
  EXPECT_EQ(samples[0].aux1, 0u) << "the memory of other processes is not known";
  EXPECT_EQ(samples[0].device, 0);
  for (std::size_t i = 1; i < samples.size(); ++i)
    EXPECT_GE(samples[i].time_ns, samples[i - 1].time_ns + 100'000'000 - 20'000'000);
}

TEST_F(LedgerHooks, EveryDeviceHasItsOwnRate) {
  Start();
  CUdeviceptr pointer = 0;
  Call("cuMemAlloc_v2", &pointer, std::size_t{1});
  driver_.current = driver_.primary[1];
  driver_.device = 1;
  Call("cuMemAlloc_v2", &pointer, std::size_t{1});
  std::vector<int> devices;
  for (const Event& event : Finish().WithOp(log::OP_MEMORY_INFO)) devices.push_back(event.device);
  EXPECT_THAT(devices, ElementsAre(0, 1));
}

TEST_F(LedgerHooks, ASharedMemorysFileCacheIsInTheSample) {
  Start();
  CUdeviceptr pointer = 0;
  Call("cuMemAlloc_v2", &pointer, std::size_t{1});
  driver_.current = driver_.primary[1];  // NUMA node 0
  driver_.device = 1;
  Call("cuMemAlloc_v2", &pointer, std::size_t{1});
  const bool readable = access("/sys/devices/system/node/node0/meminfo", R_OK) == 0;
  for (const Event& event : Finish().WithOp(log::OP_MEMORY_INFO))
    EXPECT_EQ(event.address > 0, event.device == 1 && readable) << event.device;
}

TEST_F(LedgerHooks, AFailureIsASampleToo) {
  Start();
  Answer(CUDA_ERROR_OUT_OF_MEMORY);
  CUdeviceptr pointer = 0;
  Call("cuMemAlloc_v2", &pointer, std::size_t{1});
  EXPECT_EQ(Finish().WithOp(log::OP_MEMORY_INFO).size(), 1u);
}

TEST_F(LedgerHooks, HostMemoryAndFreesSampleNothing) {
  Start();
  void* pointer = nullptr;
  Call("cuMemAllocHost_v2", &pointer, std::size_t{1});
  Call("cuMemFree_v2", CUdeviceptr{0x1000});
  EXPECT_THAT(Finish().WithOp(log::OP_MEMORY_INFO), IsEmpty());
}

}  // namespace
}  // namespace memprof::recorder
