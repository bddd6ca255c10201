// Memory that no pointer refers to any more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/base/sizes.h"
#include "analysis/leaks/leaks.h"
#include "tests/analysis/leaks/leak_patterns.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using ::testing::HasSubstr;
using testing::LoadLog;
using testing::LogBuilder;

// 8 allocations of Lose() and one of Keep(), and a scan that found no pointer to 3 of the former.
std::shared_ptr<const Session> ScannedRun(bool steps, bool freed_later) {
  LogBuilder log;
  const int lose = log.Stack({"main (a.cc:1)", "Lose (a.cc:2)"});
  const int keep = log.Stack({"main (a.cc:1)", "Keep (a.cc:3)"});
  log.Alloc(Layer::kLinear, 0x100000, 4096, {.stack = keep});
  for (int i = 0; i < 8; ++i) {
    if (steps) log.Step(i);
    log.Alloc(Layer::kLinear, 0x200000 + i * 0x10000ull, 1024, {.stack = lose});
  }
  for (int i = 0; i < 3; ++i)
    log.Event(Op::kUnreachable, Layer::kLinear, 0x200000 + i * 0x10000ull, 1024, 0, {.aux0 = 2});
  log.Event(Op::kHostScan, Layer::kUnspecified, 0, 64 * kMiB, 0,
            {.device = -1, .aux0 = 9, .aux1 = 3});
  if (freed_later)
    for (int i = 0; i < 3; ++i) log.Free(0x200000 + i * 0x10000ull);
  return LoadLog(log);
}

TEST(LeaksTest, MemoryWithoutAPointerIsADefiniteLeakWithOrWithoutSteps) {
  for (const bool steps : {false, true}) {
    const auto session = ScannedRun(steps, false);
    ASSERT_NE(session, nullptr);
    const LeakReport report = FindLeaks(*session);
    ASSERT_EQ(report.leaks.size(), 1u);
    const Leak& leak = report.leaks[0];
    EXPECT_EQ(leak.tier, LeakTier::kDefinite);
    EXPECT_EQ(leak.basis, LeakBasis::kScan);
    EXPECT_EQ(leak.blocks, 8u);
    EXPECT_EQ(leak.score, 100);
    EXPECT_THAT(leak.why, HasSubstr("No pointer to 3 of its 8 allocations (3.00 KiB) was left in "
                                    "64.0 MiB of host memory"));
    EXPECT_THAT(leak.disproof, HasSubstr("where a scan of host memory cannot see it"));
    EXPECT_THAT(report.verdict, HasSubstr("1 site has lost all pointers"));
    ASSERT_EQ(report.live_at_exit.size(), 1u);
    EXPECT_EQ(report.live_at_exit[0].bytes, 4096u);
  }
}

TEST(LeaksTest, WhatIsFreedAfterTheScanIsNoLeak) {
  const auto session = ScannedRun(false, true);
  ASSERT_NE(session, nullptr);
  const LeakReport report = FindLeaks(*session);
  EXPECT_TRUE(report.leaks.empty());
  EXPECT_EQ(report.live_at_exit.size(), 2u);
}

TEST(LeaksTest, DefiniteLeaksCanBeSuppressed) {
  const auto session = ScannedRun(false, false);
  ASSERT_NE(session, nullptr);
  const LeakReport report = FindLeaks(
      *session, {.suppress = [](const Leak& leak) { return leak.tier == LeakTier::kDefinite; }});
  EXPECT_TRUE(report.leaks.empty());
  EXPECT_EQ(report.suppressed.size(), 1u);
}

}  // namespace
}  // namespace memprof::analysis
