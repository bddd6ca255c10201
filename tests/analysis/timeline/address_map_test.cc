// Address maps: pieces cover their segments without gaps, and every byte belongs to its allocation.
#include "analysis/timeline/address_map.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/testing/column.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;
using testing::RandomLog;
using testing::Times;

void ExpectTiles(const AddressMap& map) {
  std::uint64_t reserved = 0, allocated = 0, largest = 0, last = 0;
  for (const MapSegment& segment : map.segments) {
    EXPECT_GE(segment.address, last);
    last = segment.address;
    std::uint64_t cursor = segment.address, free = 0, hole = 0;
    bool after_hole = false;
    for (const MapPiece& piece : segment.pieces) {
      ASSERT_EQ(piece.address, cursor);
      ASSERT_GT(piece.bytes, 0u);
      ASSERT_LE(piece.bytes, segment.bytes);
      EXPECT_FALSE(piece.hole() && after_hole) << "two holes side by side";
      after_hole = piece.hole();
      cursor += piece.bytes;
      if (!piece.hole()) continue;
      free += piece.bytes;
      hole = std::max(hole, piece.bytes);
    }
    EXPECT_EQ(cursor, segment.address + segment.bytes);
    EXPECT_EQ(segment.free_bytes, free);
    EXPECT_EQ(segment.largest_hole, hole);
    reserved += segment.bytes;
    allocated += segment.bytes - free;
    largest = std::max(largest, hole);
  }
  EXPECT_EQ(map.reserved_bytes, reserved);
  EXPECT_EQ(map.allocated_bytes, allocated);
  EXPECT_EQ(map.largest_hole, largest);
}

// The piece of `map` that covers `address`; null if none does.
const MapPiece* Find(const AddressMap& map, std::uint64_t address) {
  for (const MapSegment& segment : map.segments) {
    for (const MapPiece& piece : segment.pieces) {
      if (piece.address <= address && address - piece.address < piece.bytes) return &piece;
    }
  }
  return nullptr;
}

TEST(AddressMapTest, EveryByteIsWhereItsAllocationSays) {
  for (const std::uint32_t seed : {31u, 32u}) {
    RandomLog log({.seed = seed});
    const auto session = LoadLog(log.builder());
    ASSERT_NE(session, nullptr);
    const auto time = Times(session->events());
    for (std::size_t e = 0; e < time.size(); e += 37) {
      for (const int device : {0, 1}) {
        const AddressMap map = BuildAddressMap(*session, device, time[e]);
        ExpectTiles(map);
        std::uint64_t driver = 0, blocks = 0;
        for (std::uint32_t i = 0; i < session->allocations().size(); ++i) {
          const Allocation& a = session->allocations()[i];
          if (!a.AliveAt(time[e]) || a.device != device || a.layer == Layer::kTensor) continue;
          if (OccupiesDevice(a.layer)) driver += a.bytes;
          if (a.layer == Layer::kBlock) blocks += a.bytes;
          const MapPiece* first = Find(map, a.address);
          const MapPiece* last = Find(map, a.address + a.bytes - 1);
          ASSERT_NE(first, nullptr);
          ASSERT_NE(last, nullptr);
          const bool suballocated =
              a.layer == Layer::kSegment || !session->Children(AllocationId(i)).empty();
          if (a.layer == Layer::kBlock || !suballocated) {
            EXPECT_EQ(first->allocation, AllocationId(i));
            EXPECT_EQ(first, last);
            EXPECT_EQ(first->bytes, a.bytes);
          }
        }
        EXPECT_EQ(map.reserved_bytes, driver);
        std::uint64_t in_segments = 0;
        for (const MapSegment& segment : map.segments) {
          if (segment.framework) in_segments += segment.bytes - segment.free_bytes;
        }
        EXPECT_EQ(in_segments, blocks);
      }
    }
  }
}

TEST(AddressMapTest, EmptySegmentIsOneHole) {
  LogBuilder log;
  log.Alloc(Layer::kLinear, 0x10000, 4096);
  log.Alloc(Layer::kSegment, 0x10000, 4096);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const AddressMap map = BuildAddressMap(*session, 0, kForever);
  ASSERT_EQ(map.segments.size(), 1u);
  EXPECT_TRUE(map.segments[0].framework);
  ASSERT_EQ(map.segments[0].pieces.size(), 1u);
  EXPECT_TRUE(map.segments[0].pieces[0].hole());
  EXPECT_EQ(map.largest_hole, 4096u);
  EXPECT_EQ(map.allocated_bytes, 0u);
}

