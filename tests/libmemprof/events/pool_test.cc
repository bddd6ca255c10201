// Stream-ordered memory and its pools.
#include <thread>
#include <utility>

#include "tests/libmemprof/events/recorded_driver.h"

namespace memprof::recorder {
namespace {

using testing::DriverCall;
using ::testing::ElementsAre;
using testing::Event;
using ::testing::IsEmpty;

class PoolHooks : public HooksTest {
 protected:
  CUdeviceptr AllocateAsync(std::size_t bytes) {
    CUdeviceptr pointer = 0;
    EXPECT_EQ(Call("cuMemAllocAsync", &pointer, bytes, CUstream{}), CUDA_SUCCESS);
    return pointer;
  }
};

TEST_F(PoolHooks, AnAllocationNamesThePoolThatServesItsDevice) {
  Start();
  AllocateAsync(1);
  driver_.pool[0] = 0xbbb;  // the program set another pool
  AllocateAsync(2);
  CUdeviceptr pointer = 0;
  Call("cuMemAllocFromPoolAsync", &pointer, std::size_t{3}, At(0xccc), CUstream{});
  const testing::Log log = Finish();
  std::vector<std::uint64_t> pools;
  for (const Event& event : log.WithOp(log::OP_ALLOC)) pools.push_back(event.aux0);
  EXPECT_THAT(pools, ElementsAre(0xb00, 0xbbb, 0xccc));
  EXPECT_TRUE(log.pools.at(0xb00).is_default());
  EXPECT_FALSE(log.pools.at(0xbbb).is_default());
  EXPECT_FALSE(log.pools.at(0xccc).is_default());
}

TEST_F(PoolHooks, SamplesComeWithAllocationsAndAlwaysWithFailures) {
  Start();
  AllocateAsync(1);
  const std::size_t first = Events().size();
  EXPECT_GE(first, 2u) << "the allocation and a sample";
  Answer(CUDA_ERROR_OUT_OF_MEMORY);
  CUdeviceptr pointer = 0;
  for (int i = 0; i < 3; ++i) Call("cuMemAllocAsync", &pointer, std::size_t{1}, CUstream{});
  const std::vector<Event> samples = Finish().WithOp(log::OP_POOL_SAMPLE);
  ASSERT_GE(samples.size(), 4u);
  for (const Event& sample : samples) {
    EXPECT_EQ(sample.address, 0xb00u);
    EXPECT_EQ(sample.device, 0);
    EXPECT_EQ(sample.bytes, driver_.pool_reserved);
    EXPECT_EQ(sample.aux0, driver_.pool_used);
  }
}

TEST_F(PoolHooks, WhileAStreamIsCapturedAllocationsBelongToAGraph) {
  Start();
  driver_.capturing = true;
  const CUdeviceptr pointer = AllocateAsync(100);
  Call("cuMemFreeAsync_ptsz", pointer, CUstream{});
  const testing::Log log = Finish();
  EXPECT_THAT(log.WithOp(log::OP_ALLOC), IsEmpty()) << "nothing is allocated yet";
  EXPECT_THAT(log.WithOp(log::OP_FREE), IsEmpty());
}

TEST_F(PoolHooks, PoolsAreCreatedTrimmedAndDestroyed) {
  Start();
  CUmemPoolProps properties{};
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {1}};
  CUmemoryPool pool = nullptr;
  EXPECT_EQ(Call("cuMemPoolCreate", &pool, static_cast<const CUmemPoolProps*>(&properties)),
            CUDA_SUCCESS);
  EXPECT_EQ(Call("cuMemPoolTrimTo", pool, std::size_t{4096}), CUDA_SUCCESS);
  EXPECT_EQ(Call("cuMemPoolDestroy", pool), CUDA_SUCCESS);
  properties.location.type = CU_MEM_LOCATION_TYPE_INVALID;  // host pools, and future kinds
  CUmemoryPool other = nullptr;
  Call("cuMemPoolCreate", &other, static_cast<const CUmemPoolProps*>(&properties));
  Answer(CUDA_ERROR_INVALID_VALUE);
  Call("cuMemPoolCreate", &other, static_cast<const CUmemPoolProps*>(nullptr));
  Call("cuMemPoolTrimTo", other, std::size_t{0});
  Call("cuMemPoolDestroy", other);
  const testing::Log log = Finish();
  const auto handle = reinterpret_cast<std::uint64_t>(pool);
  const std::vector<Event> created = log.WithOp(log::OP_POOL_CREATE);
  ASSERT_EQ(created.size(), 2u);
  EXPECT_EQ(created[0].address, handle);
  EXPECT_EQ(created[0].device, 1);
  EXPECT_EQ(created[0].stack != 0, kTestStacks);
  EXPECT_EQ(created[1].device, 0) << "device of the current context";
  const std::vector<Event> trimmed = log.WithOp(log::OP_POOL_TRIM);
  ASSERT_EQ(trimmed.size(), 1u);
  EXPECT_EQ(trimmed[0].bytes, 4096u);
  const std::vector<Event> samples = log.WithOp(log::OP_POOL_SAMPLE);
  ASSERT_FALSE(samples.empty());
  EXPECT_EQ(samples[0].address, handle) << "sampled after the trim";
  const std::vector<Event> destroyed = log.WithOp(log::OP_POOL_DESTROY);
  ASSERT_EQ(destroyed.size(), 1u);
  EXPECT_EQ(destroyed[0].address, handle);
  EXPECT_EQ(destroyed[0].device, 1) << "the device is remembered";
}

// The memory is on the pool's device, not on the device of the current context.
TEST_F(PoolHooks, MemoryIsWhereItsPoolIs) {
  Start();
  CUmemPoolProps properties{};
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {1}};
  CUmemoryPool pool = nullptr;
  Call("cuMemPoolCreate", &pool, static_cast<const CUmemPoolProps*>(&properties));
  CUdeviceptr pointer = 0;
  Call("cuMemAllocFromPoolAsync", &pointer, std::size_t{300}, pool, CUstream{});
  EXPECT_EQ(Stats().live_bytes, 300u);
  const CUdeviceptr of_pool = pointer;
  driver_.capturing = true;
  Call("cuMemAllocFromPoolAsync_ptsz", &pointer, std::size_t{300}, pool, CUstream{});
  EXPECT_EQ(Stats().live_bytes, 300u) << "a node of a graph";
  const std::vector<Event> made = Finish().WithOp(log::OP_ALLOC);
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0].device, 1);
  EXPECT_EQ(made[0].address, of_pool);
  EXPECT_EQ(made[0].aux0, reinterpret_cast<std::uint64_t>(pool));
  EXPECT_EQ(made[0].layer, log::LAYER_STREAM_ORDERED);
  EXPECT_EQ(made[0].stack != 0, kTestStacks);
}

