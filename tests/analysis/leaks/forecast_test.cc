// The step at which memory will be exhausted.
#include "analysis/leaks/forecast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/base/sizes.h"
#include "analysis/leaks/leaks.h"
#include "tests/analysis/leaks/leak_patterns.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using ::testing::HasSubstr;
using testing::LeakRun;
using testing::LoadLog;
using testing::LogBuilder;
using testing::MakeLeakRun;

TEST(LeaksTest, FiguresOfASteadyLeak) {
  const auto session = MakeLeakRun(
      [](LeakRun& run, int step) {
        if (step >= 0) run.Alloc(4 * kMiB);
      },
      1, 50);
  ASSERT_NE(session, nullptr);
  const LeakReport report = FindLeaks(*session);
  ASSERT_EQ(report.leaks.size(), 1u);
  const Leak& leak = report.leaks[0];
  EXPECT_EQ(leak.layer, Layer::kBlock);
  EXPECT_EQ(leak.device, 0);
  EXPECT_EQ(leak.bytes, 200 * kMiB);  // including the last step's, which are live at the end
  EXPECT_EQ(leak.blocks, 50u);
  EXPECT_EQ(leak.survivors.size(), 50u);
  EXPECT_EQ(leak.first_step, 4);
  EXPECT_EQ(leak.guard_steps, 2);
  EXPECT_DOUBLE_EQ(leak.bytes_per_step, 4.0 * kMiB);
  EXPECT_EQ(session->allocation(leak.example).birth_step, 4);
  EXPECT_THAT(leak.why, HasSubstr("4.00 MiB per step"));
  EXPECT_THAT(leak.why, HasSubstr("None of its 50 allocations was freed"));
  EXPECT_THAT(leak.disproof, HasSubstr("record a longer run"));
  EXPECT_GT(leak.steps_to_oom, 0);
}

TEST(Forecast, IsNotToldFarBeyondWhatWasObserved) {
  EXPECT_DOUBLE_EQ(StepsToOom(4000, 2, 10), 2000);
  EXPECT_EQ(StepsToOom(20000, 2, 10), -1);
}

// A run that ends out of memory: each step keeps `kLeak` and also needs `kWork`, on a device of
// `kDevice` whose context takes `kContext`. The allocator takes segments of 16 MiB and never frees
// them.
class DyingRun {
 public:
  static constexpr std::uint64_t kDevice = 1024 * kMiB, kContext = 100 * kMiB, kLeak = 8 * kMiB,
                                 kWork = 256 * kMiB, kSegment = 16 * kMiB;

  // `steps` whole steps and the beginning of one more. room() is the memory that limits their
  // number.
  explicit DyingRun(int steps, bool sampled = true) {
    log_.Device(0, kDevice);
    const int keep = log_.Stack({"main (a.py:1)", "Keep (a.py:2)"});
    const int work = log_.Stack({"main (a.py:1)", "Work (a.py:3)"});
    if (sampled)
      log_.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, kDevice - kContext, 0, {.aux0 = kDevice});
    for (int step = 0; step <= steps; ++step) {
      log_.Step(static_cast<std::uint64_t>(step));
      if (step == steps) break;
      Take(kLeak, keep);
      const std::uint64_t address = Take(kWork, work);
      log_.Free(Layer::kBlock, address);
      used_ -= kWork;
    }
  }
  const LogBuilder& log() const { return log_; }
  // How many more steps fit after `steps`, counted one by one.
  static int StepsLeft(int steps, std::uint64_t room) {
    int more = 0;
    while ((static_cast<std::uint64_t>(steps) + more + 1) * kLeak + kWork <= room) ++more;
    return more;
  }

 private:
  // Leaks are placed one after another from the start, work memory after them.
  std::uint64_t Take(std::uint64_t bytes, int stack) {
    used_ += bytes;
    while (reserved_ < used_) {
      log_.Alloc(Layer::kLinear, kStart + reserved_, kSegment);
      log_.Alloc(Layer::kSegment, kStart + reserved_, kSegment);
      reserved_ += kSegment;
    }
    const std::uint64_t address = kStart + used_ - bytes;
    log_.Alloc(Layer::kBlock, address, bytes, {.stack = stack, .aux0 = bytes});
    return address;
  }

  static constexpr std::uint64_t kStart = 0x10'0000'0000;
  LogBuilder log_;
  std::uint64_t used_ = 0, reserved_ = 0;
};

TEST(LeaksTest, WhatAStepNeedsIsNoRoomForALeak) {
  for (const bool sampled : {true, false}) {
    const std::uint64_t room = DyingRun::kDevice - (sampled ? DyingRun::kContext : 0);
    const int all = DyingRun::StepsLeft(0, room);
    for (const int steps : {30, all / 2 + 10, all - 1, all}) {
      const auto session = LoadLog(DyingRun(steps, sampled).log());
      ASSERT_NE(session, nullptr);
      const LeakReport report = FindLeaks(*session);
      ASSERT_EQ(report.leaks.size(), 1u) << steps;
      EXPECT_NEAR(report.leaks[0].steps_to_oom, DyingRun::StepsLeft(steps, room), 1.01) << steps;
    }
  }
}

TEST(LeaksTest, TheForecastInWords) {
  EXPECT_EQ(StepsAhead(0), "in the next step");
  EXPECT_EQ(StepsAhead(0.9), "in the next step");
  EXPECT_EQ(StepsAhead(1.9), "in about 1 step");
  EXPECT_EQ(StepsAhead(14.2), "in about 14 steps");
  EXPECT_EQ(StepsAhead(999), "in about 999 steps");
  EXPECT_EQ(StepsAhead(247764), "in about 247,000 steps");
  EXPECT_EQ(StepsAhead(1e30), "in about 9,000,000,000,000,000 steps");
}

}  // namespace
}  // namespace memprof::analysis
