// The part of a byte axis that is shown.
#include "viewer/geometry/byte_window.h"

#include <gtest/gtest.h>

#include <random>

#include "viewer/geometry/axis.h"

namespace memprof::viewer {
namespace {

constexpr std::uint64_t kTop = 1'000'000;

TEST(ByteWindow, IsOrderedAndCut) {
  EXPECT_EQ(MakeByteWindow(700, 200, kTop), (ByteWindow{200, 700}));
  EXPECT_EQ(MakeByteWindow(-50, 2e9, kTop), (ByteWindow{0, kTop}));
  EXPECT_EQ(MakeByteWindow(500, 500, kTop).high - MakeByteWindow(500, 500, kTop).low, 64u);
  EXPECT_EQ(MakeByteWindow(3, 4, 10), (ByteWindow{0, 10}));
  EXPECT_EQ(MakeByteWindow(0, 0, 0), (ByteWindow{0, 1}));
}

TEST(ByteWindow, ZoomKeepsTheAnchorAndPanTheHeight) {
  const ByteWindow all{0, kTop};
  EXPECT_EQ(ZoomBytes(all, 400'000, 0.5, kTop), (ByteWindow{200'000, 700'000}));
  EXPECT_EQ(ZoomBytes({200'000, 700'000}, 400'000, 2, kTop), all);
  EXPECT_EQ(PanBytes({200'000, 700'000}, 100'000, kTop), (ByteWindow{300'000, 800'000}));
  EXPECT_EQ(PanBytes({200'000, 700'000}, 1e9, kTop), (ByteWindow{500'000, kTop}));
  EXPECT_EQ(PanBytes({200'000, 700'000}, -1e9, kTop), (ByteWindow{0, 500'000}));
}

// Also at the ends of what a log may claim, and its ticks end.
TEST(ByteWindow, IsAlwaysInside) {
  std::mt19937_64 random(1);
  for (const std::uint64_t top :
       {std::uint64_t{1}, std::uint64_t{100}, kTop, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    ByteWindow window{0, top};
    for (int i = 0; i < 2000; ++i) {
      const double share = static_cast<double>(random() % 1000) / 999;
      const double at = static_cast<double>(window.low) + window.span() * share;
      window = random() % 3 == 0 ? PanBytes(window, (share - 0.5) * 3 * window.span(), top)
                                 : ZoomBytes(window, at, random() % 2 == 0 ? 0.3 : 1.9, top);
      ASSERT_LT(window.low, window.high);
      ASSERT_LE(window.high, top);
      const auto ticks = ByteTicks({window.high, 500, 500, window.low}, 40);
      ASSERT_LE(ticks.size(), 14u);
      for (const Tick& tick : ticks) {
        ASSERT_GE(tick.position, -0.1);
        ASSERT_LE(tick.position, 500.1);
      }
    }
  }
}

}  // namespace
}  // namespace memprof::viewer
