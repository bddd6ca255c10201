// Which site is reported for a leak, and what is reported for several sites.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/base/sizes.h"
#include "analysis/leaks/leaks.h"
#include "analysis/symbols/symbols.h"
#include "tests/analysis/leaks/leak_patterns.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using ::testing::HasSubstr;
using testing::LeakRun;
using testing::LoadLog;
using testing::LogBuilder;
using testing::MakeLeakRun;

TEST(LeaksTest, WithoutAllocatorDriverMemoryIsJudged) {
  LogBuilder log;
  const int site = log.Stack({"main (a.cc:1)", "Grow (a.cc:2)"});
  for (int step = 0; step < 40; ++step) {
    log.Step(static_cast<std::uint64_t>(step));
    log.Alloc(Layer::kManaged, 0x100000 + static_cast<std::uint64_t>(step) * 4096, 4096,
              {.stack = site});
  }
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const LeakReport report = FindLeaks(*session);
  ASSERT_EQ(report.leaks.size(), 1u);
  EXPECT_EQ(report.leaks[0].layer, Layer::kManaged);
  EXPECT_EQ(report.leaks[0].steps_to_oom, -1) << "the device's capacity is unknown";
}

TEST(LeaksTest, GrowingSegmentsOfAnAllocatorAreNotASecondLeak) {
  LogBuilder log;
  log.Device(0, std::uint64_t{1} << 40);
  const int driver = log.Stack({"main (a.cc:1)", "Segment (alloc.cc:2)"});
  const int block = log.Stack({"main (a.cc:1)", "Keep (a.cc:7)"});
  for (std::uint64_t step = 0; step < 40; ++step) {
    const std::uint64_t address = 0x1000000 + step * 0x1000000;
    log.Step(step);
    log.Alloc(Layer::kLinear, address, 2 * kMiB, {.stack = driver});
    log.Alloc(Layer::kSegment, address, 2 * kMiB, {.stack = driver});
    log.Alloc(Layer::kBlock, address, 2 * kMiB, {.stack = block});
  }
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  Symbols symbols(session);
  const LeakReport report = FindLeaks(*session);
  ASSERT_EQ(report.leaks.size(), 1u);
  EXPECT_EQ(symbols.Site(report.leaks[0].stack).function, "Keep");
}

TEST(LeaksTest, TensorNamesAreEvidence) {
  LogBuilder log;
  log.Device(0, std::uint64_t{1} << 40);
  const int site = log.Stack({"main (a.cc:1)", "Keep (a.cc:7)"});
  log.Alloc(Layer::kLinear, 0x1000000, 64 * kMiB);
  log.Alloc(Layer::kSegment, 0x1000000, 64 * kMiB);
  for (std::uint64_t step = 0; step < 30; ++step) {
    const std::uint64_t address = 0x1000000 + step * kMiB;
    log.Step(step);
    log.Alloc(Layer::kBlock, address, kMiB, {.stack = site});
    log.TensorCreate(address, kMiB, log.Tensor("loss_history", "float32", {512, 512}),
                     {.stack = site});
  }
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  EXPECT_THAT(FindLeaks(*session).leaks.at(0).why, HasSubstr("loss_history (float32 512 x 512)"));
  EXPECT_THAT(FindLeaks(*session, {.judge_tensors_as_names = false}).leaks.at(0).why,
              Not(HasSubstr("loss_history")));
}

TEST(LeaksTest, SitesThatLeakTogetherSayso) {
  LogBuilder log;
  const int a = log.Stack({"main (a.cc:1)", "A (a.cc:7)"}),
            b = log.Stack({"main (a.cc:1)", "B (a.cc:8)"});
  for (std::uint64_t step = 0; step < 40; ++step) {
    log.Step(step);
    log.Alloc(Layer::kLinear, 0x100000 + step * 8192, 4096, {.stack = a});
    log.Alloc(Layer::kLinear, 0x101000 + step * 8192, 512, {.stack = b});
  }
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const LeakReport report = FindLeaks(*session);
  ASSERT_EQ(report.leaks.size(), 2u);
  EXPECT_GT(report.leaks[0].bytes_per_step, report.leaks[1].bytes_per_step);
  EXPECT_THAT(report.leaks[0].why, HasSubstr("1 other site leaks in the same steps"));
}

TEST(LeaksTest, WithoutStacksSizesDistinguishSites) {
  LogBuilder log;
  for (std::uint64_t step = 0; step < 40; ++step) {
    log.Step(step);
    log.Alloc(Layer::kLinear, 0x100000 + step * 8192, 4096);
    log.Alloc(Layer::kLinear, 0x900000, 777);
    log.Free(0x900000);
  }
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const LeakReport report = FindLeaks(*session);
  ASSERT_EQ(report.leaks.size(), 1u);
  EXPECT_EQ(report.leaks[0].guard_steps, 2);
}

// hist = torch.cat([hist, x]): no block lives long.
TEST(LeaksTest, ATensorReplacedByALargerOneGrows) {
  for (const bool freed_on_exit : {false, true}) {
    const auto session = MakeLeakRun(
        [&](LeakRun& run, int step) {
          if (step < 0) return;
          run.Alloc(static_cast<std::uint64_t>(step + 1) * kMiB);
          if (run.live().size() > 1) run.Free(run.live().begin()->first);
          if (freed_on_exit && step == 59) run.Free(run.live().begin()->first);
        },
        1, 60);
    ASSERT_NE(session, nullptr);
    const LeakReport report = FindLeaks(*session);
    ASSERT_EQ(report.leaks.size(), 1u) << report.verdict;
    const Leak& leak = report.leaks[0];
    EXPECT_EQ(leak.tier, LeakTier::kGrowing);
    EXPECT_DOUBLE_EQ(leak.bytes_per_step, kMiB);
    EXPECT_THAT(leak.why, HasSubstr("each is replaced by a larger one"));
    EXPECT_THAT(report.verdict, HasSubstr("1 site keeps growing, by 1.00 MiB per step"));
  }
}

