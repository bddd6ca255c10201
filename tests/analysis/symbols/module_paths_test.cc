// Modules of allocations, against a replay of the ranges.
#include "analysis/symbols/module_paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "analysis/leaks/leaks.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::EventFields;
using ::testing::HasSubstr;
using testing::LoadLog;
using testing::LogBuilder;

TEST(ModuleRangeTest, Names) {
  const auto range = ParseModuleRange("blocks.3.attn.qkv (backward)");
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(range->path, "blocks.3.attn.qkv");
  EXPECT_EQ(range->pass, ModulePass::kBackward);
  EXPECT_EQ(ParseModuleRange("AdamW.step (optimizer)")->pass, ModulePass::kOptimizer);
  EXPECT_EQ(ParseModuleRange("a (recomputed)")->pass, ModulePass::kRecomputed);
  for (const char* const other : {"", "forward", " (forward)", "x (forwards)", "(forward) x"})
    EXPECT_FALSE(ParseModuleRange(other).has_value()) << other;
}

// Random nested ranges of several threads; some are not of modules, some are never closed.
TEST(RangesOfThreadsTest, InnermostOpenOneOfTheThread) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    LogBuilder log;
    std::map<std::uint32_t, std::vector<std::string>> open;
    std::vector<std::string> expected;
    for (int i = 0; i < 400; ++i) {
      const std::uint32_t thread = 1 + random() % 3;
      std::vector<std::string>& stack = open[thread];
      const std::uint32_t what = random() % 4;
      if (what == 0) {
        std::string name = "m" + std::to_string(random() % 9) + (random() % 3 ? " (forward)" : "");
        log.RangePush(name, thread);
        stack.push_back(std::move(name));
      } else if (what == 1 && !stack.empty()) {
        log.RangePop(thread);
        stack.pop_back();
      } else {
        log.Alloc(Layer::kBlock, 0x1000u + 512u * static_cast<std::uint32_t>(i), 512,
                  {.thread = thread});
        std::string name;
        for (const std::string& one : stack)
          if (one.ends_with(" (forward)")) name = one;
        expected.push_back(name);
      }
    }
    const auto session = LoadLog(log);
    ASSERT_NE(session, nullptr);
    const RangesOfThreads ranges(*session, IsModuleRange);
    ASSERT_EQ(session->records().size(), expected.size());
    for (std::uint32_t i = 0; i < expected.size(); ++i) {
      const auto row = ranges.At(session->record(AllocationId(i)).birth);
      const std::string got = row ? std::string(session->string(session->ranges()[*row].name)) : "";
      EXPECT_EQ(got, expected[i]) << "seed " << seed << ", allocation " << i;
    }
  }
}

TEST(RangesOfThreadsTest, NoneInALogWithoutModules) {
  LogBuilder log;
  log.RangePush("forward");
  log.Alloc(Layer::kBlock, 0x1000, 512);
  log.RangePop();
  const auto session = LoadLog(log);
  const RangesOfThreads ranges(*session, IsModuleRange);
  EXPECT_TRUE(ranges.empty());
  EXPECT_FALSE(ranges.At(session->record(AllocationId(0)).birth).has_value());
  EXPECT_EQ(ModulesOf(*session, {AllocationId(0)}), "");
}

TEST(ModulesOfTest, LargestFirst) {
  LogBuilder log;
  std::vector<AllocationId> all;
  const auto make = [&](const char* module, int times) {
    log.RangePush(module);
    for (int i = 0; i < times; ++i) {
      log.Alloc(Layer::kBlock, 0x1000 + 512 * all.size(), 512);
      all.emplace_back(static_cast<std::uint32_t>(all.size()));
    }
    log.RangePop();
  };
  make("a (forward)", 1);
  make("b (forward)", 3);
  make("c (forward)", 2);
  make("d (forward)", 1);
  const auto session = LoadLog(log);
  EXPECT_EQ(ModulesOf(*session, all),
            "b (forward), 3 times, c (forward), 2 times, a (forward) and 1 more");
}

TEST(ModulesOfTest, LeaksNameTheirModule) {
  LogBuilder log;
  const int site = log.Stack({"main (a.py:1)", "forward (a.py:9)"});
  for (std::uint64_t step = 0; step < 24; ++step) {
    log.Step(step);
    log.RangePush("blocks.1.norm (forward)");
    log.Alloc(Layer::kBlock, 0x100000 + step * 4096, 4096, {.stack = site});
    log.RangePop();
  }
  const auto session = LoadLog(log);
  const LeakReport report = FindLeaks(*session);
  ASSERT_EQ(report.leaks.size(), 1u);
  EXPECT_THAT(report.leaks[0].why,
              HasSubstr("Made while this module ran: blocks.1.norm (forward)"));
}

}  // namespace
}  // namespace memprof::analysis
