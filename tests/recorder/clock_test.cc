// The clock: what the keeper makes of readings, and that it is CLOCK_MONOTONIC and never goes back.
#include "libmemprof/src/clock.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "libmemprof/src/sys.h"

namespace memprof::recorder {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kSecond = 1'000'000'000;

// A processor of so many ticks a microsecond, and a kernel's clock beside it.
class Machine {
 public:
  explicit Machine(double ticks_per_us) : ticks_per_us_(ticks_per_us) {}
  void Pass(std::uint64_t ns) { now_ns_ += static_cast<double>(ns); }
  // The kernel's clock runs by so many millionths faster than the counter says.
  void Slew(double ppm) {
    base_ns_ += (now_ns_ - since_ns_) * rate_;
    since_ns_ = now_ns_;
    rate_ = 1 + ppm * 1e-6;
  }
  void Jump(std::int64_t ns) { base_ns_ += static_cast<double>(ns); }
  std::uint64_t Ticks() const {
    return static_cast<std::uint64_t>(now_ns_ * ticks_per_us_ / 1000) + 77'000'000'000'000;
  }
  std::uint64_t Ns() const {
    return static_cast<std::uint64_t>(base_ns_ + (now_ns_ - since_ns_) * rate_);
  }
  ClockKeeper::Reading Read() const { return {Ticks(), Ns()}; }

 private:
  double ticks_per_us_;
  double now_ns_ = 0;
  double since_ns_ = 0;
  double base_ns_ = 5e9;
  double rate_ = 1;
};

class ClockKeeperTest : public ::testing::TestWithParam<double> {
 protected:
  // As the writer does it; how far the clock is from the kernel's just before each new scale.
  ClockKeeper::Advice Trim(std::uint64_t noise_ns = 0) {
    ClockKeeper::Reading reading = machine_.Read();
    reading.ns += noise_ns;
    const std::uint64_t before = scales_ == 0 ? machine_.Ns() : Now();
    const ClockKeeper::Advice advice = keeper_.Next(reading, &scale_);
    if (advice == ClockKeeper::Advice::kScale) {
      ++scales_;
      EXPECT_GE(Now(), before) << "went back at scale " << scales_;
      EXPECT_LE(Now(), before + 200) << "jumped at scale " << scales_;
    }
    return advice;
  }
  std::uint64_t Now() const { return AtTicks(scale_, machine_.Ticks()); }
  std::int64_t Error() const { return static_cast<std::int64_t>(Now() - machine_.Ns()); }

