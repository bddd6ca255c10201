// Files that are not snapshots of PyTorch or are malicious, and how formats are recognised.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "analysis/interchange/internal/pickle_writer.h"
#include "analysis/report/report.h"
#include "tests/analysis/interchange/snapshot_maker.h"
#include "tests/analysis/interchange/toy_allocator.h"
#include "tests/support/load_log.h"

namespace memprof::analysis {
namespace {

using testing::CountOf;
using ::testing::HasSubstr;
using testing::ImportAndLoad;
using testing::ImportStatus;
using testing::ReadData;
using testing::SnapshotMaker;

TEST(HostileSnapshotTest, WhatIsNoSnapshot) {
  std::string bytes;
  PickleWriter out([&bytes](std::string_view piece) {
    bytes += piece;
    return true;
  });
  out.Text("hello");
  ASSERT_TRUE(out.Finish());
  EXPECT_THAT(ImportStatus(bytes).message(), HasSubstr("no memory snapshot of PyTorch"));
  SnapshotMaker maker;
  maker.Segments([&] {
    maker.out().Item();
    maker.out().BeginDict();
    maker.Number("device", 1'000'000'000'000);
    maker.Number("total_size", 1);
    maker.out().EndDict();
  });
  EXPECT_THAT(ImportStatus(maker.Finish()).message(), HasSubstr("lies on device 1000000000000"));
  SnapshotMaker text;
  text.Segments([&] {
    text.out().Item();
    text.out().Text("segment");
  });
  EXPECT_THAT(ImportStatus(text.Finish()).message(), HasSubstr("a segment is no dictionary"));
}

// A small file that names the same action a million times.
TEST(HostileSnapshotTest, RepetitionThroughTheMemo) {
  SnapshotMaker maker;
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
    SnapshotMaker maker;
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
