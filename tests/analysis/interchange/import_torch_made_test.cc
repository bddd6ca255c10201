// PyTorch's snapshots as logs: how each part of a snapshot is converted, on snapshots made by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  // The first device's segment is not in the final state, and the trace does not free it.
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
  maker.Annotation("forward", "START", 12);  // from another thread
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

TEST(MadeSnapshotTest, WithoutTimesActionsAreAMicrosecondApart) {
  SnapshotMaker maker;
  maker.Segments();
  maker.Traces([&] {
    maker.Trace([&] {
      maker.Action("segment_alloc", 0x100000, 4096, 0);
      maker.Action("free", 0x100000, 512, 0);  // as viewers join the two parts of a free
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
