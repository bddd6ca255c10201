// PyTorch's snapshots as logs: two real ones against what they say of themselves, a toy allocator
// whose truth is known, and files that mean no good.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/address_map.h"
#include "analysis/pickle_writer.h"
#include "analysis/report.h"
#include "analysis/symbols.h"
#include "tests/interchange/toy_allocator.h"

namespace memprof::analysis {
namespace {

using ::testing::HasSubstr;
using testing::ImportAndLoad;
using testing::ImportStatus;
using testing::ReadData;
using testing::ToyAllocator;
using testing::ToyOptions;

std::uint64_t CountOf(const Session& session, log::Anomaly anomaly) {
  for (const AnomalyCount& count : session.anomalies())
    if (count.anomaly == anomaly) return count.count;
  return 0;
}

std::vector<Allocation> Of(const Session& session, Layer layer) {
  std::vector<Allocation> found;
  for (const Allocation& a : session.allocations())
    if (a.layer == layer) found.push_back(a);
  return found;
}

std::vector<std::size_t> Events(const Session& session, Op op, Layer layer = Layer::kUnspecified) {
  std::vector<std::size_t> found;
  for (std::size_t e = 0; e < session.events().size(); ++e)
    if (session.events().op(e) == op &&
        (layer == Layer::kUnspecified || session.events().layer(e) == layer))
      found.push_back(e);
  return found;
}

// Figures are sums over the file itself: total_size, active_size and requested_size of its
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
  EXPECT_TRUE(session->snapshots().empty());  // nothing was there before: no mark
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
  EXPECT_TRUE(Events(*session, Op::kFreeRequested).empty());  // all were freed at once

