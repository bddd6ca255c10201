// What lets the ledger close, and what moves memory without allocating: samples of the device's
// memory, advice on managed memory, checkpoints, bindings of multicast objects.
#include <unistd.h>

#include "tests/libmemprof/hooks/hooks_fixture.h"

namespace memprof::recorder {
namespace {

using testing::DriverCall;
using ::testing::ElementsAre;
using testing::Event;
using ::testing::IsEmpty;

using LedgerHooks = HooksTest;
constexpr CUstream kNoStream = nullptr;

TEST_F(LedgerHooks, AThreadThatAllocatesSamplesItsDeviceSometimes) {
  Start();
  CUdeviceptr pointer = 0;
  for (int i = 0; i < 200; ++i) Call("cuMemAlloc_v2", &pointer, std::size_t{1});
  const testing::Log log = Finish();
  const std::vector<Event> samples = log.WithOp(log::OP_MEMORY_INFO);
  ASSERT_GE(samples.size(), 1u) << "with the first allocation";
  EXPECT_EQ(samples[0].bytes, driver_.free_bytes);
  EXPECT_EQ(samples[0].aux0, driver_.total_bytes);
  EXPECT_EQ(samples[0].aux1, 0u) << "nobody says what other processes use";
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

TEST_F(LedgerHooks, CheckpointsAreMarked) {
  Start();
  void* const none = nullptr;
  for (const char* name : {"cuCheckpointProcessLock", "cuCheckpointProcessCheckpoint",
                           "cuCheckpointProcessRestore", "cuCheckpointProcessUnlock"})
    EXPECT_EQ(Call(name, getpid(), none), CUDA_SUCCESS);
  Answer(CUDA_ERROR_ILLEGAL_STATE);
  Call("cuCheckpointProcessLock", getpid(), none);
  std::vector<std::uint64_t> stages;
  for (const Event& event : Finish().WithOp(log::OP_CHECKPOINT)) {
    stages.push_back(event.aux0);
    EXPECT_EQ(event.aux1, static_cast<std::uint64_t>(getpid()));
  }
  EXPECT_THAT(stages, ElementsAre(1, 2, 3, 4));
}

// Calls of a locked process wait for the end of the lock: a step that waited there would wait for
// ever if the same thread unlocks.
TEST_F(LedgerHooks, WhileLockedNothingIsAskedOfTheDriver) {
  void* const none = nullptr;
  const auto samples = [this] { return Events().size(); };
  Start();
  Call("cuCheckpointProcessLock", getpid() + 1, none);
  EXPECT_EQ(memprof_step(1), MEMPROF_OK);
  const std::size_t before = samples();
  EXPECT_EQ(before, 3u) << "another process's lock, a sample, the step";
  Call("cuCheckpointProcessLock", getpid(), none);
  Answer(CUDA_ERROR_ILLEGAL_STATE);
  Call("cuCheckpointProcessLock", getpid(), none);
  Call("cuCheckpointProcessUnlock", getpid(), none);
  EXPECT_EQ(memprof_step(2), MEMPROF_OK);
  EXPECT_EQ(samples(), before + 2) << "the lock and the step";
  Answer(CUDA_SUCCESS);
  Call("cuCheckpointProcessUnlock", getpid(), none);
  EXPECT_EQ(memprof_step(3), MEMPROF_OK);
  EXPECT_EQ(samples(), before + 5) << "the unlock, a sample, the step";
}

struct Advice {
  log::Op op;
  std::uint64_t address, bytes;
  int device;
  std::uint64_t aux0, aux1;
  bool operator==(const Advice&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Advice& advice) {
  return out << log::Op_Name(advice.op) << " " << advice.address << " " << advice.bytes << " to "
             << advice.device << " " << advice.aux0 << " " << advice.aux1;
}

class ManagedHooks : public HooksTest {
 protected:
  std::vector<Advice> Story() {
    std::vector<Advice> story;
    for (const Event& event : Finish().events) {
      EXPECT_EQ(event.layer, log::LAYER_MANAGED);
      story.push_back({event.op, event.address, event.bytes, event.device, event.aux0, event.aux1});
    }
    return story;
  }
};

TEST_F(ManagedHooks, BothFormsOfPrefetchAndAdvice) {
  Start();
  const CUdeviceptr at = 0x1000;
  const std::size_t bytes = 64;
  CUmemLocation host{}, device{};
  host.type = static_cast<CUmemLocationType>(3);
  host.id = 5;
  device.type = CU_MEM_LOCATION_TYPE_DEVICE;
  device.id = 1;
  Call("cuMemPrefetchAsync", at, bytes, 1, kNoStream);
  Call("cuMemPrefetchAsync_ptsz", at, bytes, static_cast<int>(CU_DEVICE_CPU), kNoStream);
  Call("cuMemPrefetchAsync_v2", at, bytes, device, 0u, kNoStream);
  Call("cuMemPrefetchAsync_v2_ptsz", at, bytes, host, 0u, kNoStream);
  Call("cuMemAdvise", at, bytes, CU_MEM_ADVISE_SET_READ_MOSTLY, 0);
  Call("cuMemAdvise_v2", at, bytes, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host);
  EXPECT_THAT(Story(), ElementsAre(Advice{log::OP_PREFETCH, at, bytes, 1, 0, 1},
                                   Advice{log::OP_PREFETCH, at, bytes, -1, 0, 2},
                                   Advice{log::OP_PREFETCH, at, bytes, 1, 0, 1},
                                   Advice{log::OP_PREFETCH, at, bytes, -1, 0, 3},
                                   Advice{log::OP_ADVISE, at, bytes, 0, 1, 1},
                                   Advice{log::OP_ADVISE, at, bytes, -1, 3, 3}));
}

TEST_F(ManagedHooks, ABatchIsOneEventForEachRange) {
  Start();
  CUdeviceptr at[] = {0x1000, 0x2000, 0x3000};
  std::size_t bytes[] = {1, 2, 3};
  CUmemLocation places[2] = {};
  places[0].type = places[1].type = CU_MEM_LOCATION_TYPE_DEVICE;
  places[1].id = 1;
  std::size_t firsts[] = {0, 2};
  Call("cuMemPrefetchBatchAsync", at, bytes, std::size_t{3}, places, firsts, std::size_t{2}, 0ull,
       kNoStream);
  Call("cuMemDiscardBatchAsync_ptsz", at, bytes, std::size_t{2}, 0ull, kNoStream);
  Call("cuMemDiscardAndPrefetchBatchAsync", at, bytes, std::size_t{1}, places, firsts,
       std::size_t{1}, 0ull, kNoStream);
  EXPECT_THAT(Story(), ElementsAre(Advice{log::OP_PREFETCH, 0x1000, 1, 0, 0, 1},
                                   Advice{log::OP_PREFETCH, 0x2000, 2, 0, 0, 1},
                                   Advice{log::OP_PREFETCH, 0x3000, 3, 1, 0, 1},
                                   Advice{log::OP_DISCARD, 0x1000, 1, -1, 0, 0},
                                   Advice{log::OP_DISCARD, 0x2000, 2, -1, 0, 0},
                                   Advice{log::OP_DISCARD, 0x1000, 1, -1, 0, 0},
                                   Advice{log::OP_PREFETCH, 0x1000, 1, 0, 0, 1}));
}

TEST_F(ManagedHooks, ListsThatAreMissingAreNotRead) {
  Start();
  CUdeviceptr* const none = nullptr;
  std::size_t* const nothing = nullptr;
  Call("cuMemDiscardBatchAsync", none, nothing, std::size_t{1}, 0ull, kNoStream);
  EXPECT_THAT(Events(), IsEmpty());
  Answer(CUDA_ERROR_INVALID_VALUE);
  Call("cuMemDiscardBatchAsync", none, nothing, std::size_t{1}, 0ull, kNoStream);
  EXPECT_EQ(Finish().WithOp(log::OP_ALLOC_FAILED).at(0).bytes, 0u);
}

class MulticastHooks : public HooksTest {
 protected:
  CUmemGenericAllocationHandle Create(std::size_t bytes) {
    CUmemAllocationProp properties{};
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemGenericAllocationHandle handle = 0;
    Call("cuMemCreate", &handle, bytes, static_cast<const CUmemAllocationProp*>(&properties), 0ull);
    return handle;
  }
  CUmemGenericAllocationHandle Multicast() {
    CUmemGenericAllocationHandle handle = 0;
    Call("cuMulticastCreate", &handle, static_cast<const void*>(nullptr));
    return handle;
  }
};

// Its devices are told by binds of nothing.
TEST_F(MulticastHooks, DevicesJoin) {
  Start();
  const auto object = Multicast();
  EXPECT_EQ(Call("cuMulticastAddDevice", object, 1), CUDA_SUCCESS);
  const Event joined = Finish().WithOp(log::OP_MAP).at(0);
  EXPECT_EQ(joined.layer, log::LAYER_MULTICAST);
  EXPECT_EQ(joined.address, object);
  EXPECT_EQ(joined.device, 1);
  EXPECT_EQ(joined.bytes, 0u);
}

TEST_F(MulticastHooks, WhatIsBoundIsHeld) {
  Start();
  const auto object = Multicast();
  const auto bound = Create(100), mapped = Create(200);
  Call("cuMemMap", CUdeviceptr{0x10000}, std::size_t{200}, std::size_t{0}, mapped, 0ull);
  Call("cuMulticastBindMem", object, std::size_t{0}, bound, std::size_t{0}, std::size_t{100}, 0ull);
  Call("cuMulticastBindAddr", object, std::size_t{100}, CUdeviceptr{0x10000}, std::size_t{200},
       0ull);
  Call("cuMemRelease", bound);
  Call("cuMemRelease", mapped);
  Call("cuMemUnmap", CUdeviceptr{0x10000}, std::size_t{200});
  EXPECT_EQ(Stats().live_bytes, 300u);
  Call("cuMulticastUnbind", object, 0, std::size_t{0}, std::size_t{100});
  EXPECT_EQ(Stats().live_bytes, 200u);
  Call("cuMemRelease", object);
  EXPECT_EQ(Stats().live_bytes, 0u) << "the object held the rest";
  const testing::Log log = Finish();
  std::vector<Event> binds, unbinds;
  for (const Event& event : log.WithOp(log::OP_MAP))
    if (event.layer == log::LAYER_MULTICAST) binds.push_back(event);
  for (const Event& event : log.WithOp(log::OP_UNMAP))
    if (event.layer == log::LAYER_MULTICAST) unbinds.push_back(event);
  ASSERT_EQ(binds.size(), 2u);
  EXPECT_EQ(binds[0].address, object);
  EXPECT_EQ(binds[0].aux0, bound);
  EXPECT_EQ(binds[0].bytes, 100u);
  EXPECT_EQ(binds[1].aux0, 0x10000u);
  EXPECT_EQ(binds[1].aux1, 100u);
  ASSERT_EQ(unbinds.size(), 1u);
  EXPECT_EQ(unbinds[0].device, 0);
}

}  // namespace
}  // namespace memprof::recorder