// A host pool does not belong to the current device, nor does its memory, and it does not end with
// a context.
TEST_F(PoolHooks, APoolOfTheHostHandsOutPinnedMemory) {
  Start();
  for (const int type : {2, 3, 4}) {  // host, NUMA node, current thread's NUMA node
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = static_cast<CUmemLocationType>(type);
    CUmemoryPool pool = nullptr;
    Call("cuMemPoolCreate", &pool, static_cast<const CUmemPoolProps*>(&properties));
    CUdeviceptr pointer = 0;
    CUdeviceptr kept = 0;
    Call("cuMemAllocFromPoolAsync", &pointer, std::size_t{1} << 20, pool, CUstream{});
    Call("cuMemAllocFromPoolAsync", &kept, std::size_t{64}, pool, CUstream{});
    Call("cuMemFreeAsync", pointer, CUstream{});
    Call("cuMemPoolTrimTo", pool, std::size_t{0});
    Answer(CUDA_ERROR_OUT_OF_MEMORY);
    Call("cuMemAllocFromPoolAsync", &pointer, std::size_t{5}, pool, CUstream{});
    Answer(CUDA_SUCCESS);
    Call("cuMemPoolDestroy", pool);
  }
  EXPECT_EQ(Stats().live_bytes, 0u);
  EXPECT_EQ(Stats().peak_bytes, 0u);
  const testing::Log log = Finish();
  EXPECT_THAT(log.pools, IsEmpty());
  EXPECT_THAT(log.WithOp(log::OP_POOL_SAMPLE), IsEmpty());
  EXPECT_EQ(log.counters.count("frees_of_other_family"), 0u);
  for (const auto& [op, count] :
       {std::pair(log::OP_ALLOC, 6), {log::OP_FREE, 3}, {log::OP_ALLOC_FAILED, 3}}) {
    const std::vector<Event> events = log.WithOp(op);
    ASSERT_EQ(events.size(), static_cast<std::size_t>(count));
    for (const Event& event : events) {
      EXPECT_EQ(event.layer, log::LAYER_PINNED);
      if (op != log::OP_FREE) {
        EXPECT_EQ(event.device, -1);
      }
      if (op == log::OP_ALLOC) {
        EXPECT_EQ(event.context, 0u);
      }
    }
  }
  for (const Event& event : log.WithOp(log::OP_POOL_CREATE)) EXPECT_EQ(event.device, -1);
}

