// PyTorch's snapshots as logs: what each part of a snapshot becomes, on snapshots made by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "analysis/interchange/internal/pickle_writer.h"
#include "tests/analysis/interchange/snapshot_maker.h"
#include "tests/analysis/interchange/toy_allocator.h"
#include "tests/support/load_log.h"

namespace memprof::analysis {
namespace {

using testing::CountOf;
using testing::Events;
using testing::ImportAndLoad;
using testing::Of;
using testing::SnapshotMaker;

TEST(MadeSnapshotTest, SeveralDevicesMergeByTime) {
  SnapshotMaker maker;
  maker.Segments();
  maker.Traces([&] {
    maker.Trace([&] { maker.Action("segment_alloc", 0x100000, 4096, 1'000'005); });
    maker.Trace([] {});
    maker.Trace([&] {
      maker.Action("segment_alloc", 0x100000, 8192, 1'000'000);
      maker.Action("segment_free", 0x100000, 8192, 1'000'009);
    });
  });
  ImportSummary summary;
  const auto session = ImportAndLoad(maker.Finish(), &summary);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(summary.devices, 2u);
  EXPECT_EQ(session->devices().size(), 2u);
  const auto segments = Of(*session, Layer::kSegment);
  ASSERT_EQ(segments.size(), 2u);
  EXPECT_EQ(segments[0].device, 2);
  EXPECT_EQ(segments[0].death_time, 1'000'009'000u);
  EXPECT_EQ(segments[1].device, 0);
  // The first device's segment is not in the state at the end: gone without a trace.
  EXPECT_EQ(CountOf(*session, log::Anomaly::kTraceContradictions), 1u);
  EXPECT_FALSE(segments[1].alive());
}

TEST(MadeSnapshotTest, MetadataStepsAndRanges) {
  SnapshotMaker maker;
  maker.Segments();
  maker.Traces([&] {
    maker.Trace([&] {
      maker.Action("segment_alloc", 0x100000, 2 << 20, 10);
      maker.Action("alloc", 0x100000, 512, 11, [&] { maker.Text("user_metadata", "warm-up"); });
      maker.Action("alloc", 0x100200, 512, 12, [&] {
        maker.out().Key("user_metadata");
        maker.out().BeginDict();
        maker.Text("phase", "fit");
        maker.Number("epoch", 3);
        maker.out().EndDict();
      });
      maker.Action("alloc", 0x100400, 512, 13, [&] { maker.Text("compile_context", "0/1"); });
      maker.Action("alloc", 0x100600, 512, 14, [&] { maker.Text("compile_context", "N/A"); });
      maker.Action("snapshot", 0, 0, 15);
      maker.Action("dance", 0, 0, 16);
    });
  });
  maker.out().Key("external_annotations");
  maker.out().BeginList();
  maker.Annotation("ProfilerStep#7", "START", 10);
  maker.Annotation("forward", "START", 11);
  maker.Annotation("forward", "START", 12);  // of another thread
  maker.Annotation("forward", "END", 13);
  maker.Annotation("ProfilerStep#7", "END", 14);
  maker.Annotation("forward", "END", 15);
  maker.Annotation("nothing", "END", 15);
  maker.out().EndList();
  const auto session = ImportAndLoad(maker.Finish());
  ASSERT_NE(session, nullptr);
  std::vector<std::string> labels;
  for (const Allocation& block : Of(*session, Layer::kBlock))
    labels.emplace_back(session->string(StringId(session->events().label(block.birth.value))));
  EXPECT_THAT(labels, ::testing::ElementsAre("warm-up", "phase=fit, epoch=3", "0/1", ""));
  ASSERT_EQ(session->snapshots().size(), 1u);
  EXPECT_EQ(session->snapshots()[0].label, "torch.cuda.memory._snapshot()");
  ASSERT_EQ(session->steps().size(), 1u);
  EXPECT_EQ(session->steps()[0].number, 7);
  ASSERT_EQ(session->ranges().size(), 2u);
  EXPECT_EQ(session->ranges()[0].end, 15'000u);
  EXPECT_EQ(session->ranges()[1].end, 13'000u);
  EXPECT_EQ(CountOf(*session, log::Anomaly::kRangesUnbalanced), 1u);
  EXPECT_EQ(CountOf(*session, log::Anomaly::kEventsUnknown), 1u);
}

TEST(MadeSnapshotTest, SettingsArePartOfTheHeader) {
  SnapshotMaker maker;
  maker.Segments();
  maker.out().Key("allocator_settings");
  maker.out().BeginDict();
  maker.Text("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:64");
  maker.out().Key("trace_alloc_overflowed");
  maker.out().Bool(true);
  maker.out().EndDict();
  ImportSummary summary;
  const auto session = ImportAndLoad(maker.Finish(), &summary, "a/b.pickle");
  ASSERT_NE(session, nullptr);
  EXPECT_THAT(session->run().environment,
              ::testing::ElementsAre("PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64"));
  EXPECT_EQ(session->run().executable, "PyTorch memory snapshot a/b.pickle");
  EXPECT_TRUE(summary.overflowed);
  EXPECT_TRUE(session->events().empty());
}

// The pool of a graph or of the user, and a block that waits for a stream at the end.
TEST(MadeSnapshotTest, PoolsAndPendingBlocksOfAStateWithoutATrace) {
  SnapshotMaker maker;
  maker.Segments([&] {
    maker.out().Item();
    maker.out().BeginDict();
    maker.Number("device", 0);
    maker.Number("address", 0x100000);
    maker.Number("total_size", 2 << 20);
    maker.Number("stream", 5);
    maker.out().Key("segment_pool_id");
    maker.out().Pair(3, 9);
    maker.out().Key("blocks");
    maker.out().BeginList();
    for (const std::string state : {"active_allocated", "inactive", "active_pending_free"}) {
      maker.out().Item();
      maker.out().BeginDict();
      maker.Number("size", 1024);  // as before 2.1: no address
      maker.Text("state", state);
      maker.out().EndDict();
    }
    maker.out().EndList();
    maker.out().EndDict();
  });
  ImportSummary summary;
  const auto session = ImportAndLoad(maker.Finish(), &summary);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(summary.blocks_before, 2u);
  const auto segments = Of(*session, Layer::kSegment);
  ASSERT_EQ(segments.size(), 1u);
  EXPECT_EQ(session->events().aux1(segments[0].birth.value), 3ull << 32 | 9);
  const auto blocks = Of(*session, Layer::kBlock);
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[1].address, 0x100000u + 2048);
  EXPECT_EQ(blocks[1].stream, 5u);
  const auto requests = Events(*session, Op::kFreeRequested);
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(session->events().address(requests[0]), blocks[1].address);
}

// A trace names no pools before 2.9: what is there at the end says it.
TEST(MadeSnapshotTest, ASegmentOfTheTraceHasThePoolOfTheState) {
  SnapshotMaker maker;
  maker.Segments([&] {
    maker.out().Item();
    maker.out().BeginDict();
    maker.Number("device", 0);
    maker.Number("address", 0x100000);
    maker.Number("total_size", 2 << 20);
    maker.out().Key("segment_pool_id");
    maker.out().Pair(3, 9);
    maker.out().EndDict();
  });
  maker.Traces([&] { maker.Trace([&] { maker.Action("segment_alloc", 0x100000, 2 << 20, 10); }); });
  const auto session = ImportAndLoad(maker.Finish());
  ASSERT_NE(session, nullptr);
  const auto segments = Of(*session, Layer::kSegment);
  ASSERT_EQ(segments.size(), 1u);
  EXPECT_EQ(session->events().aux1(segments[0].birth.value), 3ull << 32 | 9);
}

// Before 2.0 a snapshot was a list of segments, and a block named its history.
TEST(MadeSnapshotTest, TheOldList) {
  std::string bytes;
  PickleWriter out([&bytes](std::string_view piece) {
    bytes += piece;
    return true;
  });
  out.BeginList();
  out.Item();
  out.BeginDict();
  for (const auto& [key, value] : std::map<std::string, std::uint64_t>{
           {"device", 1}, {"address", 0x200000}, {"total_size", 2 << 20}}) {
    out.Key(key);
    out.Integer(value);
  }
  out.Key("blocks");
  out.BeginList();
  out.Item();
  out.BeginDict();
  out.Key("size");
  out.Integer(1024);
  out.Key("state");
  out.Text("active_allocated");
  out.Key("history");
  out.BeginList();
  out.Item();
  out.BeginDict();
  out.Key("real_size");
  out.Integer(1000);
  out.EndDict();
  out.EndList();
  out.EndDict();
  out.EndList();
  out.EndDict();
  out.EndList();
  ASSERT_TRUE(out.Finish());
  const auto session = ImportAndLoad(bytes);
  ASSERT_NE(session, nullptr);
  const auto blocks = Of(*session, Layer::kBlock);
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks[0].device, 1);
  EXPECT_EQ(blocks[0].requested, 1000u);
}

TEST(MadeSnapshotTest, WithoutTimesActionsAreAMicrosecondApart) {
  SnapshotMaker maker;
  maker.Segments();
  maker.Traces([&] {
    maker.Trace([&] {
      maker.Action("segment_alloc", 0x100000, 4096, 0);
      maker.Action("free", 0x100000, 512, 0);  // as viewers merge both halves
      maker.Action("segment_free", 0x100000, 4096, 0);
    });
  });
  const auto session = ImportAndLoad(maker.Finish());
  ASSERT_NE(session, nullptr);
  const auto segments = Of(*session, Layer::kSegment);
  ASSERT_EQ(segments.size(), 1u);
  EXPECT_EQ(segments[0].death_time - segments[0].birth_time, 3000u);
  EXPECT_EQ(Of(*session, Layer::kBlock).size(), 1u);
  EXPECT_TRUE(Events(*session, Op::kFreeRequested).empty());
}

TEST(MadeSnapshotTest, AClockThatStepsBackIsHeld) {
  SnapshotMaker maker;
  maker.Segments();
  maker.Traces([&] {
    maker.Trace([&] {
      maker.Action("segment_alloc", 0x100000, 4096, 500);
      maker.Action("segment_free", 0x100000, 4096, 400);
    });
  });
  const auto session = ImportAndLoad(maker.Finish());
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(CountOf(*session, log::Anomaly::kClockSteps), 1u);
  EXPECT_EQ(Of(*session, Layer::kSegment)[0].death_time, 500'000u);
}

}  // namespace
}  // namespace memprof::analysis
