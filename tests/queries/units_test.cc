// Sizes, times and counts in words, at the borders between units.
#include "analysis/units.h"

#include <gtest/gtest.h>

namespace memprof::analysis {
namespace {

TEST(UnitsTest, Bytes) {
  EXPECT_EQ(FormatBytes(std::uint64_t{0}), "0 B");
  EXPECT_EQ(FormatBytes(std::uint64_t{1023}), "1023 B");
  EXPECT_EQ(FormatBytes(std::uint64_t{1024}), "1.00 KiB");
  EXPECT_EQ(FormatBytes(std::uint64_t{4} << 20), "4.00 MiB");
  EXPECT_EQ(FormatBytes((std::uint64_t{1} << 30) - 1), "1.00 GiB");
  EXPECT_EQ(FormatBytes(std::uint64_t{10} << 30), "10.0 GiB");
  EXPECT_EQ(FormatBytes(std::uint64_t{999} << 20), "999 MiB");
  EXPECT_EQ(FormatBytes(~std::uint64_t{0}), "16.0 EiB");
  EXPECT_EQ(FormatBytes(0.5), "0.5 B");
  EXPECT_EQ(FormatBytes(-2048.0), "-2.00 KiB");
}

TEST(UnitsTest, Duration) {
  EXPECT_EQ(FormatDuration(0), "0 ns");
  EXPECT_EQ(FormatDuration(999), "999 ns");
  EXPECT_EQ(FormatDuration(1000), "1.00 us");
  EXPECT_EQ(FormatDuration(999'999), "1.00 ms");
  EXPECT_EQ(FormatDuration(12'345'678), "12.3 ms");
  EXPECT_EQ(FormatDuration(99'400'000'000), "99.4 s");
  EXPECT_EQ(FormatDuration(125'000'000'000), "2 min 05 s");
  EXPECT_EQ(FormatDuration(3'720'000'000'000), "1 h 02 min");
}

TEST(UnitsTest, Counts) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1000), "1,000");
  EXPECT_EQ(FormatCount(1234567), "1,234,567");
  EXPECT_EQ(FormatNumberOf(1, "step"), "1 step");
  EXPECT_EQ(FormatNumberOf(0, "step"), "0 steps");
  EXPECT_EQ(FormatNumberOf(2, "entry", "entries"), "2 entries");
}

}  // namespace
}  // namespace memprof::analysis
