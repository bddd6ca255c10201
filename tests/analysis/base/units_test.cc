// Sizes, times and counts as text, at the borders between units.
#include "analysis/base/units.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

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

// Reading back differs by less than half of the third digit, and preserves the order.
TEST(UnitsTest, ThreeDigitsAreRight) {
  const auto read_back = [](const std::string& text) {
    const double factors[] = {1, 0x1p10, 0x1p20, 0x1p30, 0x1p40, 0x1p50, 0x1p60};
    const std::string units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    const std::size_t space = text.find(' ');
    const auto unit = std::find(std::begin(units), std::end(units), text.substr(space + 1));
    EXPECT_NE(unit, std::end(units)) << text;
    return std::stod(text.substr(0, space)) * factors[unit - std::begin(units)];
  };
  std::mt19937_64 random(8);
  std::vector<std::uint64_t> sizes = {1};
  for (int bit = 0; bit < 64; ++bit)
    for (const int offset : {-1, 0, 1}) sizes.push_back((std::uint64_t{1} << bit) + offset);
  for (int i = 0; i < 2000; ++i) sizes.push_back(random() >> (random() % 64));
  std::sort(sizes.begin(), sizes.end());
  double last = 0;
  for (const std::uint64_t bytes : sizes) {
    const std::string text = FormatBytes(bytes);
    const double back = read_back(text), exact = static_cast<double>(bytes);
    EXPECT_NEAR(back, exact, exact * 0.00501) << bytes << " is printed as " << text;
    EXPECT_GE(back, last) << text;
    EXPECT_LE(text.find(' '), 4u) << text;
    last = back;
  }
}

TEST(UnitsTest, DurationsAtTheBordersOfUnits) {
  EXPECT_EQ(FormatDuration(999'499), "999 us");
  EXPECT_EQ(FormatDuration(999'500), "1.00 ms");
  EXPECT_EQ(FormatDuration(999'500'000), "1.00 s");
  EXPECT_EQ(FormatDuration(99'499'999'999), "99.5 s");
  EXPECT_EQ(FormatDuration(99'500'000'000), "1 min 40 s");
  EXPECT_EQ(FormatDuration(3'599'499'999'999), "59 min 59 s");
  EXPECT_EQ(FormatDuration(3'599'500'000'000), "1 h 00 min");
  EXPECT_EQ(FormatDuration(~std::uint64_t{0}), "5124095 h 34 min");  // possible in a damaged log
}

TEST(UnitsTest, TicksOfAnAxisAreExact) {
  EXPECT_EQ(FormatByteTick(0, 1), "0");
  EXPECT_EQ(FormatByteTick(0x1p30 * 1.125, 0x1p27), "1.125 GiB");
  EXPECT_EQ(FormatByteTick(0x1p23, 0x1p22), "8 MiB");
  EXPECT_EQ(FormatInstant(2'500'000'000, 500'000'000), "2.5 s");
  EXPECT_EQ(FormatInstant(1'200, 100), "1.2 us");
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
