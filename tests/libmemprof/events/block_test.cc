// What is known about a block when it is freed, and about a call without a context or an output.

#include "tests/libmemprof/events/recorded_driver.h"

namespace memprof::recorder {
namespace {

using ::testing::ElementsAre;
using testing::Event;
using ::testing::IsEmpty;

using Hooks = HooksTest;

TEST_F(Hooks, PitchAndWidthAreBesideThePitchedBytes) {
  Start();
  CUdeviceptr pointer = 0;
  std::size_t pitch = 0;
  Call("cuMemAllocPitch_v2", &pointer, &pitch, std::size_t{600}, std::size_t{9}, 4u);
  const Event event = Finish().WithOp(log::OP_ALLOC).at(0);
  EXPECT_EQ(event.aux0, 1024u);
  EXPECT_EQ(event.aux1, 600u);
}

// One function frees several kinds of memory: the event states the kind of the block.
TEST_F(Hooks, AFreeCarriesTheLayerOfItsBlock) {
  Start();
  CUdeviceptr linear = 0, pitched = 0, managed = 0, pooled = 0, other = 0;
  std::size_t pitch = 0;
  Call("cuMemAlloc_v2", &linear, std::size_t{1});
  Call("cuMemAllocPitch_v2", &pitched, &pitch, std::size_t{1}, std::size_t{1}, 4u);
  Call("cuMemAllocManaged", &managed, std::size_t{1}, 1u);
  Call("cuMemAllocAsync", &pooled, std::size_t{1}, kStream);
  Call("cuMemAlloc_v2", &other, std::size_t{1});
  for (const CUdeviceptr pointer : {managed, pooled, pitched, linear})
    Call("cuMemFree_v2", pointer);
  Call("cuMemFreeAsync", other, kStream);
  EXPECT_EQ(Stats().live_bytes, 0u);
  const testing::Log log = Finish();
  std::vector<log::Layer> layers;
  for (const Event& event : log.WithOp(log::OP_FREE)) layers.push_back(event.layer);
  EXPECT_THAT(layers, ElementsAre(log::LAYER_MANAGED, log::LAYER_STREAM_ORDERED, log::LAYER_PITCHED,
                                  log::LAYER_LINEAR, log::LAYER_LINEAR));
  EXPECT_EQ(log.counters.at("frees_of_other_family"), 2u) << "pooled, and the last";
}

TEST_F(Hooks, AFailedFreeLeavesTheBlockAlive) {
  Start();
  CUdeviceptr managed = 0;
  Call("cuMemAllocManaged", &managed, std::size_t{100}, 1u);
  Answer(CUDA_ERROR_DEINITIALIZED);
  Call("cuMemFree_v2", managed);
  const struct memprof_stats stats = Stats();
  EXPECT_EQ(stats.live_bytes, 100u);
  EXPECT_EQ(stats.frees, 0u);
  const testing::Log log = Finish();
  for (const log::Op op : {log::OP_ALLOC, log::OP_FREE, log::OP_FREE_FAILED})
    EXPECT_EQ(log.WithOp(op).at(0).layer, log::LAYER_MANAGED);
}

TEST_F(Hooks, WhereTheDriverSaysSoAFreeIsOnTheBlocksDevice) {
  Start();
  CUdeviceptr first = 0, second = 0;
  Call("cuMemAlloc_v2", &first, std::size_t{1});
  driver_.current = driver_.primary[1];
  driver_.device = 1;
  Call("cuMemAlloc_v2", &second, std::size_t{2});
  driver_.device_of[first] = 0;  // the driver does not know the device of `second`
  Call("cuMemFree_v2", first);
  Call("cuMemFree_v2", second);
  const testing::Log log = Finish();
  const std::vector<Event> frees = log.WithOp(log::OP_FREE);
  EXPECT_EQ(frees[0].device, 0);
  EXPECT_EQ(frees[1].device, 1) << "the current one";
  EXPECT_EQ(log.devices.at(0).name(), "Fake 0");
  EXPECT_EQ(log.devices.at(1).name(), "Fake 1");
  EXPECT_EQ(log.devices.at(1).capacity_bytes(), driver_.total_bytes);
  EXPECT_EQ(log.devices.at(1).free_at_start_bytes(), driver_.free_bytes);
  EXPECT_TRUE(log.devices.at(1).uses_system_memory());
  EXPECT_FALSE(log.devices.at(0).uses_system_memory());
  EXPECT_EQ(log.devices.at(1).multiprocessors(), 84u);
  EXPECT_EQ(log.devices.at(1).threads_per_multiprocessor(), 1536u);
  EXPECT_EQ(log.devices.at(1).uuid(), std::string(16, 'b'));
  EXPECT_EQ(log.devices.at(1).driver_version(), 12040u);
  EXPECT_FALSE(log.devices.at(1).simulated());
}

TEST_F(Hooks, WithoutACurrentContextThereIsNoDevice) {
  Start();
  driver_.current = nullptr;
  Answer(CUDA_ERROR_INVALID_CONTEXT);
  CUdeviceptr pointer = 0;
  Call("cuMemAlloc_v2", &pointer, std::size_t{8});
  const testing::Log log = Finish();
  ASSERT_EQ(log.events.size(), 1u);
  EXPECT_EQ(log.events[0].device, -1);
  EXPECT_EQ(log.events[0].context, 0u);
  EXPECT_EQ(log.events[0].aux0 + log.events[0].aux1, 0u) << "no free memory is known";
  EXPECT_THAT(log.contexts, IsEmpty());
}

TEST_F(Hooks, ANullOutputIsTheDriversBusiness) {
  Start();
  Answer(CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Call("cuMemAlloc_v2", static_cast<CUdeviceptr*>(nullptr), std::size_t{8}),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Call("cuArrayCreate_v2", static_cast<CUarray*>(nullptr),
                 static_cast<const CUDA_ARRAY_DESCRIPTOR*>(nullptr)),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Call("cuMipmappedArrayCreate", static_cast<CUmipmappedArray*>(nullptr),
                 static_cast<const CUDA_ARRAY3D_DESCRIPTOR*>(nullptr), 3u),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Finish().WithOp(log::OP_ALLOC_FAILED).size(), 3u);
}

}  // namespace
}  // namespace memprof::recorder
