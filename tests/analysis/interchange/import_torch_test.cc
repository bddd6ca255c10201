// PyTorch's snapshots as logs: two real ones against their own figures, and a toy allocator whose
// state is known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/leaks/leaks.h"
#include "analysis/report/report.h"
#include "analysis/symbols/symbols.h"
#include "analysis/timeline/address_map.h"
#include "analysis/timeline/ledger.h"
#include "tests/analysis/interchange/snapshot_maker.h"
#include "tests/analysis/interchange/toy_allocator.h"
#include "tests/support/load_log.h"

namespace memprof::analysis {
namespace {

using testing::CountOf;
using testing::Events;
using testing::ImportAndLoad;
using testing::Of;
using testing::ReadData;
using testing::SnapshotMaker;
using testing::ToyAllocator;
using testing::ToyOptions;

// Expected figures are sums over the file: total_size, active_size and requested_size of its
// segments.
TEST(RealSnapshotTest, ATruncatedTraceOfTraining) {
  ImportSummary summary;
  const auto session = ImportAndLoad(ReadData("torch_snapshot_train.pickle"), &summary);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(summary.actions, 15u);
  EXPECT_EQ(summary.segments_before, 6u);
  EXPECT_EQ(summary.blocks_before, 13u);
  EXPECT_EQ(summary.contradictions, 0u);
  EXPECT_EQ(CountOf(*session, log::Anomaly::kTraceTruncated), 19u);
  EXPECT_EQ(CountOf(*session, log::Anomaly::kUnmatchedFrees), 0u);
  EXPECT_EQ(session->run().start_unix_ns, 1'795'232'706'555'495'000u);  // 1 us before the trace

  const Report report = BuildReport(*session);
  ASSERT_EQ(report.devices.size(), 1u);
  const DeviceFigures& device = report.devices[0];
  EXPECT_EQ(device.live_bytes, 62'914'560u);
  EXPECT_EQ(device.peak_bytes, 62'914'560u);
  EXPECT_EQ(device.framework.reserved_bytes, 62'914'560u);
  EXPECT_EQ(device.framework.live_bytes, 37'167'104u);
  EXPECT_EQ(device.framework.live_blocks, 16u);
  std::uint64_t requested = 0;
  for (const Allocation& block : Of(*session, Layer::kBlock)) {
    EXPECT_TRUE(block.parent.valid());
    if (block.alive()) requested += block.requested;
  }
  EXPECT_EQ(requested, 37'165'688u);
  EXPECT_EQ(report.before_attach_blocks, 13u);
}

// A history that began when nearly all was allocated: 78 layers, each with two parameters.
TEST(SnapshotTest, WhatWasThereBeforeDoesNotGrow) {
  SnapshotMaker maker;
  PickleWriter& out = maker.out();
  maker.Segments([&] {
    out.Item();
    out.BeginDict();
    maker.Number("address", 0x7f0000000000);
    maker.Number("total_size", 20 << 20);
    out.Key("blocks");
    out.BeginList();
    for (int i = 0; i < 156; ++i) {
      out.Item();
      out.BeginDict();
      maker.Number("size", i % 2 == 0 ? 36864 : 512);
      maker.Text("state", "active_allocated");
      out.EndDict();
    }
    out.EndList();
    out.EndDict();
  });
  const auto session = ImportAndLoad(maker.Finish());
  ASSERT_NE(session, nullptr);
  const LeakReport report = FindLeaks(*session);
  EXPECT_TRUE(report.leaks.empty());
  EXPECT_TRUE(report.rising.empty());
  EXPECT_THAT(report.verdict, ::testing::HasSubstr("larger max_entries"));
}

TEST(RealSnapshotTest, StacksAreThoseOfTheFile) {
  const auto session = ImportAndLoad(ReadData("torch_snapshot_train.pickle"));
  ASSERT_NE(session, nullptr);
  Symbols symbols(session);
  const auto blocks = Of(*session, Layer::kBlock);
  ASSERT_EQ(blocks.size(), 20u);
  EXPECT_FALSE(blocks[0].stack.valid());  // from before the trace
  const Allocation& first = blocks[13];
  EXPECT_EQ(first.bytes, 20'971'520u);
  EXPECT_EQ(session->StackFrames(first.stack).size(), 32u);  // 34 without the two of the unwinder
  EXPECT_EQ(Symbols::Describe(symbols.Site(first.stack)), "<module> (cu2.py:8)");
}

TEST(RealSnapshotTest, SegmentsStreamsAndAnOutOfMemory) {
  const auto session = ImportAndLoad(ReadData("torch_snapshot_oom.pickle"));
  ASSERT_NE(session, nullptr);
  EXPECT_TRUE(session->anomalies().empty());
  EXPECT_TRUE(session->snapshots().empty());  // no memory before the trace: no mark
  const auto segments = Of(*session, Layer::kSegment);
  ASSERT_EQ(segments.size(), 2u);
  EXPECT_EQ(segments[0].stream, 0u);
  EXPECT_EQ(segments[1].stream, 4112u);
  EXPECT_EQ(segments[1].address, 140'002'994'421'760u);
  for (const Allocation& segment : segments) {
    EXPECT_EQ(segment.bytes, 20'971'520u);
    EXPECT_EQ(segment.end_reason, EndReason::kFreed);
    const Allocation driver = session->allocation(segment.parent);
    EXPECT_EQ(driver.layer, Layer::kLinear);
    EXPECT_EQ(session->string(driver.api), "cudaMalloc");
  }
  EXPECT_EQ(segments[0].birth_time, 1'795'232'709'056'942'000u);
  const auto blocks = Of(*session, Layer::kBlock);
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].death_time, 1'795'232'709'057'152'000u);
  EXPECT_EQ(blocks[0].bytes, 4'194'304u);
  EXPECT_TRUE(Events(*session, Op::kFreeRequested).empty());  // no free had to wait