TEST(AddressMapTest, DriverMemoryBesideItsSegmentIsShown) {
  LogBuilder log;
  log.Alloc(Layer::kLinear, 0x10000, 0x3000);
  log.Alloc(Layer::kSegment, 0x11000, 0x1000);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const AddressMap map = BuildAddressMap(*session, 0, kForever);
  ExpectTiles(map);
  ASSERT_EQ(map.segments.size(), 3u);
  EXPECT_EQ(map.reserved_bytes, 0x3000u);
  EXPECT_FALSE(map.segments[0].framework);
  EXPECT_TRUE(map.segments[1].framework);
  EXPECT_EQ(map.segments[2].address, 0x12000u);
}

TEST(AddressMapTest, OverlappingBlocksOfADamagedLogStillTile) {
  LogBuilder log;
  log.Alloc(Layer::kLinear, 0x10000, 0x1000);
  log.Alloc(Layer::kSegment, 0x10000, 0x1000);
  log.Alloc(Layer::kBlock, 0x10200, 0x400);
  log.Alloc(Layer::kBlock, 0x10280, 0x100);  // inside the previous one
  log.Alloc(Layer::kBlock, 0x10400, 0x400);
  log.Alloc(Layer::kBlock, 0x10f00, 0x400);  // extends beyond the segment
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const AddressMap map = BuildAddressMap(*session, 0, kForever);
  ExpectTiles(map);
  EXPECT_EQ(map.segments[0].address, 0x10000u);
  EXPECT_EQ(map.segments[0].bytes, 0x1000u);
}

TEST(AddressMapTest, HandlesAreNotAddresses) {
  LogBuilder log;
  log.Alloc(Layer::kArray, 0x5, 100);
  log.Alloc(Layer::kVmmPhysical, 0x6, 100);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  EXPECT_TRUE(BuildAddressMap(*session, 0, kForever).segments.empty());
}

// One page of an expandable segment: physical memory, its mapping, and the segment of that range.
void AddPage(LogBuilder& log, std::uint64_t address, std::uint64_t bytes, std::uint64_t stream) {
  log.Alloc(Layer::kVmmPhysical, address, bytes);
  log.Event(Op::kMap, Layer::kVmmPhysical, address, bytes, 0, {.aux0 = address});
  log.Alloc(Layer::kSegment, address, bytes, {.stream = stream});
}

TEST(AddressMapTest, AdjoiningPagesOfAStreamAreOneSegment) {
  LogBuilder log;
  for (const auto& [address, stream] :
       {std::pair(0x10000, 0), {0x20000, 0}, {0x30000, 7}, {0x50000, 7}})
    AddPage(log, static_cast<std::uint64_t>(address), 0x10000, static_cast<std::uint64_t>(stream));
  log.Alloc(Layer::kBlock, 0x18000, 0x10000);  // across two pages
  log.Alloc(Layer::kBlock, 0x50000, 0x8000);
  // Segments of separate driver allocations stay separate, adjacent or not.
  log.Alloc(Layer::kLinear, 0x100000, 0x20000);
  log.Alloc(Layer::kSegment, 0x100000, 0x10000);
  log.Alloc(Layer::kSegment, 0x110000, 0x10000);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const AddressMap map = BuildAddressMap(*session, 0, session->events().last_time());
  ExpectTiles(map);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> segments;
  for (const MapSegment& segment : map.segments)
    segments.emplace_back(segment.address, segment.bytes);
  EXPECT_EQ(segments, (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{0x10000, 0x20000},
                                                                            {0x30000, 0x10000},
                                                                            {0x50000, 0x10000},
                                                                            {0x100000, 0x10000},
                                                                            {0x110000, 0x10000}}));
  EXPECT_EQ(map.segments[0].free_bytes, 0x10000u);
  EXPECT_EQ(map.segments[0].largest_hole, 0x8000u);
  EXPECT_EQ(map.allocated_bytes, 0x18000u);
}

}  // namespace
}  // namespace memprof::analysis
