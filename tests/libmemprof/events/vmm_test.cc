// Virtual memory management: addresses, physical memory, maps.
#include <thread>
#include <utility>

#include "tests/libmemprof/events/recorded_driver.h"

namespace memprof::recorder {
namespace {

using testing::DriverCall;
using ::testing::ElementsAre;
using testing::Event;

class VmmHooks : public HooksTest {
 protected:
  Handle Create(std::size_t bytes) { return CreateMemory(bytes, 1); }
  void Map(CUdeviceptr at, std::size_t bytes, Handle handle, std::size_t offset = 0) {
    EXPECT_EQ(Call("cuMemMap", at, bytes, offset, handle, 0ull), CUDA_SUCCESS);
  }
  std::vector<std::string> Story() {
    std::vector<std::string> story;
    for (const Event& event : Finish().events)
      if (event.op != log::OP_MEMORY_INFO)
        story.push_back(testing::LowerWord(log::Op_Name(event.op), 3) + " " +
                        testing::LowerWord(log::Layer_Name(event.layer), 6) + " " +
                        std::to_string(event.bytes) + " on " + std::to_string(event.device));
    return story;
  }
};

TEST_F(VmmHooks, MemoryEndsWithTheLastOfHandlesAndMaps) {
  Start();
  const Handle handle = Create(4096);
  Map(0x100000, 2048, handle);
  Map(0x100800, 2048, handle, 2048);
  driver_.next = handle;
  Handle again = 0;
  EXPECT_EQ(Call("cuMemRetainAllocationHandle", &again, At(0x100000)), CUDA_SUCCESS);
  ASSERT_EQ(again, handle);
  Call("cuMemRelease", handle);
  Call("cuMemRelease", again);
  EXPECT_EQ(Stats().live_bytes, 4096u);
  Call("cuMemUnmap", CUdeviceptr{0x100000}, std::size_t{2048});
  EXPECT_EQ(Stats().live_bytes, 4096u);
  Call("cuMemUnmap", CUdeviceptr{0x100800}, std::size_t{2048});
  EXPECT_EQ(Stats().live_bytes, 0u);
  EXPECT_THAT(Story(), ElementsAre("alloc vmm_physical 4096 on 1", "map vmm_address 2048 on 1",
                                   "map vmm_address 2048 on 1", "unmap vmm_address 2048 on 1",
                                   "free vmm_physical 4096 on 1", "unmap vmm_address 2048 on 1"));
}

TEST_F(VmmHooks, AMapSaysWhichPartOfWhichMemoryItShows) {
  Start();
  const Handle handle = Create(4096);
  Map(0x200000, 1024, handle, 3072);
  const Event map = Finish().WithOp(log::OP_MAP).at(0);
  EXPECT_EQ(map.address, 0x200000u);
  EXPECT_EQ(map.bytes, 1024u);
  EXPECT_EQ(map.aux0, handle);
  EXPECT_EQ(map.aux1, 3072u);
}

TEST_F(VmmHooks, MemoryOfTheHostIsPinnedMemory) {
  Start();
  const Handle handle = CreateMemory(512, 0, CU_MEM_LOCATION_TYPE_INVALID);
  Call("cuMemRelease", handle);
  EXPECT_THAT(Story(), ElementsAre("alloc pinned 512 on -1", "free pinned 512 on -1"));
}

// As of CUDA 13.5 memory may be made in a locality domain of a device: here domain 3 of device 1.
TEST_F(VmmHooks, MemoryOfALocalityDomainIsItsDevices) {
  Start();
  const Handle handle = CreateMemory(512, 1 | 3 << 8, static_cast<CUmemLocationType>(6));
  Call("cuMemRelease", handle);
  EXPECT_THAT(Story(), ElementsAre("alloc vmm_physical 512 on 1", "free vmm_physical 512 on 1"));
}

TEST_F(VmmHooks, AFailedReleaseIsTakenBackAndTheMemoryLivesOn) {
  Start();
  const Handle handle = Create(100);
  Answer(CUDA_ERROR_INVALID_VALUE);
  Call("cuMemRelease", handle);
  EXPECT_EQ(Stats().live_bytes, 100u);
  Answer(CUDA_SUCCESS);
  Map(0x300000, 100, handle);
  Answer(CUDA_ERROR_INVALID_VALUE);
  Call("cuMemRelease", handle);  // not the last reference: a mapping remains
  Answer(CUDA_SUCCESS);
  Call("cuMemUnmap", CUdeviceptr{0x300000}, std::size_t{100});
  EXPECT_EQ(Stats().live_bytes, 100u) << "the handle holds it";
  Call("cuMemRelease", handle);
  EXPECT_EQ(Stats().live_bytes, 0u);
  EXPECT_EQ(Finish().WithOp(log::OP_FREE_FAILED).size(), 1u);
}

TEST_F(VmmHooks, AFailedUnmapLeavesEverythingMapped) {
  Start();
  const Handle handle = Create(100);
  Map(0x400000, 100, handle);
  Call("cuMemRelease", handle);
  Answer(CUDA_ERROR_INVALID_VALUE);
  Call("cuMemUnmap", CUdeviceptr{0x400000}, std::size_t{100});
  EXPECT_EQ(Stats().live_bytes, 100u);
  Answer(CUDA_SUCCESS);
  Call("cuMemUnmap", CUdeviceptr{0x400000}, std::size_t{100});
  EXPECT_EQ(Stats().live_bytes, 0u);
  EXPECT_EQ(Finish().WithOp(log::OP_UNMAP).size(), 1u);
}

// Another thread maps the range after the driver has unmapped it and before the call returns to the
// first thread.
TEST_F(VmmHooks, ARangeThatAnotherThreadMapsMeanwhileStaysMapped) {
  Start();
  const Handle old = Create(100), later = Create(200);
  Map(0x500000, 100, old);
  Call("cuMemRelease", old);
  bool first = true;
  driver_.decide = [&](const testing::DriverCall& call) {
    if (call.name == "cuMemUnmap" && std::exchange(first, false)) {
      std::thread([&] {
        Map(0x500000, 100, later);
        Call("cuMemRelease", later);
      }).join();
    }
    return CUDA_SUCCESS;
  };
  Call("cuMemUnmap", CUdeviceptr{0x500000}, std::size_t{100});
  EXPECT_EQ(Stats().live_bytes, 200u);
  Call("cuMemUnmap", CUdeviceptr{0x500000}, std::size_t{100});
  EXPECT_EQ(Stats().live_bytes, 0u);
}

TEST_F(VmmHooks, FailuresAndForeignHandles) {
  Start();
  Answer(CUDA_ERROR_OUT_OF_MEMORY);
  Create(1 << 20);
  Handle handle = 0;
  Call("cuMemImportFromShareableHandle", &handle, At(1), CUmemAllocationHandleType{});
  Call("cuMulticastCreate", &handle, static_cast<const void*>(nullptr));
  Call("cuMemMap", CUdeviceptr{1}, std::size_t{1}, std::size_t{0}, Handle{9}, 0ull);
  CUdeviceptr range = 0;
  Call("cuMemAddressReserve", &range, std::size_t{1}, std::size_t{0}, CUdeviceptr{0}, 0ull);
  Answer(CUDA_SUCCESS);
  Call("cuMemRelease", Handle{12345});  // from before recording began
  Call("cuMemUnmap", CUdeviceptr{0x999000}, std::size_t{10});
  EXPECT_THAT(Story(),
              ElementsAre("alloc_failed vmm_physical 1048576 on 0", "alloc_failed imported 0 on 0",
                          "alloc_failed multicast 0 on 0", "alloc_failed vmm_address 1 on 0",
                          "alloc_failed vmm_address 1 on 0", "unmap vmm_address 10 on -1"));
}

TEST_F(VmmHooks, ImportsAndMulticastObjectsHaveNoBytesOfTheirOwn) {
  Start();
  Handle imported = 0, multicast = 0;
  Call("cuMemImportFromShareableHandle", &imported, At(1), CUmemAllocationHandleType{});
  Call("cuMulticastCreate", &multicast, static_cast<const void*>(nullptr));
  Call("cuMemRelease", imported);
  Call("cuMemRelease", multicast);
  EXPECT_EQ(Stats().allocations, 0u);
  EXPECT_THAT(Story(), ElementsAre("alloc imported 0 on 0", "alloc multicast 0 on -1",
                                   "free imported 0 on 0", "free multicast 0 on -1"));
}

TEST_F(VmmHooks, AddressesAreReservedAndFreed) {
  Start();
  CUdeviceptr range = 0;
  Call("cuMemAddressReserve", &range, std::size_t{1} << 30, std::size_t{0}, CUdeviceptr{0}, 0ull);
  Call("cuMemAddressFree", range, std::size_t{1} << 30);
  Answer(CUDA_ERROR_INVALID_VALUE);
  Call("cuMemAddressFree", range, std::size_t{1} << 30);
  EXPECT_EQ(Stats().live_bytes, 0u) << "addresses are not memory";
  EXPECT_THAT(Story(),
              ElementsAre("alloc vmm_address 1073741824 on 0", "free vmm_address 1073741824 on 0",
                          "free vmm_address 1073741824 on 0", "free_failed vmm_address 0 on 0"));
}

}  // namespace
}  // namespace memprof::recorder
