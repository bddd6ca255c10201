// VMM memory lives until its handle is released and its last mapping is removed.
#include <gtest/gtest.h>

#include "tests/support/load_log.h"

namespace memprof::analysis {
namespace {

using testing::CountOf;
using testing::LoadLog;
using testing::LogBuilder;

constexpr std::uint64_t kHandle = 0x5, kVa = 0x700000000, kMiB2 = 2u << 20;

void Map(LogBuilder* log, std::uint64_t address, std::uint64_t handle) {
  log->Event(Op::kMap, Layer::kVmmPhysical, address, kMiB2, 0, {.aux0 = handle});
}
void Unmap(LogBuilder* log, std::uint64_t address, std::uint64_t bytes) {
  log->Event(Op::kUnmap, Layer::kVmmPhysical, address, bytes, 0, {});
}

TEST(VmmTest, ReleaseWithoutMappingEndsIt) {
  LogBuilder log;
  log.Alloc(Layer::kVmmPhysical, kHandle, kMiB2);
  log.Free(Layer::kVmmPhysical, kHandle);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->allocations()[0].death, EventId(1));
}

TEST(VmmTest, ReleasedMemoryLivesUntilItsLastUnmap) {
  LogBuilder log;
  log.Alloc(Layer::kVmmAddress, kVa, 16 * kMiB2);
  log.Alloc(Layer::kVmmPhysical, kHandle, kMiB2);
  Map(&log, kVa, kHandle);
  Map(&log, kVa + 4 * kMiB2, kHandle);     // a second mapping
  log.Free(Layer::kVmmPhysical, kHandle);  // event 4: the handle only
  Unmap(&log, kVa, kMiB2);
  Unmap(&log, kVa + 4 * kMiB2, kMiB2);  // event 6
  log.Free(Layer::kVmmAddress, kVa);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const Allocation& memory = session->allocations()[1];
  EXPECT_EQ(memory.death, EventId(6));
  EXPECT_EQ(memory.end_reason, EndReason::kFreed);
  EXPECT_FALSE(session->events().allocation(4).valid());
  EXPECT_EQ(session->events().allocation(6), AllocationId(1));
  EXPECT_EQ(session->allocations()[0].death, EventId(7));
  EXPECT_TRUE(session->anomalies().empty());
}

TEST(VmmTest, UnmappedMemoryLivesUntilItsRelease) {
  LogBuilder log;
  log.Alloc(Layer::kVmmPhysical, kHandle, kMiB2);
  Map(&log, kVa, kHandle);
  Unmap(&log, kVa, kMiB2);
  log.Free(Layer::kVmmPhysical, kHandle);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->allocations()[0].death, EventId(3));
}

TEST(VmmTest, OneUnmapMayCoverSeveralMaps) {
  LogBuilder log;
  for (std::uint64_t i = 0; i < 3; ++i) {
    log.Alloc(Layer::kVmmPhysical, kHandle + i, kMiB2);
    Map(&log, kVa + i * kMiB2, kHandle + i);
    log.Free(Layer::kVmmPhysical, kHandle + i);
  }
  Unmap(&log, kVa, 2 * kMiB2);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->allocations()[0].death, EventId(9));
  EXPECT_EQ(session->allocations()[1].death, EventId(9));
  EXPECT_TRUE(session->allocations()[2].alive());
}

TEST(VmmTest, HandleIsRecycledWhileTheMemoryStaysMapped) {
  LogBuilder log;
  log.Alloc(Layer::kVmmPhysical, kHandle, kMiB2);
  Map(&log, kVa, kHandle);
  log.Free(Layer::kVmmPhysical, kHandle);
  log.Alloc(Layer::kVmmPhysical, kHandle, kMiB2);  // the driver reuses the number
  Map(&log, kVa + kMiB2, kHandle);
  Unmap(&log, kVa, kMiB2);  // event 5: ends the first
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->allocations()[0].death, EventId(5));
  EXPECT_TRUE(session->allocations()[1].alive());
  EXPECT_TRUE(session->anomalies().empty());
}

TEST(VmmTest, MappingOverAMappingEndsTheOlderOne) {
  LogBuilder log;
  log.Alloc(Layer::kVmmPhysical, kHandle, kMiB2);
  log.Alloc(Layer::kVmmPhysical, kHandle + 1, kMiB2);
  Map(&log, kVa, kHandle);
  log.Free(Layer::kVmmPhysical, kHandle);
  Map(&log, kVa, kHandle + 1);  // event 4: the unmap was not recorded
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->allocations()[0].death, EventId(4));
  EXPECT_TRUE(session->allocations()[1].alive());
}

TEST(VmmTest, SegmentsOfMappedMemoryLieInIt) {
  LogBuilder log;
  log.Alloc(Layer::kVmmAddress, kVa, 16 * kMiB2);
  log.Alloc(Layer::kVmmPhysical, kHandle, kMiB2);
  Map(&log, kVa, kHandle);
  log.Alloc(Layer::kSegment, kVa, kMiB2);
  log.Alloc(Layer::kSegment, kVa + kMiB2, kMiB2);  // not mapped: its parent is the reservation
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->allocations()[2].parent, AllocationId(1));
  EXPECT_EQ(session->allocations()[3].parent, AllocationId(0));
}

// An expandable segment is recorded page by page; its blocks may cross page borders.
TEST(VmmTest, ABlockOverSeveralPagesLiesInTheFirst) {
  LogBuilder log;
  for (const std::uint64_t page : {0u, 1u, 3u}) {
    const std::uint64_t address = kVa + page * kMiB2;
    log.Alloc(Layer::kVmmPhysical, kHandle + page, kMiB2);
    Map(&log, address, kHandle + page);
    log.Alloc(Layer::kSegment, address, kMiB2);
  }
  const std::uint64_t last = kVa + 2 * kMiB2 - 512;
  log.Alloc(Layer::kBlock, kVa + kMiB2 - 512, kMiB2 + 512);  // up to the end of the second page
  log.Alloc(Layer::kBlock, last, 1024);                      // extends into unmapped memory
  log.Alloc(Layer::kBlock, kVa + 2 * kMiB2, 512);            // in the gap
  // Adjacent segments from separate driver allocations have no common blocks.
  log.Alloc(Layer::kLinear, 0x1000, 0x1000);
  log.Alloc(Layer::kSegment, 0x1000, 0x1000);
  log.Alloc(Layer::kLinear, 0x2000, 0x1000);
  log.Alloc(Layer::kSegment, 0x2000, 0x1000);
  log.Alloc(Layer::kBlock, 0x1800, 0x1000);
  log.Free(Layer::kSegment, kVa + 3 * kMiB2);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  std::vector<Allocation> blocks;
  for (const Allocation& a : session->allocations())
    if (a.layer == Layer::kBlock) blocks.push_back(a);
  ASSERT_EQ(blocks.size(), 4u);
  ASSERT_TRUE(blocks[0].parent.valid());
  EXPECT_EQ(session->allocation(blocks[0].parent).layer, Layer::kSegment);
  EXPECT_EQ(session->allocation(blocks[0].parent).address, kVa);
  EXPECT_FALSE(blocks[1].parent.valid());
  EXPECT_FALSE(blocks[2].parent.valid());
  EXPECT_FALSE(blocks[3].parent.valid());
}

}  // namespace
}  // namespace memprof::analysis
