// How PyTorch's reports become blocks and segments.
#include "libmemprof/src/torch/layer.h"

#include <algorithm>
#include <thread>

#include "libmemprof/src/recording/chosen_pools.h"
#include "tests/libmemprof/events/recorded_driver.h"
#include "tests/libmemprof/torch/layer_fixture.h"

namespace memprof::recorder {
namespace {

using ::testing::ElementsAre;
using testing::Event;
using testing::Log;

TEST_F(TorchLayerTest, ABlockMakesTheMemoryBelowItASegment) {
  Start();
  const CUdeviceptr other = Memory(5 * kMiB);  // memory of another library
  const CUdeviceptr base = Segment(2 * kMiB);
  Report(base, 512);
  Report(base + 512, 1024);
  Report(base, -512);
  Report(base + 512, -1024);
  Call("cuMemFree_v2", base);
  Call("cuMemFree_v2", other);
  const Log log = Finish();
  EXPECT_THAT(
      Events(log),
      ElementsAre(
          Begun(log::LAYER_LINEAR, other, 5 * kMiB), Begun(log::LAYER_LINEAR, base, 2 * kMiB),
          Begun(log::LAYER_SEGMENT, base, 2 * kMiB), Begun(log::LAYER_BLOCK, base, 512),
          Begun(log::LAYER_BLOCK, base + 512, 1024), Ended(log::LAYER_BLOCK, base, 512),
          Ended(log::LAYER_BLOCK, base + 512, 1024), Ended(log::LAYER_SEGMENT, base, 2 * kMiB),
          Ended(log::LAYER_LINEAR, base, 0), Ended(log::LAYER_LINEAR, other, 0)));
  EXPECT_EQ(Differences(log), 0u);
}

TEST_F(TorchLayerTest, ASegmentHasTimeStackAndNameOfTheCallThatMadeIt) {
  Start();
  driver_.free_bytes = 0;
  const CUdeviceptr base = Segment(2 * kMiB);
  Report(base, 512);
  const Log log = Finish();
  const std::vector<Event> begun = log.WithOp(log::OP_ALLOC);
  ASSERT_EQ(begun.size(), 3u);
  EXPECT_EQ(begun[1].layer, log::LAYER_SEGMENT);
  EXPECT_EQ(begun[1].stack != 0, kTestStacks);
  EXPECT_EQ(begun[2].stack != 0, kTestStacks);
  EXPECT_EQ(begun[1].stack, begun[0].stack);
  EXPECT_EQ(begun[1].api, begun[0].api);
  EXPECT_GE(begun[1].time_ns, begun[0].time_ns);
  EXPECT_LE(begun[1].time_ns, begun[2].time_ns);
  EXPECT_EQ(begun[1].device, 0);
  EXPECT_EQ(begun[2].device, 0);
  EXPECT_EQ(begun[2].aux0, 0u) << "the requested size is not known";
}

// The allocator keeps a pool for each stream: what a segment keeps is not for the others.
TEST_F(TorchLayerTest, ASegmentHasTheStreamOfItsFirstBlock) {
  Start();
  const CUdeviceptr base = Segment(2 * kMiB);
  {
    EntryGuard guard;
    ASSERT_NE(BoundState(guard.slot()), nullptr);
    TheTorchLayer()->Report(guard.slot(), {base, 512, 512, reserved_, true, 77}, 0);
  }
  const std::vector<Event> begun = Finish().WithOp(log::OP_ALLOC);
  ASSERT_EQ(begun.size(), 3u);
  EXPECT_EQ(begun[1].layer, log::LAYER_SEGMENT);
  EXPECT_EQ(begun[1].stream, 77u);
  EXPECT_EQ(begun[2].stream, 77u);
}

TEST_F(TorchLayerTest, PagesOfAnExpandableSegmentAreSegments) {
  Start();
  constexpr CUdeviceptr kBase = 0x7e0000000000;
  std::vector<CUmemGenericAllocationHandle> handles;
  for (int i = 0; i < 3; ++i) handles.push_back(Map(kBase + i * 2 * kMiB, 2 * kMiB));
  reserved_ = 4 * kMiB;
  // Only two of the three pages belong to the allocator.
  Report(kBase, static_cast<std::int64_t>(3 * kMiB));
  EXPECT_EQ(Framework(testing::ReadLog((memprof_flush(), path_))).size(), 3u);
  reserved_ = 6 * kMiB;
  Report(kBase + 4 * kMiB, 512);
  Report(kBase + 4 * kMiB, -512);
  Unmap(kBase + 4 * kMiB, 2 * kMiB, handles[2]);
  reserved_ = 4 * kMiB;
  Report(kBase, -static_cast<std::int64_t>(3 * kMiB));
  Unmap(kBase, 4 * kMiB, handles[0]);
  const Log log = Finish();
  std::uint64_t live = 0, most = 0;
  for (const ShortEvent& event : Framework(log)) {
    if (event.layer != log::LAYER_SEGMENT) continue;
    live += event.op == log::OP_ALLOC ? event.bytes : 0 - event.bytes;
    most = std::max(most, live);
  }
  EXPECT_EQ(most, 6 * kMiB);
  EXPECT_EQ(live, 0u);
  EXPECT_EQ(Differences(log), 0u);
}

TEST_F(TorchLayerTest, PagesMappedInVainStayWithTheAllocator) {
  Start();
  constexpr CUdeviceptr kBase = 0x7e0000000000;
  Map(0x7d0000000000, 64 * kMiB);  // memory of another library
  Map(kBase, 2 * kMiB);
  Map(kBase + 2 * kMiB, 2 * kMiB);
  reserved_ = 4 * kMiB;  // mapped for a block that then did not fit
  OutOfMemory(1 << 30);
  Report(kBase, 512);
  const Log log = Finish();
  EXPECT_THAT(Framework(log),
              ::testing::UnorderedElementsAre(Begun(log::LAYER_SEGMENT, kBase, 2 * kMiB),
                                              Begun(log::LAYER_SEGMENT, kBase + 2 * kMiB, 2 * kMiB),
                                              Begun(log::LAYER_BLOCK, kBase, 512)));
  const std::vector<Event> failed = log.WithOp(log::OP_FRAMEWORK_OOM);
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed[0].bytes, 1u << 30);
  EXPECT_EQ(failed[0].aux0, 0u);
  EXPECT_EQ(failed[0].aux1, 4 * kMiB);
  EXPECT_EQ(failed[0].device, 0);
  EXPECT_EQ(Differences(log), 0u);
}

TEST_F(TorchLayerTest, OldVersionsReportNoTotalsAndTheirSegmentsAreFoundAllTheSame) {
  Start();
  const CUdeviceptr first = Memory(2 * kMiB);
  Old(first, 512);
  const CUdeviceptr second = Memory(20 * kMiB);
  Old(second, 1024);
  Old(first + 512, 512);
  Old(second, -1024);
  Call("cuMemFree_v2", second);
  const Log log = Finish();
  EXPECT_THAT(
      Framework(log),
      ElementsAre(Begun(log::LAYER_SEGMENT, first, 2 * kMiB), Begun(log::LAYER_BLOCK, first, 512),
                  Begun(log::LAYER_SEGMENT, second, 20 * kMiB),
                  Begun(log::LAYER_BLOCK, second, 1024), Begun(log::LAYER_BLOCK, first + 512, 512),
                  Ended(log::LAYER_BLOCK, second, 1024),
                  Ended(log::LAYER_SEGMENT, second, 20 * kMiB)));
  EXPECT_EQ(Differences(log), 0u);
}

TEST_F(TorchLayerTest, APoolThatUsesAPartOfItsMemoryHasASegmentOfThatPart) {
  Start();
  const CUdeviceptr base = Memory(32 * kMiB);
  reserved_ = 20 * kMiB;
  Report(base, static_cast<std::int64_t>(20 * kMiB));
  const Log log = Finish();
  EXPECT_THAT(Framework(log), ElementsAre(Begun(log::LAYER_SEGMENT, base, 20 * kMiB),
                                          Begun(log::LAYER_BLOCK, base, 20 * kMiB)));
  EXPECT_EQ(Differences(log), 0u);
}

TEST_F(TorchLayerTest, ASegmentThatCannotBeFreedLivesOn) {
  Start();
  const CUdeviceptr base = Segment(2 * kMiB);
  Report(base, 512);
  Report(base, -512);
  Answer(CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Call("cuMemFree_v2", base), CUDA_ERROR_INVALID_VALUE);
  Answer(CUDA_SUCCESS);
  Report(base, 512);
  const Log log = Finish();
  EXPECT_THAT(
      Framework(log),
      ElementsAre(Begun(log::LAYER_SEGMENT, base, 2 * kMiB), Begun(log::LAYER_BLOCK, base, 512),
                  Ended(log::LAYER_BLOCK, base, 512), Ended(log::LAYER_SEGMENT, base, 2 * kMiB),
                  Begun(log::LAYER_SEGMENT, base, 2 * kMiB), Begun(log::LAYER_BLOCK, base, 512)));
  EXPECT_EQ(Differences(log), 0u);
}

TEST_F(TorchLayerTest, WhatIsAllocatedFromAChosenPoolHasItsNumber) {
  Start();
  ChosenPools& chosen = BoundState(&CurrentThread())->chosen_pools;
  const auto take = [this] { Report(Segment(2 * kMiB), 512); };
  take();
  chosen.Begin({.pool = 1, .device = 0, .captures = false});
  take();
  chosen.Begin({.pool = 2, .device = 0, .captures = false});
  chosen.Begin({.pool = 3, .device = 1, .captures = false});  // another device's
  chosen.Begin({.pool = 4, .device = 0, .captures = true});   // no stream is being captured
  take();
  std::thread(take).join();  // another thread's allocations are not concerned
  chosen.End(0, 2);
  take();
  chosen.End(0, 2);  // has ended
  chosen.End(0, 1);
  take();
  chosen.End(1, 3);
  chosen.End(0, 4);
  Log log = Finish();
  std::stable_sort(log.events.begin(), log.events.end(), [](const Event& a, const Event& b) {
    return a.time_ns < b.time_ns;  // of both threads
  });
  for (const log::Layer layer : {log::LAYER_SEGMENT, log::LAYER_BLOCK}) {
    std::vector<std::uint64_t> pools;
    for (const Event& event : log.events)
      if (event.op == log::OP_ALLOC && event.layer == layer) pools.push_back(event.aux1);
    EXPECT_THAT(pools, ElementsAre(0, 1, 2, 0, 1, 0));
  }
  EXPECT_EQ(Differences(log), 0u);
}

TEST_F(TorchLayerTest, OfManyChosenPoolsTheOldestIsForgotten) {
  ChosenPools chosen;
  for (std::uint64_t pool = 1; pool <= ChosenPools::kMost + 1; ++pool)
    chosen.Begin({.pool = pool, .device = 0, .captures = false});
  ASSERT_EQ(chosen.size(), ChosenPools::kMost);
  EXPECT_EQ(chosen[0].pool, 2u);
  chosen.End(0, 1);
  EXPECT_EQ(chosen.size(), ChosenPools::kMost);
  for (std::uint64_t pool = 2; pool <= ChosenPools::kMost + 1; ++pool) chosen.End(0, pool);
  EXPECT_EQ(chosen.size(), 0u);
}

TEST_F(TorchLayerTest, AResetDeviceBeginsAnew) {
  Start();
  const CUdeviceptr base = Segment(2 * kMiB);
  Report(base, 512);
  Call("cuDevicePrimaryCtxReset_v2", 0);
  allocated_ = reserved_ = 0;
  const CUdeviceptr fresh = Segment(4 * kMiB);
  Report(fresh, 1024);
  const Log log = Finish();
  EXPECT_EQ(Differences(log), 0u);
  EXPECT_EQ(Framework(log).back(), Begun(log::LAYER_BLOCK, fresh, 1024));
}

}  // namespace
}  // namespace memprof::recorder
