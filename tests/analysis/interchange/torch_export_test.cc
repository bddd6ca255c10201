// Logs exported as snapshots: the viewer's requirements hold, and importing a snapshot gives the
// original log.
#include "analysis/interchange/torch_export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/pickle/pickle.h"
#include "analysis/report/report.h"
#include "tests/analysis/interchange/torch_export_fixture.h"
#include "tests/analysis/interchange/toy_allocator.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::Export;
using testing::ImportAndLoad;
using testing::LoadLog;
using testing::LogBuilder;
using testing::RandomLog;
using testing::Viewer;

// Contains all kinds of memory: an allocator, raw driver memory, pools and tensors, on two devices.
TEST(TorchExportTest, RandomLogsSatisfyTheViewer) {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    RandomLog random({.seed = seed});
    const auto session = LoadLog(random.builder());
    ASSERT_NE(session, nullptr);
    const std::string exported = Export(session);
    const auto again = ImportAndLoad(exported);
    ASSERT_NE(again, nullptr);
    EXPECT_TRUE(again->anomalies().empty());
    const Report before = BuildReport(*session), after = BuildReport(*again);
    EXPECT_EQ(before.steps, after.steps);
    for (const DeviceFigures& device : before.devices) {
      Viewer viewer(exported);
      viewer.Replay(static_cast<std::size_t>(device.info.id));
      EXPECT_EQ(viewer.ranges(), 0u);  // no memory before the trace
      EXPECT_EQ(viewer.blocks(), 0u);
      for (const DeviceFigures& other : after.devices) {
        if (other.info.id != device.info.id) continue;
        EXPECT_EQ(other.peak_bytes, device.peak_bytes);
        EXPECT_EQ(other.live_bytes, device.live_bytes);
      }
    }
  }
}

TEST(TorchExportTest, DriverMemoryIsASegmentWithOneBlock) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  const int site = log.Stack({"main (a.cc:1)", "Work (a.cc:7)"});
  log.Alloc(Layer::kLinear, 0x10000, 3000, {.stack = site});
  log.Alloc(Layer::kPinned, 0x20000, 100);
  log.Alloc(Layer::kArray, 0x77, 640);
  log.Free(0x10000);
  log.Alloc(Layer::kManaged, 0x30000, 500, {.stack = site, .stream = 9});
  TorchExportSummary summary;
  const std::string bytes = Export(LoadLog(log), &summary);
  EXPECT_EQ(summary.actions, 7u);   // 2 + 3 + 2: pinned memory is not exported
  EXPECT_EQ(summary.left_out, 1u);  // the array
  Viewer viewer(bytes);
  viewer.Replay(0);
  const Pickle pickle = *Pickle::Parse(bytes);
  const auto segments = pickle.Items(pickle.At(pickle.root(), "segments"));
  ASSERT_EQ(segments.size(), 1u);
  const auto blocks = pickle.Items(pickle.At(segments[0], "blocks"));
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(pickle.At(blocks[0], "requested_size").Unsigned(), 500u);
  EXPECT_EQ(pickle.At(segments[0], "segment_type").Text(), "small");
  const auto frames = pickle.Items(pickle.At(blocks[0], "frames"));
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(pickle.At(frames[0], "name").Text(), "Work");
  EXPECT_EQ(pickle.At(frames[0], "filename").Text(), "a.cc");
  EXPECT_EQ(pickle.At(frames[0], "line").Unsigned(), 7u);
}

TEST(TorchExportTest, NamesOfTensorsStepsRangesAndOutOfMemory) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.header().set_start_unix_ns(0);
  log.Step(4);
  log.RangePush("forward");
  log.Alloc(Layer::kLinear, 0x100000, 2 << 20);
  log.Alloc(Layer::kSegment, 0x100000, 2 << 20, {.aux1 = 2ull << 32 | 1});
  log.Alloc(Layer::kBlock, 0x100000, 1024, {.aux0 = 1000});
  log.TensorCreate(0x100000, 1000, log.Tensor("head.weight", "float32", {250}));
  log.AllocFailed(Layer::kLinear, 1 << 30, {.aux0 = 4096});
  log.Event(Op::kFrameworkOom, Layer::kUnspecified, 0, 1 << 29, 0, {.aux0 = 1024});
  log.RangePop();
  const std::string bytes = Export(LoadLog(log));
  const Pickle pickle = *Pickle::Parse(bytes);
  const PickleValue root = pickle.root();
  const auto trace = pickle.Items(pickle.Items(pickle.At(root, "device_traces"))[0]);
  ASSERT_EQ(trace.size(), 3u);
  EXPECT_EQ(pickle.At(trace[0], "action").Text(), "segment_alloc");
  EXPECT_EQ(pickle.At(trace[1], "action").Text(), "alloc");
  EXPECT_EQ(pickle.At(trace[1], "size").Unsigned(), 1000u);
  EXPECT_EQ(pickle.At(trace[1], "user_metadata").Text(), "head.weight");
  EXPECT_EQ(pickle.At(trace[2], "action").Text(), "oom");
  EXPECT_EQ(pickle.At(trace[2], "device_free").Unsigned(), 4096u);
  EXPECT_EQ(pickle.At(trace[2], "size").Unsigned(), 1u << 29);
  const PickleValue segment = pickle.Items(pickle.At(root, "segments"))[0];
  EXPECT_EQ(pickle.At(segment, "allocated_size").Unsigned(), 1024u);
  EXPECT_EQ(pickle.At(segment, "requested_size").Unsigned(), 1000u);
  const auto pool = pickle.Items(pickle.At(segment, "segment_pool_id"));
  EXPECT_EQ(pool[0].Unsigned(), 2u);
  EXPECT_EQ(pool[1].Unsigned(), 1u);
  std::vector<std::string> marks;
  for (const PickleValue mark : pickle.Items(pickle.At(root, "external_annotations")))
    marks.push_back(std::string(pickle.At(mark, "name").Text()) + " " +
                    std::string(pickle.At(mark, "stage").Text()));
  EXPECT_THAT(marks, ::testing::ElementsAre("ProfilerStep#4 START", "forward START", "forward END",
                                            "ProfilerStep#4 END"));
}

