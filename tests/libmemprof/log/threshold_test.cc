// Threshold sampling against sums over all.
#include "libmemprof/src/log/internal/threshold.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace memprof::recorder {
namespace {

double Expected(const std::vector<std::uint64_t>& sizes, double threshold) {
  double drawn = 0;
  for (const std::uint64_t size : sizes)
    drawn += std::min(
        1.0, static_cast<double>(std::max<std::uint64_t>(size, 1)) / std::max(threshold, 1e-9));
  return drawn;
}

TEST(Threshold, DrawsAsManyAsMay) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::uint64_t> sizes(1 + random() % 3000);
    const int spread = static_cast<int>(random() % 40);
    for (std::uint64_t& size : sizes) size = random() >> (63 - random() % (spread + 1));
    ThresholdFinder finder;
    for (const std::uint64_t size : sizes) finder.Add(size);
    for (const double most : {0.01, 0.7, 3.0, 50.0, 1000.0}) {
      const double threshold = finder.For(most);
      const double drawn = Expected(sizes, threshold);
      if (threshold == 0) {
        EXPECT_LE(static_cast<double>(sizes.size()), most);
      } else {
        EXPECT_LE(drawn, most * 1.0001 + 1e-6);
        EXPECT_GE(drawn, most * 0.75 - 1) << sizes.size() << " " << most << " " << threshold;
      }
    }
  }
}

TEST(Threshold, EmptyDrawsNothing) { EXPECT_EQ(ThresholdFinder().For(0), 0); }

TEST(Threshold, WeightsAreTheInverseOfChances) {
  EXPECT_EQ(WeightAt(0, 512), 0u);
  EXPECT_EQ(WeightAt(512, 512), 0u);
  EXPECT_NEAR(WeightAt(5120, 512), 2560, 1);
  EXPECT_NEAR(WeightAt(1000, 0), 256000, 1);
  EXPECT_EQ(WeightAt(1e30, 1), ~std::uint32_t{0});
  Draws draws(7);
  for (const std::uint32_t weight : {0u, 256u, 257u, 300u, 2560u, 100'000u, 30'000'000u}) {
    const double chance = weight <= 256 ? 1 : 256.0 / weight;
    const double tries = 4'000'000;
    double drawn = 0;
    for (int i = 0; i < static_cast<int>(tries); ++i) drawn += draws.Draw(weight);
    EXPECT_NEAR(drawn, tries * chance, 4 * std::sqrt(tries * chance * (1 - chance)) + 1e-9)
        << weight;
  }
}

}  // namespace
}  // namespace memprof::recorder
