// The largest input that fits, and the first that does not.
#include <gtest/gtest.h>

#include "analysis/footprint/footprint.h"
#include "analysis/symbols/symbols.h"
#include "tests/analysis/footprint/footprint_fixture.h"
#include "tests/support/random_log.h"
#include "tests/support/toy_program.h"

namespace memprof::analysis {
namespace {

using testing::Build;
using testing::LoadLog;
using testing::LogBuilder;
using testing::RunToy;
using testing::ToyProgram;

// A refused request is aligned like any other: its size is fitted from its counterpart, and later
// requests keep theirs.
TEST(FootprintTest, RefusedRequestsHaveTheirPlace) {
  std::vector<std::shared_ptr<const Session>> sessions;
  for (const std::uint64_t batch : {4u, 8u}) {
    LogBuilder log;
    log.Device(0, 64 << 20);
    log.Step(0);
    log.Alloc(Layer::kLinear, 0x1000000, batch << 20, {.stack = log.Stack({"First (a.cc:1)"})});
    const int second = log.Stack({"Second (a.cc:2)"});
    if (batch == 4)
      log.Alloc(Layer::kLinear, 0x4000000, batch * 1000, {.stack = second});
    else
      log.AllocFailed(Layer::kLinear, batch * 1000, {.stack = second, .result = 2});
    log.Alloc(Layer::kLinear, 0x5000000, batch << 10, {.stack = log.Stack({"Third (a.cc:3)"})});
    sessions.push_back(LoadLog(log));
  }
  const auto footprints = BuildFootprints({{sessions[0], 4}, {sessions[1], 8}}, nullptr);
  ASSERT_TRUE(footprints.ok());
  ASSERT_EQ(footprints->size(), 1u);
  const Footprint& footprint = footprints->front();
  EXPECT_EQ(footprint.runs()[1].matched, 3u);
  EXPECT_EQ(footprint.growth().linear, 3u);
  ASSERT_EQ(footprint.sites().size(), 2u);
  Symbols symbols(sessions[1]);
  EXPECT_EQ(symbols.Site(footprint.sites()[1].stack).function, "Third");
  EXPECT_EQ(footprint.sites()[1].bytes, 8u << 10);
}

// Against trying all sizes in order.
TEST(FootprintTest, TheLargestThatFitsIsFound) {
  for (const std::uint32_t seed : {41u, 42u, 43u, 44u}) {
    const ToyProgram program = ToyProgram::Random(seed);
    const auto footprints = Build(program, {4, 8});
    ASSERT_EQ(footprints.size(), 1u);
    const std::uint64_t capacity = RunToy(program, 8, nullptr).reserved * 3;
    std::uint64_t fails = 1;
    while (!RunToy(program, fails, nullptr, capacity).failed) ++fails;
    const FootprintLimit limit = footprints[0].Largest(capacity);
    EXPECT_TRUE(limit.any);
    EXPECT_FALSE(limit.unbounded);
    // Allocators are not strictly monotonic: a different limit may be found, but it must be one.
    EXPECT_FALSE(RunToy(program, limit.batch, nullptr, capacity).failed) << seed;
    EXPECT_TRUE(RunToy(program, limit.batch + 1, nullptr, capacity).failed) << seed;
    EXPECT_GE(limit.batch + 1, fails);
    EXPECT_EQ(limit.at.batch, limit.batch);
    EXPECT_TRUE(limit.at.fits);
    EXPECT_GT(limit.at.held, capacity / 2) << seed;
    EXPECT_LE(limit.at.held, capacity) << "the result does not exceed the capacity";
    EXPECT_LE(limit.at.held, limit.at.peaks.driver);
    EXPECT_EQ(limit.beyond.held, 0u);
    EXPECT_EQ(limit.beyond.batch, limit.batch + 1);
    EXPECT_FALSE(limit.beyond.fits);
    EXPECT_GT(limit.beyond.failed_bytes, 0u);
    const FootprintLimit even = footprints[0].Largest(capacity, 2);
    EXPECT_EQ(even.batch % 2, 0u);
    EXPECT_LE(even.batch, limit.batch + 1);
    EXPECT_FALSE(footprints[0].Predict(even.batch + 2, capacity).fits);
  }
}

TEST(FootprintTest, LimitsThatAreNone) {
  ToyProgram constant;
  constant.requests = {{.site = 1, .fixed = 7000}};
  auto footprints = Build(constant, {4, 8});
  ASSERT_EQ(footprints.size(), 1u);
  EXPECT_TRUE(footprints[0].Largest(1 << 30).unbounded);
  const FootprintLimit none = footprints[0].Largest(1 << 20);  // smaller than one segment
  EXPECT_FALSE(none.any);
  EXPECT_EQ(none.batch, 0u);
  EXPECT_EQ(none.beyond.failed_bytes, 7000u);
  // Memory outside of the allocator counts too.
  constant.outside_per_unit = 1 << 20;
  footprints = Build(constant, {4, 8});
  const FootprintLimit beside = footprints[0].Largest(std::uint64_t{100} << 20);
  EXPECT_EQ(beside.batch, 98u);
}

}  // namespace
}  // namespace memprof::analysis