  const auto failed = Events(*session, Op::kAllocFailed), oom = Events(*session, Op::kFrameworkOom);
  ASSERT_EQ(failed.size(), 1u);
  ASSERT_EQ(oom.size(), 1u);
  EXPECT_EQ(session->events().bytes(oom[0]), 4'398'046'511'104u);
  EXPECT_EQ(session->events().aux0(oom[0]), 0u);  // allocated: all was freed
  EXPECT_EQ(session->events().aux1(oom[0]), 0u);
  EXPECT_EQ(session->events().aux0(failed[0]), 85'899'345'920u);  // device_free
  EXPECT_EQ(session->events().result(failed[0]), 2u);
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

// What each allocator held after each action, from the lifetimes of the imported log.
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

  // Actions of one instant cannot be told apart by time: compare where time moves on.
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
    // Pages of an expandable segment are one segment to its allocator, and blocks lie across them.
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
  // A free that had to wait is marked where it was asked for.
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

// Snapshots made by hand.
class Maker {
 public:
  Maker()
      : out_([this](std::string_view piece) {
          bytes_ += piece;
          return true;
        }) {
    out_.BeginDict();
  }
  PickleWriter& out() { return out_; }
  void Segments(const std::function<void()>& items = [] {}) {
    out_.Key("segments");
    out_.BeginList();
    items();
    out_.EndList();
  }
  void Traces(const std::function<void()>& items) {
    out_.Key("device_traces");
    out_.BeginList();
    items();
    out_.EndList();
  }
  void Trace(const std::function<void()>& items) {
    out_.Item();
    out_.BeginList();
    items();
    out_.EndList();
  }
  void Action(
      const std::string& action, std::uint64_t address, std::uint64_t bytes, std::uint64_t time_us,
      const std::function<void()>& more = [] {}) {
    out_.Item();
    out_.BeginDict();
    out_.Key("action");
    out_.Text(action);
    Number(action == "oom" ? "device_free" : "addr", address);
    Number("size", bytes);
    Number("stream", 0);
    Number("time_us", time_us);
    more();
    out_.EndDict();
  }
  void Number(const std::string& key, std::uint64_t value) {
    out_.Key(key);
    out_.Integer(value);
  }
  void Text(const std::string& key, const std::string& value) {
    out_.Key(key);
    out_.Text(value);
  }
  void Annotation(const std::string& name, const std::string& stage, std::uint64_t time_us) {
    out_.Item();
    out_.BeginDict();
    Text("name", name);
    Text("stage", stage);
    Number("device", 0);
    Number("time_us", time_us);
    out_.EndDict();
  }
  std::string Finish() {
    out_.EndDict();
    EXPECT_TRUE(out_.Finish());
    return bytes_;
  }

 private:
  std::string bytes_;
  PickleWriter out_;
};

TEST(MadeSnapshotTest, SeveralDevicesMergeByTime) {
  Maker maker;
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
  Maker maker;
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
  Maker maker;
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
  Maker maker;
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
  Maker maker;
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
  Maker maker;
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
  Maker maker;
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

TEST(HostileSnapshotTest, WhatIsNoSnapshot) {
  std::string bytes;
  PickleWriter out([&bytes](std::string_view piece) {
    bytes += piece;
    return true;
  });
  out.Text("hello");
  ASSERT_TRUE(out.Finish());
  EXPECT_THAT(ImportStatus(bytes).message(), HasSubstr("no memory snapshot of PyTorch"));
  Maker maker;
  maker.Segments([&] {
    maker.out().Item();
    maker.out().BeginDict();
    maker.Number("device", 1'000'000'000'000);
    maker.Number("total_size", 1);
    maker.out().EndDict();
  });
  EXPECT_THAT(ImportStatus(maker.Finish()).message(), HasSubstr("lies on device 1000000000000"));
  Maker text;
  text.Segments([&] {
    text.out().Item();
    text.out().Text("segment");
  });
  EXPECT_THAT(ImportStatus(text.Finish()).message(), HasSubstr("a segment is no dictionary"));
}

// A few bytes that name the same action a million times.
TEST(HostileSnapshotTest, RepetitionThroughTheMemo) {
  Maker maker;
  maker.Segments();
  std::uint32_t slot = 0;
  maker.Traces([&] {
    maker.Trace([&] {
      maker.out().Item();
      maker.out().BeginDict();
      slot = maker.out().Memoize();
      maker.Text("action", "alloc");
      maker.out().EndDict();
      for (int i = 0; i < 1000; ++i) {
        maker.out().Item();
        maker.out().Get(slot);
      }
    });
  });
  EXPECT_THAT(ImportStatus(maker.Finish()).message(),
              HasSubstr("names more actions than it holds"));
}

TEST(HostileSnapshotTest, NumbersAtTheirLimits) {
  const std::uint64_t numbers[] = {0, 1, 511, 1ull << 40, 1ull << 63, ~0ull - 511, ~0ull};
  for (const bool expandable : {false, true}) {
    Maker maker;
    maker.Segments();
    maker.Traces([&] {
      maker.Trace([&] {
        for (const std::uint64_t address : numbers) {
          for (const std::uint64_t bytes : numbers) {
            maker.Action(expandable ? "segment_map" : "segment_alloc", address, bytes, address);
            maker.Action("alloc", address, bytes, bytes);
            maker.Action("free_requested", address / 2, bytes, bytes);
            maker.Action("free_completed", address, bytes, bytes);
            maker.Action("oom", address, bytes, bytes);
            maker.Action(expandable ? "segment_unmap" : "segment_free", address, bytes / 2, bytes);
          }
        }
      });
    });
    const auto session = ImportAndLoad(maker.Finish());
    ASSERT_NE(session, nullptr);
    BuildReport(*session);  // does not crash
    EXPECT_GT(CountOf(*session, log::Anomaly::kTraceContradictions), 0u);
  }
}

TEST(FormatTest, IsSeenFromTheContents) {
  EXPECT_EQ(DetectFormat(ReadData("torch_snapshot_oom.pickle")), ImportFormat::kTorchSnapshot);
  EXPECT_EQ(DetectFormat("Thread,Time,Action,Pointer,Size,Stream\n"), ImportFormat::kRmmCsv);
  EXPECT_EQ(DetectFormat("1,00:00:00.0,allocate failure,0x0,1,0"), ImportFormat::kRmmCsv);
  EXPECT_EQ(DetectFormat("a,b,c,d,e,f\n"), ImportFormat::kUnknown);
  const std::pair<std::string, std::string> refused[] = {
      {"", "is empty"},
      {"\x80", "is neither"},
      {"MEMPROF\nxxxx", "is a memprof log already"},
      {"PK\x03\x04", "not by torch.save()"},
      {"\x1f\x8b\x08", "unpack it first"},
      {"\x28\xb5\x2f\xfd", "unpack it first"},
      {"{\"json\": 1}", "is neither a PyTorch memory snapshot (a pickle) nor an RMM log (CSV)"}};
  for (const auto& [bytes, message] : refused)
    EXPECT_THAT(ImportStatus(bytes).message(), HasSubstr(message));
}

}  // namespace
}  // namespace memprof::analysis
