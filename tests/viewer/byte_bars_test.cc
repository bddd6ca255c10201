// Bars of bytes on a common scale, without a window.
#include "viewer/geometry/byte_bars.h"

#include <gtest/gtest.h>

#include <random>

namespace memprof::viewer {
namespace {

ByteBarPart Part(std::uint64_t bytes) {
  ByteBarPart part;
  part.bytes = bytes;
  return part;
}

TEST(ByteBars, PartsAreToScaleSideBySide) {
  ByteBar bar;
  bar.parts = {Part(30), Part(0), Part(50)};
  const auto rects = LayOutParts(bar, QRectF(10, 5, 200, 12), 100, 2);
  ASSERT_EQ(rects.size(), 3u);
  EXPECT_EQ(rects[0], QRectF(10, 5, 60, 12));
  EXPECT_EQ(rects[1].width(), 0);
  EXPECT_EQ(rects[2], QRectF(70, 5, 100, 12));
  EXPECT_EQ(bar.bytes(), 80u);
}

TEST(ByteBars, SmallPartsAreSeenAndTheWidestPays) {
  ByteBar bar;
  bar.parts = {Part(1), Part(1'000'000), Part(1)};
  const auto rects = LayOutParts(bar, QRectF(0, 0, 300, 10), 1'000'002, 2);
  EXPECT_DOUBLE_EQ(rects[0].width(), 2);
  EXPECT_DOUBLE_EQ(rects[2].width(), 2);
  EXPECT_NEAR(rects[2].right(), 300, 0.01);
}

TEST(ByteBars, NeverOverlapNorLeaveTheAreaOnRandomParts) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    ByteBar bar;
    for (std::uint64_t i = random() % 9; i-- > 0;)
      bar.parts.push_back(Part(random() % 3 == 0 ? 0 : random() % (1ull << (random() % 40))));
    const std::uint64_t whole = std::max<std::uint64_t>(1, bar.bytes() + random() % 1000);
    const auto rects = LayOutParts(bar, QRectF(7, 0, 500, 10), whole, 2);
    double x = 7;
    for (std::size_t i = 0; i < rects.size(); ++i) {
      EXPECT_DOUBLE_EQ(rects[i].left(), x);
      EXPECT_GE(rects[i].width(), bar.parts[i].bytes > 0 ? 2 - 1e-9 : 0);
      x = rects[i].right();
    }
    EXPECT_LE(x, 507.01 + 2.0 * static_cast<double>(rects.size()));
  }
}

TEST(ByteBars, ManyPartsBecomeTheLargestAndTheRest) {
  std::vector<ByteBarPart> parts = {Part(5), Part(0), Part(40), Part(10), Part(7)};
  const auto top = TopParts(parts, 2, QStringLiteral("%1 others"));
  ASSERT_EQ(top.size(), 3u);
  EXPECT_EQ(top[0].bytes, 40u);
  EXPECT_EQ(top[0].index, 0);
  EXPECT_EQ(top[1].index, 1);
  EXPECT_EQ(top[2].bytes, 12u);
  EXPECT_EQ(top[2].name, QStringLiteral("2 others"));
  EXPECT_EQ(top[2].index, -1);
  EXPECT_EQ(TopParts(parts, 9, QStringLiteral("%1")).size(), 4u);
}

TEST(ByteBars, TheLargestBarIsTheScale) {
  EXPECT_EQ(LargestBar({}), 1u);
  ByteBar a, b;
  a.parts = {Part(5), Part(6)};
  b.parts = {Part(10)};
  const std::vector<ByteBar> bars = {a, b};
  EXPECT_EQ(LargestBar(bars), 11u);
}

}  // namespace
}  // namespace memprof::viewer