  Machine machine_{GetParam()};
  ClockKeeper keeper_;
  ClockScale scale_{};
  int scales_ = 0;
};

TEST_P(ClockKeeperTest, NeedsTwoReadings) {
  EXPECT_EQ(Trim(), ClockKeeper::Advice::kWait);
  EXPECT_EQ(keeper_.period_ns(), 20 * kMillisecond);
  machine_.Pass(keeper_.period_ns());
  EXPECT_EQ(Trim(), ClockKeeper::Advice::kScale);
  EXPECT_EQ(keeper_.period_ns(), 200 * kMillisecond);
  machine_.Pass(keeper_.period_ns());
  EXPECT_EQ(Trim(), ClockKeeper::Advice::kScale);
  EXPECT_EQ(keeper_.period_ns(), kSecond);
}

TEST_P(ClockKeeperTest, ReadingsTooCloseToEachOtherSayNothing) {
  Trim();
  machine_.Pass(9 * kMillisecond);
  EXPECT_EQ(Trim(), ClockKeeper::Advice::kWait);
  machine_.Pass(1 * kMillisecond);
  EXPECT_EQ(Trim(), ClockKeeper::Advice::kScale);
}

TEST_P(ClockKeeperTest, BeginsAheadSoThatTheChangeIsNoStepBack) {
  Trim();
  machine_.Pass(20 * kMillisecond);
  Trim();
  EXPECT_NEAR(static_cast<double>(Error()), 100, 2);
}

TEST_P(ClockKeeperTest, StaysWithinAMicrosecondForADay) {
  std::mt19937_64 random(7);
  Trim();
  for (int i = 0; i < 86'400; ++i) {
    if (i % 1000 == 0) machine_.Slew(static_cast<double>(random() % 1000) - 500);  // as NTP may
    machine_.Pass(keeper_.period_ns() + random() % (100 * kMillisecond));
    ASSERT_EQ(Trim(random() % 40), ClockKeeper::Advice::kScale);
    // A change of speed by up to 1000 ppm shows for one period, and what it did for some more.
    if (i % 1000 > 60) {
      ASSERT_LT(std::abs(Error()), 1000) << i;
    }
  }
}

TEST_P(ClockKeeperTest, ALateTrimIsNoHarm) {
  Trim();
  for (std::uint64_t pause : {20 * kMillisecond, kSecond, 3600 * kSecond, 10 * kSecond, kSecond}) {
    machine_.Pass(pause);
    ASSERT_EQ(Trim(), ClockKeeper::Advice::kScale) << pause;
  }
  EXPECT_LT(std::abs(Error()), 200'000);
  for (int i = 0; i < 60; ++i) {
    machine_.Pass(kSecond);
    ASSERT_EQ(Trim(), ClockKeeper::Advice::kScale);
  }
  EXPECT_LT(std::abs(Error()), 100);
}

TEST_P(ClockKeeperTest, GivesUpWhenTheClocksPart) {
  for (const std::int64_t jump : {std::int64_t{4'000'000}, std::int64_t{-4'000'000}}) {
    keeper_ = {};
    scales_ = 0;
    Trim();
    for (int i = 0; i < 3; ++i) {
      machine_.Pass(keeper_.period_ns());
      ASSERT_EQ(Trim(), ClockKeeper::Advice::kScale);
    }
    machine_.Jump(jump);  // the machine slept, or came from another one
    machine_.Pass(kSecond);
    EXPECT_EQ(keeper_.Next(machine_.Read(), &scale_), ClockKeeper::Advice::kStop) << jump;
  }
}

TEST_P(ClockKeeperTest, GivesUpWhenTheCounterGoesBack) {
  const ClockKeeper::Reading first = machine_.Read();
  keeper_.Next(first, &scale_);
  EXPECT_EQ(keeper_.Next({first.ticks - 5, first.ns + kSecond}, &scale_),
            ClockKeeper::Advice::kStop);
  EXPECT_EQ(keeper_.Next({first.ticks + 5, first.ns - 1}, &scale_), ClockKeeper::Advice::kStop);
}

INSTANTIATE_TEST_SUITE_P(TicksPerMicrosecond, ClockKeeperTest,
                         ::testing::Values(24.0, 999.9, 2445.4, 5800.0));

TEST(ClockScaleTest, TellsTimesBeforeItsBaseToo) {
  const ClockScale scale{1000, 500'000, std::uint64_t{1} << 31};  // two ticks a nanosecond
  EXPECT_EQ(AtTicks(scale, 1000), 500'000u);
  EXPECT_EQ(AtTicks(scale, 3000), 501'000u);
  EXPECT_EQ(AtTicks(scale, 600), 499'800u);
  // A year of ticks does not overflow.
  EXPECT_EQ(AtTicks(scale, 1000 + (std::uint64_t{1} << 57)), 500'000 + (std::uint64_t{1} << 56));
}

// Real clocks from here on; where the counter may not be used they are one and the same.
class ClockTest : public ::testing::Test {
 protected:
  ClockTest() { ResetClock(); }
  ~ClockTest() override { ResetClock(); }

  // Until there is a scale; false where there never is one.
  static bool WaitForScale() {
    std::atomic<std::uint32_t> never{0};
    while (g_clock.number.load() == 0) {
      const std::uint64_t rest_ns = TrimClock();
      if (rest_ns == ~std::uint64_t{0}) return false;
      FutexWait(&never, 0, rest_ns);
    }
    return true;
  }
};

TEST_F(ClockTest, IsTheKernelsClock) {
  for (const bool scaled : {false, true}) {
    if (scaled && !WaitForScale()) GTEST_SKIP() << "the kernel does not use the counter here";
    for (int i = 0; i < 1000; ++i) {
      // Whoever reads in between reads something in between: to within the tolerance.
      const std::uint64_t before = SystemNs();
      const std::uint64_t now = NowNs();
      const std::uint64_t after = SystemNs();
      ASSERT_GE(now + kClockToleranceNs, before);
      ASSERT_LE(now, after + kClockToleranceNs);
    }
  }
}

// Threads hand a time to each other, each of which must not be later than the next one's.
TEST_F(ClockTest, NeverGoesBackFromThreadToThread) {
  std::atomic<std::uint64_t> latest{0};
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> worst{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) {
        const std::uint64_t seen = latest.load(std::memory_order_acquire);
        const std::uint64_t now = NowNs();
        if (now < seen && seen - now > worst.load()) worst.store(seen - now);
        std::uint64_t expected = seen;
        if (now > seen) latest.compare_exchange_strong(expected, now);
      }
    });
  }
  // Over the change to the first scale, and over two more.
  std::atomic<std::uint32_t> never{0};
  for (std::uint32_t last = 0; last < 3;) {
    const std::uint64_t rest_ns = TrimClock();
    if (rest_ns == ~std::uint64_t{0}) break;
    last = g_clock.number.load();
    if (last < 3) FutexWait(&never, 0, rest_ns);
  }
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(worst.load(), 0u);
}

TEST_F(ClockTest, AForkedChildBeginsWithTheKernelsClock) {
  if (!WaitForScale()) GTEST_SKIP() << "the kernel does not use the counter here";
  ResetClock();
  EXPECT_EQ(g_clock.number.load(), 0u);
  EXPECT_TRUE(WaitForScale());
}

}  // namespace
}  // namespace memprof::recorder