// Another thread gets the handle after the driver has destroyed the pool and before the call
// returns to the first thread.
TEST_F(PoolHooks, AHandleThatAnotherThreadIsGivenMeanwhileStaysKnown) {
  Start();
  CUmemPoolProps properties{};
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {1}};
  const auto* asked = static_cast<const CUmemPoolProps*>(&properties);
  const std::uint64_t handle = driver_.next;
  CUmemoryPool pool = nullptr, later = nullptr;
  Call("cuMemPoolCreate", &pool, asked);
  bool first = true;
  driver_.decide = [&](const testing::DriverCall& call) {
    if (call.name == "cuMemPoolDestroy" && std::exchange(first, false)) {
      driver_.next = handle;
      std::thread([&] { Call("cuMemPoolCreate", &later, asked); }).join();
    }
    return CUDA_SUCCESS;
  };
  Call("cuMemPoolDestroy", pool);
  ASSERT_EQ(later, pool);
  Answer(CUDA_ERROR_INVALID_VALUE);
  Call("cuMemPoolDestroy", later);  // fails: nothing has changed
  Answer(CUDA_SUCCESS);
  CUdeviceptr pointer = 0;
  Call("cuMemAllocFromPoolAsync", &pointer, std::size_t{300}, later, CUstream{});
  const testing::Log log = Finish();
  EXPECT_EQ(log.WithOp(log::OP_ALLOC).at(0).device, 1) << "the pool's, not the context's";
  std::vector<std::string> story;
  for (const Event& event : log.ByTime())
    if (event.op == log::OP_POOL_CREATE || event.op == log::OP_POOL_DESTROY)
      story.push_back(log::Op_Name(event.op));
  EXPECT_THAT(story, ElementsAre("OP_POOL_CREATE", "OP_POOL_DESTROY", "OP_POOL_CREATE"));
}

// Programs query the default host pool; they do not create it.
TEST_F(PoolHooks, APoolThatWasNotSeenLiesWhereTheDriverSays) {
  Start();
  const std::uint64_t address = driver_.next;
  driver_.host_memory.insert(address);
  CUdeviceptr pointer = 0;
  Call("cuMemAllocFromPoolAsync", &pointer, std::size_t{300}, At(0xddd), CUstream{});
  ASSERT_EQ(pointer, address);
  Call("cuMemAllocFromPoolAsync", &pointer, std::size_t{400}, At(0xddd), CUstream{});
  Call("cuMemAllocFromPoolAsync", &pointer, std::size_t{500}, At(0xeee), CUstream{});
  EXPECT_EQ(Stats().live_bytes, 500u);
  std::vector<log::Layer> layers;
  for (const Event& event : Finish().WithOp(log::OP_ALLOC)) layers.push_back(event.layer);
  EXPECT_THAT(layers, ElementsAre(log::LAYER_PINNED, log::LAYER_PINNED, log::LAYER_STREAM_ORDERED));
}

}  // namespace
}  // namespace memprof::recorder
