// Verdicts by time, in programs that mark no steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analysis/base/sizes.h"
#include "analysis/leaks/leaks.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::LoadLog;
using testing::LogBuilder;

// Iterations of a loop without step marks. Each allocates and frees temporaries around the call of
// `body`.
std::shared_ptr<const Session> UnmarkedLoop(int iterations, int temporaries,
                                            const std::function<void(LogBuilder&, int)>& body) {
  LogBuilder log;
  const int work = log.Stack({"main (a.cc:1)", "Work (a.cc:2)"});
  for (int i = 0; i < iterations; ++i) {
    for (std::uint64_t t = 0; t < static_cast<std::uint64_t>(temporaries); ++t)
      log.Alloc(Layer::kLinear, 0x900'0000'0000 + t * kMiB, 4096 << t % 4, {.stack = work});
    body(log, i);
    for (std::uint64_t t = 0; t < static_cast<std::uint64_t>(temporaries); ++t)
      log.Free(0x900'0000'0000 + t * kMiB);
  }
  return LoadLog(log);
}

std::shared_ptr<const Session> LoopThatLoses(int temporaries) {
  return UnmarkedLoop(300, temporaries, [](LogBuilder& log, int iteration) {
    const int lose = log.Stack({"main (a.cc:1)", "Lose (a.cc:7)"});
    log.Alloc(Layer::kLinear, 0x100000 + static_cast<std::uint64_t>(iteration) * 4096, 4096,
              {.stack = lose});
  });
}

TEST(LeaksUnmarkedTest, ABlockOfEachTurnIsALeakByTime) {
  const auto session = LoopThatLoses(5);
  ASSERT_NE(session, nullptr);
  const LeakReport report = FindLeaks(*session);
  ASSERT_EQ(report.leaks.size(), 1u) << report.verdict;
  const Leak& leak = report.leaks[0];
  EXPECT_EQ(leak.basis, LeakBasis::kTime);
  EXPECT_EQ(leak.tier, LeakTier::kSuspected);
  EXPECT_EQ(leak.blocks, 300u);
  EXPECT_EQ(leak.bytes_per_step, 0);
  EXPECT_GT(leak.bytes_per_second, 0);
  EXPECT_EQ(leak.first_step, -1);
  EXPECT_THAT(leak.why, HasSubstr("rose 300 times in a row"));
  EXPECT_THAT(report.verdict, HasSubstr("1 site keeps growing, judged by time"));
  EXPECT_EQ(report.steps, 0);
  EXPECT_FALSE(report.horizon_too_short);
}

// By 512 bytes in each turn, of which several windows are a part.
TEST(LeaksUnmarkedTest, ABufferThatIsReplacedByAnotherALittleLargerGrows) {
  const auto session = UnmarkedLoop(60, 5, [](LogBuilder& log, int turn) {
    const auto at = [](int of) { return 0x100000000 + static_cast<std::uint64_t>(of % 2) * kMiB; };
    log.Alloc(Layer::kLinear, at(turn), 512 * static_cast<std::uint64_t>(turn + 1),
              {.stack = log.Stack({"main (a.cc:1)", "Append (a.cc:7)"})});
    if (turn > 0) log.Free(at(turn - 1));
  });
  const LeakReport report = FindLeaks(*session);
  ASSERT_EQ(report.leaks.size(), 1u) << report.verdict;
  EXPECT_EQ(report.leaks[0].tier, LeakTier::kGrowing);
}

// The last one is freed after the last window.
TEST(LeaksUnmarkedTest, AllFreesOfASiteCount) {
  LogBuilder log;
  const int work = log.Stack({"main (a.cc:1)", "Work (a.cc:2)"});
  for (std::uint64_t i = 0; i < 100; ++i) {
    log.Alloc(Layer::kLinear, 0x100000 + i * 4096, 4096, {.stack = work});
    if (i % 4 != 0) log.Free(0x100000 + i * 4096);
  }
  const LeakReport report = FindLeaks(*LoadLog(log));
  ASSERT_EQ(report.leaks.size(), 1u) << report.verdict;
  EXPECT_THAT(report.leaks[0].why, HasSubstr("Of its 100 allocations, 75 were freed."));
}