  const auto failed = Events(*session, Op::kAllocFailed), oom = Events(*session, Op::kFrameworkOom);
  ASSERT_EQ(failed.size(), 1u);
  ASSERT_EQ(oom.size(), 1u);
  EXPECT_EQ(session->events().bytes(oom[0]), 4'398'046'511'104u);
  EXPECT_EQ(session->events().aux0(oom[0]), 0u);  // allocated bytes: none were left
  EXPECT_EQ(session->events().aux1(oom[0]), 0u);
  EXPECT_EQ(session->events().aux0(failed[0]), 85'899'345'920u);  // device_free
  EXPECT_EQ(session->events().result(failed[0]), 2u);
  // The failed request also gives a sample of the device's memory.
  const MemorySamples samples(*session);
  ASSERT_EQ(samples.Of(0).size(), 1u);
  EXPECT_EQ(samples.Of(0)[0].free_bytes, 85'899'345'920u);
  EXPECT_EQ(samples.Of(0)[0].total_bytes, 85'899'345'920u);  // nothing was reserved at that time
}

std::size_t Runs(const testing::ToyState& state, bool expandable) {
  std::size_t runs = 0;
  std::uint64_t end = 0, stream = 0;
  for (const auto& [address, range] : state.ranges) {
    runs += !expandable || address != end || range.stream != stream;
    end = address + range.bytes;
    stream = range.stream;
  }
  return runs;
}

// The memory of each allocator after each action, from the lifetimes of the imported log.
class ToyImportTest : public ::testing::TestWithParam<int> {};

TEST_P(ToyImportTest, TotalsAfterEveryAction) {
  ToyOptions options;
  options.seed = static_cast<std::uint32_t>(GetParam()) + 100;
  options.device = GetParam() % 3;
  options.expandable = GetParam() % 2 == 1;
  const ToyAllocator toy(options);
  ImportSummary summary;
  const auto session = ImportAndLoad(toy.Snapshot(toy.actions().size()), &summary);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(summary.actions, toy.actions().size());
  EXPECT_EQ(summary.contradictions, 0u);
  EXPECT_TRUE(session->anomalies().empty());

  // Actions at one instant have equal times: compare only before the time increases.
  for (std::size_t i = 0; i < toy.actions().size(); ++i) {
    const std::uint64_t time = toy.actions()[i].time_us;
    if (i + 1 < toy.actions().size() && toy.actions()[i + 1].time_us == time) continue;
    std::uint64_t driver = 0, segments = 0, blocks = 0;
    for (const AllocationId id : session->LiveAt(time * 1000)) {
      const AllocationRecord& a = session->record(id);
      EXPECT_EQ(a.device, options.device);
      if (OccupiesDevice(a.layer)) driver += a.bytes;
      if (a.layer == Layer::kSegment) segments += a.bytes;
      if (a.layer == Layer::kBlock) blocks += a.bytes;
    }
    ASSERT_EQ(driver, toy.states()[i + 1].reserved()) << i;
    ASSERT_EQ(segments, toy.states()[i + 1].reserved()) << i;
    ASSERT_EQ(blocks, toy.states()[i + 1].allocated()) << i;
    // Adjacent pages of an expandable segment count as one segment, and blocks may span them.
    const AddressMap map = BuildAddressMap(*session, options.device, time * 1000);
    ASSERT_EQ(map.reserved_bytes, toy.states()[i + 1].reserved()) << i;
    ASSERT_EQ(map.allocated_bytes, toy.states()[i + 1].allocated()) << i;
    ASSERT_EQ(map.segments.size(), Runs(toy.states()[i + 1], options.expandable)) << i;
  }
}

TEST_P(ToyImportTest, EveryBlockHasItsStreamItsStackAndItsSegment) {
  ToyOptions options;
  options.seed = static_cast<std::uint32_t>(GetParam()) + 200;
  options.expandable = GetParam() % 2 == 1;
  const ToyAllocator toy(options);
  const auto session = ImportAndLoad(toy.Snapshot(toy.actions().size()));
  ASSERT_NE(session, nullptr);
  std::vector<const testing::ToyAction*> allocs;
  for (const testing::ToyAction& action : toy.actions())
    if (action.action == "alloc") allocs.push_back(&action);
  const auto blocks = Of(*session, Layer::kBlock);
  ASSERT_EQ(blocks.size(), allocs.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_EQ(blocks[i].address, allocs[i]->address);
    EXPECT_EQ(blocks[i].requested, allocs[i]->bytes);
    EXPECT_EQ(blocks[i].stream, allocs[i]->stream);
    EXPECT_EQ(blocks[i].birth_time, allocs[i]->time_us * 1000);
    ASSERT_TRUE(blocks[i].parent.valid());
    EXPECT_EQ(session->record(blocks[i].parent).layer, Layer::kSegment);
    const auto frames = session->StackFrames(blocks[i].stack);
    ASSERT_EQ(frames.size(), allocs[i]->place == 0 ? 0u : 2u);
    if (frames.empty()) continue;
    EXPECT_EQ(session->string(session->frame(frames[0]).function), "allocate");  // innermost
    EXPECT_EQ(session->frame(frames[0]).line, static_cast<std::uint32_t>(allocs[i]->place));
  }
  // A free that had to wait is marked at the time of the request.
  std::size_t waited = 0;
  for (std::size_t i = 0; i < toy.actions().size(); ++i) {
    const auto& action = toy.actions()[i];
    if (action.action != "free_requested") continue;
    const bool at_once = i + 1 < toy.actions().size() &&
                         toy.actions()[i + 1].action == "free_completed" &&
                         toy.actions()[i + 1].address == action.address &&
                         toy.actions()[i + 1].time_us == action.time_us;
    waited += !at_once;
  }
  EXPECT_GT(waited, 0u);
  EXPECT_EQ(Events(*session, Op::kFreeRequested).size(), waited);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ToyImportTest, ::testing::Range(0, 8));

}  // namespace
}  // namespace memprof::analysis
