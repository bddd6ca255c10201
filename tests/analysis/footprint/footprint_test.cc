// Predictions against programs with known memory use for any input; and the parts: fits against the
// functions that made the numbers, alignment against an exhaustive search.
#include "analysis/footprint/footprint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/analysis/footprint/footprint_fixture.h"
#include "tests/support/random_log.h"
#include "tests/support/toy_program.h"

namespace memprof::analysis {
namespace {

using testing::Build;
using ::testing::HasSubstr;
using testing::LoadLog;
using testing::LogBuilder;
using testing::Message;
using testing::Record;
using testing::RunToy;
using testing::ToyPeaks;
using testing::ToyProgram;

// Without the largest of three runs only two remain, and a line through them is too low.
TEST(FootprintTest, AChecksRunIsLeftOut) {
  ToyProgram program;
  program.requests = {{.site = 1, .per_square = 100'000, .lives = 5}};
  const auto footprints = Build(program, {4, 8, 12});
  ASSERT_EQ(footprints.size(), 1u);
  const FootprintRun& run = footprints[0].runs()[2];
  EXPECT_EQ(footprints[0].Predict(12).peaks.requested, run.recorded.requested);
  EXPECT_EQ(run.recorded.requested, 14'400'000u);
  EXPECT_EQ(run.check.peaks.requested, 11'200'000u);
}

// The main property: exact predictions for any program of this kind, any allocator and any size.
TEST(FootprintTest, PredictsWhatAProgramTakes) {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    ToyProgram program = ToyProgram::Random(seed);
    program.caching = seed % 3 != 0;
    program.empties = seed % 4 == 1;
    if (program.caching && seed % 2 == 0) {
      program.outside_fixed = 3'000'000;
      program.outside_per_unit = 10'000;
    }
    const auto footprints = Build(program, {4, 8});
    ASSERT_EQ(footprints.size(), 1u);
    EXPECT_FALSE(footprints[0].uncertain());
    EXPECT_EQ(footprints[0].HasAllocator(), program.caching);
    for (const std::uint64_t size : {1u, 5u, 8u, 16u, 40u}) {
      const FootprintPrediction prediction = footprints[0].Predict(size);
      const ToyPeaks truth = RunToy(program, size, nullptr);
      EXPECT_EQ(prediction.peaks.driver, truth.driver) << seed << " " << size;
      EXPECT_EQ(prediction.peaks.requested, truth.requested) << seed << " " << size;
      EXPECT_TRUE(!program.caching || prediction.peaks.reserved == truth.reserved) << seed;
      EXPECT_TRUE(prediction.fits);
      EXPECT_EQ(prediction.base, size < 6 ? 4u : 8u);
    }
  }
}

// PyTorch's logs have blocks, which are up to 1 MiB larger than what was requested.
TEST(FootprintTest, BlocksAreAskedSizesAgain) {
  ToyProgram program;
  for (int i = 0; i < 40; ++i) {
    const double unit = 512.0 * (100 + 37 * (i % 5)) * (1 + i % 3);
    program.requests.push_back({.site = i, .per_unit = unit, .lives = 1 + i % 7});
    program.requests.push_back(
        {.site = 40 + i, .fixed = 512.0 * (3000 + 777 * (i % 4)), .lives = 3});
  }
  program.asked = false;
  const auto footprints = Build(program, {2, 4});
  ASSERT_EQ(footprints.size(), 1u);
  EXPECT_EQ(footprints[0].growth().irregular, 0u);
  for (const std::uint64_t size : {2u, 4u, 16u, 64u}) {
    const FootprintPrediction prediction = footprints[0].Predict(size);
    const ToyPeaks truth = RunToy(program, size, nullptr);
    EXPECT_EQ(prediction.peaks.reserved, truth.reserved) << size;
    EXPECT_NEAR(static_cast<double>(prediction.peaks.requested),
                static_cast<double>(truth.requested), 0.001 * static_cast<double>(truth.requested));
  }
}

// Two sizes show no square: the range has what the program takes.
TEST(FootprintTest, TheRangeIsWhatTheRunsLeaveOpen) {
  ToyProgram program;
  program.requests = {{.site = 1, .fixed = 900'000'000, .lives = 9},
                      {.site = 2, .per_square = 100'000, .lives = 9}};
  const auto footprints = Build(program, {4, 8});
  ASSERT_EQ(footprints.size(), 1u);
  const FootprintPrediction prediction = footprints[0].Predict(16);
  const std::uint64_t truth = RunToy(program, 16, nullptr).reserved;
  EXPECT_GT(truth, prediction.peaks.reserved);
  EXPECT_LE(truth, prediction.peaks.reserved + prediction.range);
  EXPECT_GT(prediction.range, 20u << 20);
  // A third size shows it, and one segment remains.
  const FootprintPrediction known = Build(program, {2, 4, 8})[0].Predict(16);
  EXPECT_EQ(known.peaks.reserved, truth);
  EXPECT_LT(known.range, prediction.range + (20u << 20));
  program.requests.pop_back();
  EXPECT_LE(Build(program, {4, 8})[0].Predict(16).range, 20u << 20);
  program.caching = false;
  EXPECT_EQ(Build(program, {4, 8})[0].Predict(16).range, 0u);
}

// A run whose replay is wrong by some share makes all predictions uncertain by as much.
TEST(FootprintTest, TheRangeHasWhatTheReplayGetsWrong) {
  ToyProgram program;
  program.requests = {{.site = 1, .per_unit = 60'000'000, .lives = 9}};
  std::vector<FootprintInput> inputs = {Record(program, 4), Record(program, 8)};
  allocators::AllocatorSpec wrong;
  wrong.caching.roundup_power2.fill(2);
  const auto footprints = BuildFootprints(inputs, &wrong);
  ASSERT_TRUE(footprints.ok());
  const Footprint& footprint = (*footprints)[0];
  const FootprintRun& run = footprint.runs().back();
  ASSERT_NE(run.replayed.driver, run.recorded.driver);
  const auto off = static_cast<double>(std::max(run.replayed.driver, run.recorded.driver) -
                                       std::min(run.replayed.driver, run.recorded.driver));
  const FootprintPrediction prediction = footprint.Predict(16);
  EXPECT_GE(static_cast<double>(prediction.range),
            off / static_cast<double>(run.recorded.driver) *
                    static_cast<double>(prediction.peaks.driver) -
                1);
}

TEST(FootprintTest, ThreeSizesShowSquares) {
  for (const std::uint32_t seed : {21u, 22u, 23u}) {
    const ToyProgram program = ToyProgram::Random(seed, true);
    const auto footprints = Build(program, {4, 8, 12});
    ASSERT_EQ(footprints.size(), 1u);
    EXPECT_GT(footprints[0].growth().quadratic, 0u);
    EXPECT_EQ(footprints[0].growth().irregular, 0u);
    for (const std::uint64_t size : {2u, 20u}) {
      EXPECT_EQ(footprints[0].Predict(size).peaks.reserved, RunToy(program, size, nullptr).reserved)
          << seed << " " << size;
    }
  }
}

TEST(FootprintTest, RunsShowWhatWasRecordedAndHowWellItIsReproduced) {
  const ToyProgram program = ToyProgram::Random(31);
  const auto footprints = Build(program, {12, 4, 8});
  ASSERT_EQ(footprints.size(), 1u);
  const auto& runs = footprints[0].runs();
  ASSERT_EQ(runs.size(), 3u);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    EXPECT_EQ(runs[i].batch, 4 * (i + 1));  // sorted by size
    const ToyPeaks truth = RunToy(program, runs[i].batch, nullptr);
    EXPECT_EQ(runs[i].recorded.reserved, truth.reserved);
    EXPECT_EQ(runs[i].recorded.driver, truth.driver);
    EXPECT_EQ(runs[i].recorded.requested, truth.requested);
    EXPECT_EQ(runs[i].replayed.reserved, truth.reserved);
    EXPECT_EQ(runs[i].matched, runs[i].requests);
    EXPECT_TRUE(runs[i].checked);
    EXPECT_EQ(runs[i].check.peaks.reserved, truth.reserved);
    EXPECT_NE(runs[i].check.base, runs[i].batch);
  }
  // With two sizes, too few remain when one is left out.
  const std::vector<Footprint> two = Build(program, {4, 8});
  for (const FootprintRun& run : two[0].runs()) EXPECT_FALSE(run.checked);
}

TEST(FootprintTest, SitesAddUpToWhatIsLiveAtTheHighestPoint) {
  ToyProgram program;
  program.steps = 2;
  program.requests = {{.site = 1, .fixed = 5000, .lives = 9},
                      {.site = 2, .per_unit = 1000, .fixed = 24, .lives = 9},
                      {.site = 2, .per_unit = 1000, .fixed = 24, .lives = 9},
                      {.site = 3, .per_unit = 1, .lives = 1},
                      {.site = 4, .per_unit = 10, .lives = 1}};
  const auto footprints = Build(program, {10, 20});
  ASSERT_EQ(footprints.size(), 1u);
  const auto& sites = footprints[0].sites();
  // of the last two only the larger is live at the same time as the others
  ASSERT_EQ(sites.size(), 3u);
  EXPECT_EQ(sites[0].bytes, 2 * (20'000u + 24));
  EXPECT_EQ(sites[0].requests, 2u);
  EXPECT_EQ(sites[0].growth, Growth::kLinear);
  EXPECT_NEAR(sites[0].per_unit, 2000, 1e-6);
  EXPECT_NEAR(sites[0].fixed, 48, 1e-6);
  EXPECT_EQ(sites[1].bytes, 5000u);
  EXPECT_EQ(sites[1].growth, Growth::kConstant);
  EXPECT_EQ(sites[2].bytes, 200u);
  EXPECT_EQ(footprints[0].growth().constant, 2u);
  EXPECT_EQ(footprints[0].growth().linear, 8u);
}

TEST(FootprintTest, RequestsOfOneRunOnlyAreCountedAsTheyAre) {
  ToyProgram program;
  program.requests = {{.site = 1, .per_unit = 10'000, .lives = 5},
                      {.site = 2, .fixed = 7000, .lives = 5, .only_above = true}};
  const auto footprints = Build(program, {8, 16});
  ASSERT_EQ(footprints.size(), 1u);
  EXPECT_EQ(footprints[0].growth().unknown, 3u);
  EXPECT_EQ(footprints[0].runs()[0].matched, 3u);
  EXPECT_EQ(footprints[0].runs()[1].matched, 3u);
  EXPECT_EQ(footprints[0].runs()[1].requests, 6u);
  EXPECT_EQ(footprints[0].Predict(32).peaks.requested, 32 * 10'000u + 7000);
  EXPECT_EQ(footprints[0].Predict(4).peaks.requested, 4 * 10'000u);  // as with 8
}

TEST(FootprintTest, SaysWhatIsMissing) {
  const ToyProgram program = ToyProgram::Random(51);
  const FootprintInput four = Record(program, 4), eight = Record(program, 8);
  const auto error = [](const std::vector<FootprintInput>& inputs) {
    const auto footprints = BuildFootprints(inputs);
    return footprints.ok() ? std::string("fine") : Message(footprints.status());
  };
  EXPECT_EQ(error({four, eight}), "fine");
  EXPECT_THAT(error({four}), HasSubstr("at least two different sizes"));
  EXPECT_THAT(error({four, four}), HasSubstr("at least two different sizes"));
  EXPECT_THAT(error({four, {eight.session, 0}}), HasSubstr("cannot be 0"));
  ToyProgram direct = program;
  direct.caching = false;
  EXPECT_THAT(error({four, Record(direct, 8)}), HasSubstr("another kind of allocator"));
  LogBuilder empty;
  EXPECT_THAT(error({four, {LoadLog(empty), 8}}), HasSubstr("no device in common"));
}

TEST(FootprintTest, AnAllocatorThatIsNamedIsUsed) {
  const ToyProgram program = ToyProgram::Random(52);
  const std::vector<FootprintInput> inputs = {Record(program, 4), Record(program, 8)};
  allocators::AllocatorSpec spec;
  spec.kind = allocators::AllocatorKind::kBfc;
  const auto footprints = BuildFootprints(inputs, &spec);
  ASSERT_TRUE(footprints.ok());
  EXPECT_EQ(footprints->at(0).spec(), spec);
  // The allocator differs from the recorded one, so the result is uncertain.
  EXPECT_TRUE(footprints->at(0).uncertain());
}

}  // namespace
}  // namespace memprof::analysis