// Of what the list at the begin of a segment has, no birth is known.
TEST(LeaksUnmarkedTest, WhatWasThereBeforeIsKept) {
  LogBuilder log;
  log.header().set_start_time_ns(1000);
  log.header().mutable_always_on()->set_budget_bytes(1 << 20);
  log.header().mutable_always_on()->set_segment(2);
  log.SetTime(1000);
  log.Alloc(Layer::kLinear, 0x900000, kMiB, {.stack = log.Stack({"main (a.cc:1)"})});
  const int work = log.Stack({"main (a.cc:1)", "Work (a.cc:2)"});
  for (std::uint64_t i = 0; i < 100; ++i) {
    log.SetTime(2000 + 100 * i);
    log.Alloc(Layer::kLinear, 0x100000, 4096, {.stack = work});
    log.Free(0x100000);
  }
  const LeakReport report = FindLeaks(*LoadLog(log));
  EXPECT_TRUE(report.leaks.empty()) << report.verdict;
  ASSERT_EQ(report.live_at_exit.size(), 1u);
  EXPECT_EQ(report.live_at_exit[0].why, "There before the log began, and kept.");
}

// A recording always on writes what lives on some seconds later: of the last ones nothing is there
// but what is always written.
TEST(LeaksUnmarkedTest, WhatIsNotWrittenYetIsNoEndOfGrowth) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  LogBuilder log;
  log.header().mutable_always_on()->set_budget_bytes(1 << 20);
  const int keep = log.Stack({"main (a.cc:1)", "Keep (a.cc:2)"});
  const int other = log.Stack({"main (a.cc:1)", "Other (a.cc:3)"});
  for (std::uint64_t i = 0; i < 80; ++i) {
    log.SetTime(i * kSecond / 10);
    if (i < 45) log.Alloc(Layer::kBlock, 0x100000 + i * 4096, 4096, {.stack = keep});
    log.Alloc(Layer::kBlock, 0x900000, 4096, {.stack = other});
    log.Free(Layer::kBlock, 0x900000);
  }
  log.Event(Op::kThinned, Layer::kUnspecified, 0, 100, 0, {.device = kNoDevice, .aux0 = 1});
  const LeakReport report = FindLeaks(*LoadLog(log));
  ASSERT_EQ(report.leaks.size(), 1u) << report.verdict;
  EXPECT_EQ(report.leaks[0].blocks, 45u);
}

// A model that is moved to the device, a file that is loaded: one call, in which nothing is freed.
TEST(LeaksUnmarkedTest, WhatOnlyAllocatesIsNoLeakForSure) {
  const auto session = LoopThatLoses(0);
  ASSERT_NE(session, nullptr);
  const LeakReport report = FindLeaks(*session);
  EXPECT_TRUE(report.leaks.empty());
  ASSERT_EQ(report.rising.size(), 1u) << report.verdict;
  const Leak& rising = report.rising[0];
  EXPECT_EQ(rising.blocks, 300u);
  EXPECT_LT(rising.score, 50);
  EXPECT_THAT(rising.why,
              AllOf(HasSubstr("rose 300 times in a row"), HasSubstr("hardly anything was freed")));
  EXPECT_THAT(report.verdict, HasSubstr("too little is freed to judge growth"));
}

TEST(LeaksUnmarkedTest, WhatIsMadeFirstAndKeptIsNoLeak) {
  const auto session = UnmarkedLoop(300, 5, [](LogBuilder& log, int iteration) {
    const int make = log.Stack({"main (a.cc:1)", "MakeWeights (a.cc:7)"});
    for (std::uint64_t i = 0; iteration == 0 && i < 300; ++i)
      log.Alloc(Layer::kLinear, 0x100000 + i * 4096, 4096, {.stack = make});
  });
  ASSERT_NE(session, nullptr);
  const LeakReport report = FindLeaks(*session);
  EXPECT_TRUE(report.leaks.empty());
  EXPECT_THAT(report.verdict, HasSubstr("No growth, judged by time"));
  EXPECT_EQ(report.basis, LeakBasis::kTime);
}

