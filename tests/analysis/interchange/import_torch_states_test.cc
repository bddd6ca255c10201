// Information of the allocator's state that the trace does not contain.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "analysis/interchange/internal/pickle_writer.h"
#include "tests/analysis/interchange/snapshot_maker.h"
#include "tests/analysis/interchange/toy_allocator.h"

namespace memprof::analysis {
namespace {

using testing::Events;
using testing::ImportAndLoad;
using testing::Of;
using testing::SnapshotMaker;

class PendingBlock : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Releases, PendingBlock,
                         ::testing::Values("active_pending_free", "active_awaiting_free"));

// The pool of a graph or of the user, and a block that still waits for a stream at the end.
TEST_P(PendingBlock, OfAStateWithoutATraceWithItsPool) {
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
    for (const std::string state :
         {std::string("active_allocated"), std::string("inactive"), GetParam()}) {
      maker.out().Item();
      maker.out().BeginDict();
      maker.Number("size", 1024);  // as before version 2.1: no address
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

// Traces before version 2.9 do not name pools; the final state does.
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

// Before version 2.0 a snapshot was a list of segments, and each block had its history.
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

}  // namespace
}  // namespace memprof::analysis
