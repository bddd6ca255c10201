#include "analysis/categories/units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;

using Bytes = std::vector<std::uint64_t>;

TEST(CategoryHillsTest, UpDownAndFlat) {
  std::vector<std::uint32_t> ends;
  // Three allocations, two frees, then a small allocation after everything is freed.
  const std::vector<Slope> slopes =
      FindSlopes(Bytes{0, 100, 200, 250, 150, 0}, Bytes{100, 100, 100, 10, 10, 5}, 0, &ends);
  EXPECT_THAT(slopes, ::testing::ElementsAre(Slope::kUp, Slope::kUp, Slope::kUp, Slope::kDown,
                                             Slope::kDown, Slope::kFlat));
  EXPECT_THAT(ends, ::testing::ElementsAre(5, 5, 5, 5, 5, 6));
}

TEST(CategoryHillsTest, WhatStaysIsNoHill) {
  std::vector<std::uint32_t> ends;
  for (const Slope slope : FindSlopes(Bytes{0, 10, 20, 30}, Bytes{10, 10, 10, 10}, 40, &ends))
    EXPECT_EQ(slope, Slope::kFlat);
  EXPECT_TRUE(FindSlopes(Bytes(), Bytes(), 0, &ends).empty());
  EXPECT_TRUE(ends.empty());
}

TEST(CategoryHillsTest, EveryMicroBatchIsAHill) {
  std::vector<std::uint64_t> levels, bytes;
  for (int i = 0; i < 3; ++i) {
    for (const std::uint64_t level : {0u, 100u, 200u, 150u, 50u}) {
      levels.push_back(10u * static_cast<unsigned>(i) + level);  // part of each stays allocated
      bytes.push_back(level < 150 ? 100 : 1);
    }
  }
  std::vector<std::uint32_t> ends;
  const std::vector<Slope> slopes = FindSlopes(levels, bytes, 30, &ends);
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    EXPECT_EQ(ends[i], (i / 5 + 1) * 5);
    EXPECT_EQ(slopes[i], i % 5 <= 2 ? Slope::kUp : Slope::kDown) << i;
  }
}

TEST(CategoryUnitsTest, ScratchIsAloneInItsTime) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.Device(1, 1 << 30);
  log.Alloc(Layer::kLinear, 0x1000, 512);
  log.Alloc(Layer::kLinear, 0x2000, 512);
  log.Alloc(Layer::kLinear, 0x9000, 512, {.device = 1});  // on another device
  log.Free(0x2000);
  log.Free(0x1000);
  log.Alloc(Layer::kLinear, 0x3000, 512);
  const auto session = LoadLog(log);
  const std::vector<CategoryUnit> units = FindCategoryUnits(*session, {});
  ASSERT_EQ(units.size(), 4u);
  EXPECT_FALSE(units[0].scratch);
  EXPECT_TRUE(units[1].scratch);
  EXPECT_FALSE(units[2].scratch);
  EXPECT_FALSE(units[3].scratch);  // never freed
}

}  // namespace
}  // namespace memprof::analysis