// Activations accumulate in the forward pass; gradients accumulate while activations are freed.
TEST(LeaksUnmarkedTest, ASinglePassIsNoLoop) {
  LogBuilder log;
  const auto layer = [](std::uint64_t base, int i) {
    return base + static_cast<std::uint64_t>(i) * kMiB;
  };
  const int forward = log.Stack({"main (a.cc:1)", "Forward (a.cc:2)"});
  const int backward = log.Stack({"main (a.cc:1)", "Backward (a.cc:3)"});
  const int gradient = log.Stack({"main (a.cc:1)", "Gradient (a.cc:4)"});
  constexpr int kLayers = 60;
  for (int i = 0; i < kLayers; ++i) {
    log.Alloc(Layer::kLinear, layer(0x100'0000'0000, i), kMiB, {.stack = forward});
    log.Alloc(Layer::kLinear, layer(0x200'0000'0000, i), kMiB, {.stack = forward});
    log.Free(layer(0x200'0000'0000, i));
  }
  for (int i = kLayers; i-- > 0;) {
    log.Alloc(Layer::kLinear, layer(0x300'0000'0000, i), kMiB, {.stack = backward});
    log.Alloc(Layer::kLinear, layer(0x400'0000'0000, i), kMiB, {.stack = gradient});
    log.Free(layer(0x300'0000'0000, i));
    log.Free(layer(0x100'0000'0000, i));
  }
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const LeakReport report = FindLeaks(*session);
  EXPECT_TRUE(report.leaks.empty()) << report.leaks[0].why;
}

// 60 iterations that each keep a result and free a temporary, called by `way`; with `outside`, each
// iteration first allocates there.
LeakReport IterationsUnder(const std::vector<std::string>& way, const std::string& outside = "") {
  LogBuilder log;
  const auto stack = [&](const std::string& site) {
    std::vector<std::string> frames = way;
    frames.push_back(site);
    return log.Stack(frames);
  };
  const int keep = stack("attend (model.py:20)");
  const int norm = stack("norm (model.py:21)");
  for (std::uint64_t i = 0; i < 60; ++i) {
    if (!outside.empty()) {
      log.Alloc(Layer::kBlock, 0x800'0000'0000, 4096, {.stack = log.Stack({outside})});
      log.Free(0x800'0000'0000);
    }
    log.Alloc(Layer::kBlock, 0x100'0000'0000 + i * kMiB, kMiB, {.stack = keep});
    log.Alloc(Layer::kBlock, 0x900'0000'0000, 4096, {.stack = norm});
    log.Free(0x900'0000'0000);
  }
  const auto session = LoadLog(log);
  return session == nullptr ? LeakReport() : FindLeaks(*session);
}

TEST(LeaksUnmarkedTest, LayersOfOneForwardPassAreNoTurns) {
  using Way = std::vector<std::string>;
  for (const Way& way : {Way{"main (train.py:9)", "forward (model.py:7)"},
                         Way{"main (train.py:9)", "Net.forward (model.py:7)"},
                         Way{"main (train.py:9)", "step (optimizers.py:7)"},
                         Way{"main (train.py:9)", "Adam.step (optimizers.py:7)"},
                         Way{"backward of <module> (train.py:9)"},
                         Way{"torch::autograd::Engine::evaluate_function (engine.cpp:3)"}}) {
    const LeakReport report = IterationsUnder(way);
    EXPECT_TRUE(report.leaks.empty()) << report.verdict;
    ASSERT_EQ(report.rising.size(), 1u) << report.verdict;
    EXPECT_LT(report.rising[0].score, 50);
    EXPECT_THAT(report.rising[0].why, HasSubstr("allocated in one pass through a network"));
  }
}

TEST(LeaksUnmarkedTest, ALoopAroundPassesMakesSomethingOutsideOfThem) {
  const LeakReport report =
      IterationsUnder({"main (train.py:9)", "forward (model.py:7)"}, "main (train.py:8)");
  ASSERT_EQ(report.leaks.size(), 1u) << report.verdict;
  EXPECT_EQ(report.leaks[0].blocks, 60u);
}

// A function is not an optimizer just because it is named "step".
TEST(LeaksUnmarkedTest, AStepThatIsNoOptimizersIsATurn) {
  EXPECT_EQ(IterationsUnder({"main (train.py:9)", "step (train.py:3)"}).leaks.size(), 1u);
  EXPECT_EQ(IterationsUnder({"main (train.py:9)"}).leaks.size(), 1u);
}

}  // namespace
}  // namespace memprof::analysis
