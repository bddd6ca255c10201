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

// A block of 512 bytes more than a proportional size, and a range of 1 MiB that has it.
TEST(FitSizeTest, OfRangesTheSimplestLawIsTaken) {
  const auto rounded = [](std::uint64_t b, std::uint64_t bytes) {
    return SizeObservation{b, (bytes + 511) / 512 * 512, (bytes + 511) / 512 * 512 - 511};
  };
  const SizeModel line = FitSize({rounded(2, 24'000), rounded(4, 48'000)});
  EXPECT_EQ(line.growth, Growth::kLinear);
  EXPECT_EQ(line.fixed, 0);
  EXPECT_NEAR(line.per_unit, 12'000, 64);
  EXPECT_EQ(FitSize({{2, 512, 1}, {4, 512, 1}}).growth, Growth::kConstant);
  EXPECT_EQ(FitSize({{2, 4'000'000, 3'000'000}, {4, 3'500'000, 3'499'489}}).At(64), 3'500'000u);
  // Both are possible: the blocks differ, so it grows.
  EXPECT_EQ(FitSize({{2, 4'000'000, 2'000'000}, {4, 5'000'000, 3'500'000}}).fixed, 0);
  const SizeModel offset = FitSize({rounded(2, 1'000'000), rounded(4, 1'100'000)});
  EXPECT_NEAR(static_cast<double>(offset.At(16)), 1'700'000, 16 * 512);
  // What falls keeps its last size.
  const SizeModel falling = FitSize({rounded(2, 100'352), rounded(4, 50'176)});
  EXPECT_EQ(falling.growth, Growth::kIrregular);
  EXPECT_EQ(falling.At(64), 50'176u);
  EXPECT_EQ(falling.At(3), 75'264u);
}

TEST(FitSizeTest, RangesHoldTheLawThatWasFound) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 500; ++round) {
    const std::uint64_t unit = 1 + random() % 1'000'000;
    std::vector<SizeObservation> seen;
    for (const std::uint64_t b : {2u, 4u, 8u}) {
      const std::uint64_t below = random() % 1'000'000;
      seen.push_back({b, unit * b + random() % 1000, unit * b - std::min(unit * b - 1, below)});
    }
    const SizeModel model = FitSize(seen);
    for (const SizeObservation& one : seen) {
      EXPECT_LE(model.At(one.batch), one.bytes + 1);
      EXPECT_GE(model.At(one.batch) + 1, one.least);
    }
  }
}

// Of two laws that are possible, the one of more requests.
TEST(SizeLawsTest, WhatIsKnownLessWellIsTakenToBeLikeTheRest) {
  SizeLaws laws;
  const auto known = [](std::uint64_t unit) {
    return std::vector<SizeObservation>{{2, 2 * unit, 2 * unit - 511},
                                        {4, 4 * unit, 4 * unit - 511}};
  };
  for (const std::uint64_t unit : {602'112u, 602'112u, 589'824u, 300'032u, 300'032u, 300'032u})
    laws.Add(known(unit));
  laws.Add({{2, 1'300'000, 1'000'000}, {4, 2'600'000, 2'000'000}});  // not known itself: no law
  const std::vector<SizeObservation> vague = {{2, 1'250'000, 1'150'000}, {4, 2'500'000, 2'300'000}};
  EXPECT_NEAR(laws.Fit(vague).per_unit, 602'112, 128);
  EXPECT_NEAR(laws.Fit(known(589'824)).per_unit, 589'824, 128);
  EXPECT_EQ(laws.Fit({{2, 9'000'000, 8'000'000}, {4, 18'000'000, 17'000'000}}).growth,
            Growth::kLinear);
}

// Twice a slope that is known, and not the roundest one.
TEST(SizeLawsTest, LargeSlopesAreMultiplesOfKnownOnes) {
  SizeLaws laws;
  laws.Add({{16, 602'112 * 16, 602'112 * 16 - 511}, {32, 602'112 * 32, 602'112 * 32 - 511}});
  const std::vector<SizeObservation> vague = {{16, 77'594'624, 76'546'048},
                                              {32, 155'189'248, 154'140'672}};
  EXPECT_NE(FitSize(vague).per_unit, 8 * 602'112);
  EXPECT_EQ(laws.Fit(vague).per_unit, 8 * 602'112);
}

// 197 rows of 384 columns: their means are 788 bytes for each unit, and neither 768 nor 896.
TEST(SizeLawsTest, SmallSlopesDivideLargeOnes) {
  SizeLaws laws;
  const auto rounded = [](std::uint64_t b, std::uint64_t unit) {
    const std::uint64_t bytes = (b * unit + 511) / 512 * 512;
    return SizeObservation{b, bytes, bytes - 511};
  };
  for (const std::uint64_t columns : {384u, 1536u, 1152u})
    laws.Add({rounded(2, 788 * columns), rounded(4, 788 * columns)});
  EXPECT_EQ(FitSize({rounded(2, 788), rounded(4, 788)}).per_unit, 896);
  EXPECT_EQ(laws.Fit({rounded(2, 788), rounded(4, 788)}).per_unit, 788);
  EXPECT_EQ(laws.Fit({rounded(2, 788 * 384), rounded(4, 788 * 384)}).per_unit, 788 * 384);
}

}  // namespace
}  // namespace memprof::analysis