// A buffer that is freed, and then allocated larger, with marks of steps and without.
TEST(LeaksTest, ABufferThatIsFreedBeforeALargerOneIsAllocatedGrows) {
  for (const bool marked : {false, true}) {
    LogBuilder log;
    const int buffer = log.Stack({"main (a.cc:1)", "Resize (a.cc:7)"});
    const int work = log.Stack({"main (a.cc:1)", "Work (a.cc:9)"});
    for (std::uint64_t step = 0; step < 100; ++step) {
      if (marked) log.Step(step);
      if (step > 0) log.Free(0x100000000 + (step - 1) % 2 * 0x10000000);
      log.Alloc(Layer::kLinear, 0x100000000 + step % 2 * 0x10000000, (step + 1) * 64 * 1024,
                {.stack = buffer});
      log.Alloc(Layer::kLinear, 0x900000000, 4096, {.stack = work});
      log.Free(0x900000000);
    }
    const LeakReport report = FindLeaks(*LoadLog(log));
    ASSERT_EQ(report.leaks.size(), 1u) << marked << ": " << report.verdict;
    EXPECT_EQ(report.leaks[0].tier, LeakTier::kGrowing);
  }
}

// The batch of a step is alive when the next one begins, and what is computed from it becomes
// larger with it, whether it is freed at once or a variable has it until the next step.
TEST(LeaksTest, InputsThatGetLongerAreNoGrowth) {
  enum Results { kFreed, kNamed, kAllAlike };
  for (const Results results : {kFreed, kNamed, kAllAlike}) {
    const bool alone = results == kAllAlike;
    LogBuilder log;
    const int batch = log.Stack({"main (a.py:1)", "Load (a.py:7)"});
    int layers[3];
    for (int i = 0; i < 3; ++i)
      layers[i] = log.Stack({"main (a.py:1)", "Forward (a.py:" + std::to_string(9 + i) + ")"});
    for (std::uint64_t step = 0; step < 60; ++step) {
      log.Step(step);
      const std::uint64_t bytes = (500 + 3 * step) * 1024;
      log.Alloc(Layer::kBlock, 0x100000000 + step % 2 * 0x10000000, bytes, {.stack = batch});
      if (step > 0) log.Free(Layer::kBlock, 0x100000000 + (step - 1) % 2 * 0x10000000);
      for (std::uint64_t i = 0; i < 3; ++i) {
        const auto at = [&](std::uint64_t of) {
          return 0x900000000 + (2 * i + of % 2) * 0x10000000;
        };
        if (results == kNamed && step > 0) log.Free(Layer::kBlock, at(step - 1));
        log.Alloc(Layer::kBlock, at(step), alone ? 512 * 1024 : bytes, {.stack = layers[i]});
        if (results != kNamed) log.Free(Layer::kBlock, at(step));
      }
    }
    const LeakReport report = FindLeaks(*LoadLog(log));
    EXPECT_EQ(report.leaks.empty(), !alone) << report.verdict;
    if (alone) continue;
    EXPECT_TRUE(report.rising.empty());
    EXPECT_THAT(report.verdict, HasSubstr("No growth over 59 completed steps. Inputs get longer:"));
  }
}

// Many sites leak little each. They have in common the line that calls them or, for wrappers around
// wrappers, all lines.
TEST(LeaksTest, SitesOfOneLineAreSummedUp) {
  for (const bool deeper : {false, true}) {
    LogBuilder log;
    const int other = log.Stack({"main (a.py:1)", "Train (a.py:5)", "Step (a.py:30)"});
    for (int step = 0; step < 60; ++step) {
      log.Step(static_cast<std::uint64_t>(step));
      std::vector<std::string> way = {"main (a.py:1)", "Train (a.py:5)", "Grow (a.py:9)"};
      for (int i = 0; deeper && i <= step; ++i) way.push_back("wrapper (b.py:3)");
      if (!deeper) way.push_back("Layer" + std::to_string(step * 7 % 30) + " (lib.py:4)");
      for (std::uint64_t i = 0; i < 3; ++i) {
        log.Alloc(Layer::kBlock, 0x900000 + i * 4096, 4096, {.stack = other});
        log.Free(0x900000 + i * 4096);
      }
      log.Alloc(Layer::kBlock, 0x10'0000'0000 + static_cast<std::uint64_t>(step) * kMiB, kMiB,
                {.stack = log.Stack(way)});
    }
    const auto session = LoadLog(log);
    ASSERT_NE(session, nullptr);
    const LeakReport report = FindLeaks(*session);
    ASSERT_EQ(report.leaks.size(), 1u) << report.verdict;
    EXPECT_GE(report.leaks[0].blocks, 54u);  // all except those from the warm-up
    EXPECT_NEAR(report.leaks[0].bytes_per_step, kMiB, 1);
    EXPECT_THAT(report.leaks[0].why, HasSubstr("sites with callers in common"));
  }
}

}  // namespace
}  // namespace memprof::analysis
