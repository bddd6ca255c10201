// Phases of steps, from stacks and ranges, against plain loops; and which steps are typical.
#include "analysis/steps/phases.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;

constexpr auto kForward = static_cast<std::size_t>(StepPhase::kForward);
constexpr auto kBackward = static_cast<std::size_t>(StepPhase::kBackward);
constexpr auto kOptimizer = static_cast<std::size_t>(StepPhase::kOptimizer);
constexpr auto kOther = static_cast<std::size_t>(StepPhase::kOther);

const char* const kFrames[] = {"Model.forward (net.py:3)", "backward of Model.forward (net.py:3)",
                               "AdamW.step (/v/torch/optim/adamw.py:9)", "helper (util.py:1)"};

// The expected phases of each step, by plain counting.
struct Truth {
  std::vector<StepPhases> steps;
};

// Random allocations in random phases; "helper" shows no phase.
std::shared_ptr<const Session> RandomSteps(std::uint32_t seed, Truth* truth) {
  std::mt19937 random(seed);
  LogBuilder log;
  log.Device(0, std::uint64_t{1} << 40);
  int stacks[4];
  for (int i = 0; i < 4; ++i) stacks[i] = log.Stack({"main (a.py:1)", kFrames[i]});
  std::uint64_t next = 0x1000'0000, live = 0, now = 1000;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> blocks;
  for (std::uint64_t step = 0; step < 6; ++step) {
    log.SetTime(now);
    log.Step(step);
    truth->steps.emplace_back();
    std::size_t phase = kOther;
    TimeNs since = now;
    for (int i = 0; i < 40; ++i) {
      now += 1 + random() % 500;
      log.SetTime(now);
      if (!blocks.empty() && random() % 3 == 0) {
        const std::size_t victim = random() % blocks.size();
        log.Free(Layer::kBlock, blocks[victim].first);
        live -= blocks[victim].second;
        blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(victim));
        continue;
      }
      const std::size_t said = random() % 4;
      const std::uint64_t bytes = 512 * (1 + random() % 100);
      log.Alloc(Layer::kBlock, next, bytes, {.stack = stacks[said], .aux0 = bytes});
      blocks.emplace_back(next, bytes);
      next += bytes;
      live += bytes;
      StepPhases& phases = truth->steps.back();
      if (said != kOther && said != phase) {
        phases[phase].takes += now - since;
        since = now;
        phase = said;
      }
      ++phases[phase].allocations;
      phases[phase].allocated_bytes += bytes;
      phases[phase].peak_bytes = std::max(phases[phase].peak_bytes, live);
    }
    now += 100;
    truth->steps.back()[phase].takes += now - since;
  }
  log.SetTime(now);
  log.Step(6);
  return LoadLog(log);
}

TEST(StepPhasesTest, AreThoseOfPlainCounting) {
  for (std::uint32_t seed = 1; seed <= 30; ++seed) {
    Truth truth;
    const auto session = RandomSteps(seed, &truth);
    ASSERT_NE(session, nullptr);
    Symbols symbols(session);
    const std::vector<StepPhases> phases = DescribePhases(*session, &symbols, session->steps());
    const std::vector<StepFigures> figures = DescribeSteps(*session, session->steps());
    ASSERT_EQ(phases.size(), 7u);
    for (std::size_t s = 0; s < truth.steps.size(); ++s) {
      std::uint64_t allocations = 0, bytes = 0, peak = 0;
      TimeNs takes = 0;
      for (std::size_t p = 0; p < kStepPhases; ++p) {
        const PhaseFigures &found = phases[s][p], &wanted = truth.steps[s][p];
        EXPECT_EQ(found.allocations, wanted.allocations) << seed << " " << s << " " << p;
        EXPECT_EQ(found.allocated_bytes, wanted.allocated_bytes);
        EXPECT_EQ(found.peak_bytes, wanted.peak_bytes);
        EXPECT_EQ(found.takes, wanted.takes) << seed << " " << s << " " << p;
        allocations += found.allocations;
        bytes += found.allocated_bytes;
        peak = std::max(peak, found.peak_bytes);
        takes += found.takes;
      }
      EXPECT_EQ(allocations, figures[s].allocations) << "the phases sum to their step";
      EXPECT_EQ(bytes, figures[s].allocated_bytes);
      EXPECT_LE(peak, figures[s].peak_bytes);
      EXPECT_EQ(takes, session->steps()[s].end - session->steps()[s].begin);
    }
  }
}

TEST(StepPhasesTest, RangesSpeakWhereStacksDoNot) {
  LogBuilder log;
  const int helper = log.Stack({"main (a.cc:1)", "Helper (a.cc:2)"});
  const int forward = log.Stack({"main (a.cc:1)", "Layer::Forward (a.cc:2)"});
  const auto alloc = [&log](std::uint64_t address, std::uint64_t bytes, int stack) {
    log.Alloc(Layer::kLinear, address, bytes, {.stack = stack});
  };
  log.Step(0);
  alloc(0x10000, 100, helper);
  log.RangePush("backward");
  alloc(0x20000, 20, helper);
  alloc(0x30000, 3, forward);  // the stack overrides the range
  log.RangePop();
  log.RangePush("optimizer");
  alloc(0x40000, 7, helper);
  log.RangePop();
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  Symbols symbols(session);
  const StepPhases phases = DescribePhases(*session, &symbols, session->steps())[0];
  EXPECT_EQ(phases[kOther].allocated_bytes, 100u);
  EXPECT_EQ(phases[kBackward].allocated_bytes, 20u);
  EXPECT_EQ(phases[kForward].allocated_bytes, 3u);
  EXPECT_EQ(phases[kOptimizer].allocated_bytes, 7u);
  // Without symbols only ranges count.
  const StepPhases blind = DescribePhases(*session, nullptr, session->steps())[0];
  EXPECT_EQ(blind[kBackward].allocated_bytes, 23u);
  EXPECT_EQ(blind[kForward].allocated_bytes, 0u);
  EXPECT_TRUE(DescribePhases(*session, &symbols, {}).empty());
}

TEST(StepPhasesTest, UsualStepsAreThoseLikeTheTypicalOne) {
  std::vector<StepPhases> phases(4);
  std::vector<StepFigures> figures(4);
  for (std::size_t i = 0; i < 4; ++i) {
    phases[i][kForward] = {10 + i, 1000 * (i + 1), 5000 + i, 100 * (i + 1)};
    figures[i].likeness = i == 0 ? 0.5 : 1;
  }
  std::size_t of = 0;
  const StepPhases usual = UsualPhases(phases, figures, &of);
  EXPECT_EQ(of, 2u) << "not the first, which differs, nor the last, which may be truncated";
  EXPECT_EQ(usual[kForward].allocations, 12u);  // 11.5, rounded
  EXPECT_EQ(usual[kForward].allocated_bytes, 2500u);
  EXPECT_EQ(usual[kForward].peak_bytes, 5002u);
  EXPECT_EQ(usual[kForward].takes, 250u);
  for (StepFigures& f : figures) f.likeness = 0;
  EXPECT_EQ(UsualPhases(phases, figures, &of)[kForward].allocations, 0u);
  EXPECT_EQ(of, 0u);
}

}  // namespace
}  // namespace memprof::analysis
