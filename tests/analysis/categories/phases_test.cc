// What open ranges mean for allocations in them.
#include "analysis/categories/phases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>

#include "analysis/categories/units.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;

TEST(CategoryPhasesTest, RangesOfTheOwnThreadComeFirst) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.RangePush("backward", 1);
  // thread 2 has no range, so that of thread 1 counts
  log.Alloc(Layer::kLinear, 0x1000, 512, {.thread = 2});
  log.RangePush("forward", 2);
  log.RangePush("layer 3", 2);
  log.Alloc(Layer::kLinear, 0x2000, 512, {.thread = 2});
  log.RangePop(2);
  log.RangePop(2);
  log.RangePop(1);
  log.Alloc(Layer::kLinear, 0x3000, 512, {.thread = 2});
  const auto session = LoadLog(log);
  EXPECT_THAT(RangePhases(*session, FindCategoryUnits(*session, {})),
              ::testing::ElementsAre(Phase::kBackward, Phase::kForward, Phase::kNone));
}

// Against a search through all open ranges at each allocation.
TEST(CategoryPhasesTest, RandomRangesOfSeveralThreads) {
  const std::pair<const char*, Phase> kNames[] = {{"forward", Phase::kForward},
                                                  {"backward", Phase::kBackward},
                                                  {"optimizer", Phase::kOptimizer},
                                                  {"layer 3", Phase::kNone}};
  std::mt19937 random(11);
  for (int round = 0; round < 50; ++round) {
    LogBuilder log;
    log.Device(0, 1 << 30);
    std::map<std::uint32_t, std::vector<Phase>> open;
    std::vector<Phase> expected;
    for (int i = 0; i < 60; ++i) {
      const std::uint32_t thread = 1 + random() % 3;
      if (const std::uint32_t what = random() % 5; what < 2) {
        const auto& [name, phase] = kNames[random() % 4];
        log.RangePush(name, thread);
        open[thread].push_back(phase);
      } else if (what == 2) {
        if (open[thread].empty()) continue;
        log.RangePop(thread);
        open[thread].pop_back();
      } else {
        log.Alloc(Layer::kLinear, 0x1000 + 0x1000u * static_cast<unsigned>(i), 512,
                  {.thread = thread});
        const auto says = [](const std::vector<Phase>& ranges) {
          const auto last = std::find_if(ranges.rbegin(), ranges.rend(),
                                         [](Phase phase) { return phase != Phase::kNone; });
          return last == ranges.rend() ? Phase::kNone : *last;
        };
        Phase phase = says(open[thread]);
        if (open[thread].empty())
          for (const auto& [other, ranges] : open)
            if (phase == Phase::kNone) phase = says(ranges);
        expected.push_back(phase);
      }
    }
    const auto session = LoadLog(log);
    ASSERT_NE(session, nullptr);
    if (session->ranges().empty()) continue;
    EXPECT_EQ(RangePhases(*session, FindCategoryUnits(*session, {})), expected) << round;
  }
}

}  // namespace
}  // namespace memprof::analysis
