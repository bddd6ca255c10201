// How the size of a request depends on the batch.
#include <gtest/gtest.h>

#include <random>

#include "analysis/footprint/footprint.h"

namespace memprof::analysis {
namespace {

TEST(FitSizeTest, FindsTheLawThatMadeTheNumbers) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t fixed = random() % 1'000'000, unit = 1 + random() % 100'000,
                        square = 300 + random() % 1000;
    const auto at = [&](std::uint64_t b, bool line, bool parabola) {
      return fixed + (line ? unit * b : 0) + (parabola ? square * b * b : 0);
    };
    std::vector<std::uint64_t> sizes = {2, 4, 7, 16};
    std::shuffle(sizes.begin(), sizes.end(), random);
    for (const auto& [line, parabola, growth] :
         {std::tuple{false, false, Growth::kConstant}, std::tuple{true, false, Growth::kLinear},
          std::tuple{true, true, Growth::kQuadratic},
          std::tuple{false, true, Growth::kQuadratic}}) {
      std::vector<SizeObservation> seen;
      for (const std::uint64_t b : sizes) seen.push_back({b, at(b, line, parabola)});
      const SizeModel model = FitSize(seen);
      ASSERT_EQ(model.growth, growth);
      EXPECT_NEAR(static_cast<double>(model.At(100)), static_cast<double>(at(100, line, parabola)),
                  1);
      EXPECT_NEAR(static_cast<double>(model.At(1)), static_cast<double>(at(1, line, parabola)), 1);
    }
  }
}

TEST(FitSizeTest, TwoSizesMakeALineOfWholeBytesFromNothing) {
  EXPECT_EQ(FitSize({{4, 1000}, {8, 1400}}).growth, Growth::kLinear);
  EXPECT_EQ(FitSize({{4, 1000}, {8, 1400}}).At(16), 2200u);
  EXPECT_EQ(FitSize({{4, 400}, {8, 800}}).growth, Growth::kLinear);  // no constant part
  // a fraction of a byte for each unit
  EXPECT_EQ(FitSize({{4, 1000}, {8, 1401}}).growth, Growth::kIrregular);
  // a negative constant part
  EXPECT_EQ(FitSize({{4, 399}, {8, 800}}).growth, Growth::kIrregular);
  EXPECT_EQ(FitSize({{8, 1400}, {4, 1000}}).At(6), 1200u);
  EXPECT_EQ(FitSize({{4, 1000}}).growth, Growth::kUnknown);
  EXPECT_EQ(FitSize({{4, 1000}, {4, 2000}}).growth, Growth::kUnknown);
  EXPECT_EQ(FitSize({{4, 1000}, {4, 2000}}).At(77), 1500u);
}

TEST(FitSizeTest, RoundedSizesAreStillLines) {
  std::vector<SizeObservation> seen;
  for (const std::uint64_t b : {3u, 5u, 9u, 20u})
    seen.push_back({b, (b * 12'345 + 511) / 512 * 512});
  EXPECT_EQ(FitSize(seen).growth, Growth::kLinear);
  EXPECT_NEAR(static_cast<double>(FitSize(seen).At(40)), 40 * 12'345.0, 1024);
}

TEST(FitSizeTest, WithoutALawItGoesFromPointToPoint) {
  const SizeModel model = FitSize({{10, 5000}, {20, 20'000}, {30, 10'000}, {40, 12'000}});
  EXPECT_EQ(model.growth, Growth::kIrregular);
  EXPECT_EQ(model.At(10), 5000u);
  EXPECT_EQ(model.At(15), 12'500u);
  EXPECT_EQ(model.At(25), 15'000u);
  EXPECT_EQ(model.At(50), 14'000u);
  EXPECT_EQ(model.At(1), 1u);  // the line would be negative here
  // Growth that slows down is not accepted, although a parabola fits three points.
  EXPECT_EQ(FitSize({{10, 100'000}, {20, 150'000}, {40, 180'000}}).growth, Growth::kIrregular);
}

}  // namespace
}  // namespace memprof::analysis