// Blocks without a segment, blocks directly in driver memory, and blocks that end with the memory
// below them.
TEST(TorchExportTest, BlocksOfAllKindsLieInSegments) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.Alloc(Layer::kBlock, 0x5000, 512);  // not in any memory
  log.Alloc(Layer::kLinear, 0x100000, 8192);
  log.Alloc(Layer::kBlock, 0x100800, 1024);  // in driver memory
  log.Alloc(Layer::kLinear, 0x200000, 8192);
  log.Alloc(Layer::kSegment, 0x200000, 8192);
  log.Alloc(Layer::kBlock, 0x200000, 1024);
  log.Free(0x200000);                     // also ends the segment and the block
  log.Alloc(Layer::kBlock, 0x5000, 256);  // its free was missed
  const std::string bytes = Export(LoadLog(log));
  Viewer viewer(bytes);
  viewer.Replay(0);
  EXPECT_EQ(viewer.blocks(), 0u);
  EXPECT_EQ(viewer.ranges(), 0u);
  const Pickle pickle = *Pickle::Parse(bytes);
  EXPECT_EQ(pickle.Items(pickle.At(pickle.root(), "segments")).size(), 2u);
}

// Blocks that overlap or extend beyond their segment, as in damaged logs, are cut, because the
// viewer adds sizes.
TEST(TorchExportTest, OverlappingBlocksTileTheirSegment) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.Alloc(Layer::kLinear, 0x100000, 8192);
  log.Alloc(Layer::kSegment, 0x100000, 8192);
  log.Alloc(Layer::kBlock, 0x100000, 4096);
  log.Alloc(Layer::kBlock, 0x100200, 512);   // inside the first
  log.Alloc(Layer::kBlock, 0x100c00, 2048);  // half inside the segment
  const std::string bytes = Export(LoadLog(log));
  const Pickle pickle = *Pickle::Parse(bytes);
  const PickleValue segment = pickle.Items(pickle.At(pickle.root(), "segments"))[0];
  std::vector<std::uint64_t> sizes;
  for (const PickleValue block : pickle.Items(pickle.At(segment, "blocks")))
    sizes.push_back(pickle.At(block, "size").Unsigned());
  EXPECT_THAT(sizes, ::testing::ElementsAre(4096, 1024, 3072));
}

TEST(TorchExportTest, TimesAreOfTheCalendarWhereItIsKnown) {
  for (const std::uint64_t unix_ns : {std::uint64_t{0}, std::uint64_t{1'700'000'000'000'000'000}}) {
    LogBuilder log;
    log.header().set_start_time_ns(1'000'000'000);
    log.header().set_start_unix_ns(unix_ns);
    log.SetTime(3'000'000'000);
    log.Alloc(Layer::kLinear, 0x1000, 512);
    const std::string bytes = Export(LoadLog(log));
    const Pickle pickle = *Pickle::Parse(bytes);
    const auto trace = pickle.Items(pickle.Items(pickle.At(pickle.root(), "device_traces"))[0]);
    EXPECT_EQ(pickle.At(trace[0], "time_us").Unsigned(),
              unix_ns == 0 ? 3'000'000u : unix_ns / 1000 + 2'000'000);
  }
}

TEST(TorchExportTest, AnEmptyLogAndABadSink) {
  LogBuilder log;
  const auto session = LoadLog(log);
  const std::string bytes = Export(session);
  const Pickle pickle = *Pickle::Parse(bytes);
  EXPECT_TRUE(pickle.At(pickle.root(), "segments").is_list());
  EXPECT_TRUE(pickle.At(pickle.root(), "device_traces").is_list());
  Symbols symbols(session);
  TorchExportSummary summary;
  EXPECT_FALSE(ExportTorchSnapshot(
      *session, symbols, [](std::string_view) { return false; }, &summary));
}

TEST(TorchExportTest, SettingsFollowTheEnvironment) {
  LogBuilder log;
  log.header().add_environment(
      "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True,max_split_size_mb:128,x:1");
  const std::string bytes = Export(LoadLog(log));
  const Pickle pickle = *Pickle::Parse(bytes);
  const PickleValue settings = pickle.At(pickle.root(), "allocator_settings");
  EXPECT_TRUE(pickle.At(settings, "expandable_segments").True());
  EXPECT_EQ(pickle.At(settings, "max_split_size").Unsigned(), 128u << 20);
  LogBuilder plain;
  const std::string without = Export(LoadLog(plain));
  const Pickle other = *Pickle::Parse(without);
  EXPECT_EQ(other.At(other.At(other.root(), "allocator_settings"), "max_split_size").Signed(), -1);
}

}  // namespace
}  // namespace memprof::analysis
