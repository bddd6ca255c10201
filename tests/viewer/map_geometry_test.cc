// Positions of segments and blocks on the screen.
#include "viewer/geometry/map_geometry.h"

#include <gtest/gtest.h>

namespace memprof::viewer {
namespace {

using analysis::AddressMap;
using analysis::AllocationId;
using analysis::MapSegment;

// Segments of the given sizes; each has a block of a quarter, then a hole, then a block.
AddressMap MakeMap(const std::vector<std::uint64_t>& sizes) {
  AddressMap map;
  std::uint64_t address = 0x1000;
  std::uint32_t id = 0;
  for (const std::uint64_t size : sizes) {
    MapSegment segment;
    segment.address = address;
    segment.bytes = size;
    segment.framework = true;
    segment.allocation = AllocationId(1000 + id);
    segment.pieces = {{address, size / 4, AllocationId(id)},
                      {address + size / 4, size / 2, {}},
                      {address + size / 4 * 3, size - size / 4 * 3, AllocationId(id + 1)}};
    id += 2;
    map.segments.push_back(segment);
    address += size * 2;
  }
  return map;
}

MapLayoutOptions Room(double width, double height) {
  MapLayoutOptions options;
  options.left = 100;
  options.width = width;
  options.height = height;
  return options;
}

TEST(MapLayout, BarsOfASegmentHoldAllOfIt) {
  const AddressMap map = MakeMap({1 << 20, 64 << 20, 2 << 20});
  const MapLayout layout = LayOutMap(map, Room(800, 500));
  std::vector<std::uint64_t> bytes(3, 0);
  for (const MapBar& bar : layout.bars) {
    const auto segment = static_cast<std::size_t>(bar.segment);
    EXPECT_EQ(bar.offset, bytes[segment]) << "parts follow each other";
    bytes[segment] += bar.bytes;
    EXPECT_GE(bar.rect.left(), 100);
    EXPECT_LE(bar.rect.right(), 900.5);
  }
  EXPECT_EQ(bytes, (std::vector<std::uint64_t>{1 << 20, 64 << 20, 2 << 20}));
  EXPECT_LE(layout.content_height, 500.01) << "large segments wrap to fill the view, not more";
  EXPECT_GT(layout.line_begin.size(), 3u) << "and wrap here";
}

TEST(MapLayout, BarsDoNotOverlap) {
  for (const int count : {1, 5, 40, 300}) {
    std::vector<std::uint64_t> sizes;
    for (int i = 0; i < count; ++i) sizes.push_back((1u + static_cast<unsigned>(i) % 7u) << 20);
    const AddressMap map = MakeMap(sizes);
    const MapLayout layout = LayOutMap(map, Room(700, 400));
    for (std::size_t i = 1; i < layout.bars.size(); ++i) {
      const MapBar& before = layout.bars[i - 1];
      const MapBar& bar = layout.bars[i];
      if (before.line == bar.line) {
        ASSERT_GE(bar.rect.left(), before.rect.right());
      } else {
        ASSERT_GE(bar.rect.top(), before.rect.bottom());
      }
    }
    if (count == 40) {
      EXPECT_LE(layout.content_height, 400.01) << "short segments share lines";
    }
  }
}

TEST(MapLayout, UsesTheViewWhateverTheSegmentsAre) {
  // Many small segments beside two large ones: one scale for all would waste space.
  std::vector<std::uint64_t> sizes(43, 2 << 20);
  sizes[5] = sizes[9] = 20 << 20;
  const AddressMap map = MakeMap(sizes);
  for (const auto& [width, height] : {std::pair{820.0, 560.0}, std::pair{1800.0, 1200.0}}) {
    const MapLayout layout = LayOutMap(map, Room(width, height));
    double used = 0;
    for (const MapBar& bar : layout.bars) used += bar.rect.width() * bar.rect.height();
    EXPECT_LE(layout.content_height, height + 0.01);
    EXPECT_GT(used, 0.6 * width * height) << width << " x " << height;
  }
}

TEST(MapLayout, ALineForEachSegmentWhereSharingWouldGainNothing) {
  const AddressMap map = MakeMap({8 << 20, 8 << 20, 8 << 20});
  const MapLayout layout = LayOutMap(map, Room(800, 100));
  ASSERT_EQ(layout.line_begin.size(), 3u);
  for (const MapBar& bar : layout.bars) {
    EXPECT_TRUE(bar.first);
    EXPECT_DOUBLE_EQ(bar.rect.left(), 100);
  }
}

TEST(MapLayout, ZoomShowsFewerBytesAPixelAndScrolls) {
  const AddressMap map = MakeMap({8 << 20, 32 << 20, 5 << 20});
  MapLayoutOptions options = Room(640, 300);
  const MapLayout all = LayOutMap(map, options);
  options.zoom = 8;
  const MapLayout close = LayOutMap(map, options);
  EXPECT_NEAR(close.bytes_per_pixel, all.bytes_per_pixel / 8, all.bytes_per_pixel * 1e-9);
  EXPECT_GT(close.content_height, 300);
}

TEST(MapLayout, FarTooManySegmentsScroll) {
  const AddressMap map = MakeMap(std::vector<std::uint64_t>(20'000, 1 << 20));
  const MapLayout layout = LayOutMap(map, Room(640, 300));
  EXPECT_EQ(layout.bars.size(), 20'000u) << "no segment is skipped";
  EXPECT_GT(layout.content_height, 300);
  for (const MapBar& bar : layout.bars) ASSERT_GE(bar.rect.width(), 3 - 1e-9);
}

TEST(MapLayout, OfNothingIsEmpty) {
  EXPECT_TRUE(LayOutMap({}, Room(800, 400)).bars.empty());
  EXPECT_TRUE(LayOutMap(MakeMap({1024}), Room(0, 400)).bars.empty());
}

TEST(MapHit, FindsEveryPieceWhereItIsDrawn) {
  const AddressMap map = MakeMap({8 << 20, 32 << 20, 5 << 20, 1 << 20});
  const MapLayout layout = LayOutMap(map, Room(640, 300));
  int found = 0;
  for (const MapBar& bar : layout.bars) {
    const MapSegment& segment = map.segments[static_cast<std::size_t>(bar.segment)];
    for (std::size_t p = 0; p < segment.pieces.size(); ++p) {
      const auto rect = PieceRect(bar, segment, segment.pieces[p]);
      if (!rect.has_value() || rect->width() < 1) continue;
      const auto hit = HitTest(map, layout, rect->center());
      ASSERT_TRUE(hit.has_value());
      EXPECT_EQ(hit->segment, bar.segment);
      EXPECT_EQ(hit->piece, static_cast<int>(p));
      ++found;
    }
  }
  EXPECT_GE(found, 12);
  EXPECT_FALSE(HitTest(map, layout, {10, 10}).has_value()) << "in the labels";
  EXPECT_FALSE(HitTest(map, layout, {200, layout.content_height + 50}).has_value());
}

TEST(MapFind, LargestHoleAndAllocations) {
  AddressMap map = MakeMap({8 << 20, 32 << 20, 5 << 20});
  const auto hole = FindLargestHole(map);
  ASSERT_TRUE(hole.has_value());
  EXPECT_EQ(hole->segment, 1);
  EXPECT_EQ(hole->piece, 1);
  map.segments[1].framework = false;  // free space of a plain driver allocation is not a hole
  EXPECT_EQ(FindLargestHole(map)->segment, 0);
  EXPECT_EQ(FindAllocation(map, AllocationId(5))->segment, 2);
  EXPECT_EQ(FindAllocation(map, AllocationId(5))->piece, 2);
  EXPECT_EQ(FindAllocation(map, AllocationId(1002))->piece, -1) << "a segment itself";
  EXPECT_FALSE(FindAllocation(map, AllocationId(77)).has_value());
  EXPECT_FALSE(FindAllocation(map, {}).has_value());
  EXPECT_FALSE(FindLargestHole({}).has_value());
}

}  // namespace
}  // namespace memprof::viewer
