// Replay of recorded allocators: a second, simple and obviously correct caching allocator writes
// the logs, and replaying them must give its figures.
#include "analysis/allocators/allocator_replay.h"

#include <algorithm>

#include "analysis/base/sizes.h"
#include "gtest/gtest.h"
#include "tests/analysis/allocators/allocator_replay_fixture.h"
#include "tests/demo_trainer/allocator_reference.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using allocators::AllocatorKind;
using testing::LoadLog;
using testing::LogBuilder;
using testing::ReferenceLog;

TEST(WhatIfTest, ReplaysWhatWasRecordedExactly) {
  for (std::uint32_t seed = 1; seed <= 8; ++seed) {
    for (const std::uint64_t streams : {1u, 3u}) {
      ReferenceLog log;
      log.Churn(seed, 500, streams);
      const DeviceReplay replay = log.Replay();
      EXPECT_EQ(replay.recorded.peak_reserved, log.peak());
      EXPECT_EQ(replay.replayed.figures.peak_reserved, log.peak());
      EXPECT_EQ(replay.replayed.figures.peak_allocated, replay.recorded.peak_allocated);
      EXPECT_EQ(replay.replayed.figures.allocated_at_peak, replay.recorded.allocated_at_peak);
      EXPECT_EQ(replay.replayed.figures.peak_segments, replay.recorded.peak_segments);
      EXPECT_EQ(replay.replayed.driver_calls, replay.recorded_driver_calls);
      EXPECT_EQ(replay.residual, 0) << "seed " << seed;
      EXPECT_FALSE(replay.uncertain);
      EXPECT_EQ(replay.streams, streams);
      EXPECT_EQ(replay.origin, SpecOrigin::kLog);
      EXPECT_EQ(allocators::SpecName(replay.replayed.spec), "caching");
    }
  }
}

// Which of several equal blocks is the lowest decides what stays reserved.
TEST(WhatIfTest, TheRecordedAllocatorIsItselfAmongTheOthersWhereverSegmentsLie) {
  for (std::uint32_t seed = 1; seed <= 24; ++seed) {
    ReferenceLog log;
    log.GiveAddressesDownwards();
    log.Churn(seed, 500, 1);
    const DeviceReplay replay = log.Replay();
    ASSERT_EQ(allocators::SpecName(replay.others[0].spec), "caching");
    EXPECT_EQ(replay.others[0].figures.peak_reserved, log.peak()) << seed;
    EXPECT_EQ(replay.others[0].driver_calls, replay.recorded_driver_calls) << seed;
  }
}

// The same run logged with and without requested sizes.
TEST(WhatIfTest, EstimatesWhatWasRequestedBehindBlocksKeptWhole) {
  double worst = 0, worst_of_blocks = 0;
  for (std::uint32_t seed = 1; seed <= 8; ++seed) {
    const std::uint64_t streams = seed % 2 + 1;
    ReferenceLog known, unknown;
    unknown.SayBlocksOnly();
    for (ReferenceLog* log : {&known, &unknown}) log->Churn(seed, 2000, streams, 4 * kMiB);
    const DeviceReplay truth = known.Replay(), estimate = unknown.Replay();
    EXPECT_EQ(truth.estimated, 0u);
    EXPECT_GT(estimate.estimated, 0u);
    EXPECT_EQ(estimate.residual, 0);
    ASSERT_EQ(allocators::SpecName(estimate.others[0].spec), "caching");
    EXPECT_EQ(estimate.others[0].figures.peak_reserved, truth.others[0].figures.peak_reserved)
        << "all sizes within the bounds give the same blocks in the recorded allocator";
    EXPECT_EQ(estimate.others[0].driver_calls, truth.others[0].driver_calls);
    ASSERT_EQ(allocators::SpecName(estimate.others[1].spec), "caching:expandable");
    const auto share = [&](std::uint64_t bytes) {
      const auto right = static_cast<double>(truth.others[1].figures.peak_allocated);
      return std::abs(static_cast<double>(bytes) - right) / right;
    };
    worst = std::max(worst, share(estimate.others[1].figures.peak_allocated));
    worst_of_blocks = std::max(worst_of_blocks, share(estimate.recorded.peak_allocated));
  }
  EXPECT_LT(worst, 0.02);
  EXPECT_GT(worst_of_blocks, 3 * worst)
      << "if blocks are treated as requests, the error is this large";
}

TEST(WhatIfTest, ReplaysWhatWasReleasedForWantOfMemory) {
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    ReferenceLog log(~std::uint64_t{0}, 300 * kMiB);
    log.Churn(seed, 500, 2);
    const DeviceReplay replay = log.Replay();
    EXPECT_EQ(replay.residual, 0) << "seed " << seed;
    EXPECT_EQ(replay.recorded.peak_reserved, log.peak());
  }
}

TEST(WhatIfTest, FindsMaxSplitFromBlocksKeptWhole) {
  ReferenceLog log(32 * kMiB);
  log.Churn(3, 600, 1, 80 * kMiB);
  const DeviceReplay replay = log.Replay();
  EXPECT_LE(std::abs(replay.residual), static_cast<std::int64_t>(log.peak() / 100));
  EXPECT_FALSE(replay.uncertain);
}

TEST(WhatIfTest, TakesTheRecordedEnvironmentsWord) {
  ReferenceLog log(32 * kMiB);
  log.Churn(5, 600, 1, 80 * kMiB);
  log.log().header().add_environment("PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:32");
  const DeviceReplay replay = log.Replay();
  EXPECT_EQ(replay.origin, SpecOrigin::kEnvironment);
  EXPECT_EQ(allocators::SpecName(replay.replayed.spec), "caching:max_split=32MiB");
  EXPECT_EQ(replay.residual, 0);
}

TEST(WhatIfTest, NonsenseInTheEnvironmentIsPassedOver) {
  ReferenceLog log;
  log.Allocate(100);
  log.log().header().add_environment("PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:lots");
  EXPECT_EQ(log.Replay().origin, SpecOrigin::kLog);
}

TEST(WhatIfTest, SaysHowFarItIsOff) {
  ReferenceLog log;
  log.Churn(7, 300, 1);
  ReplayOptions options;
  options.placement_seconds = 0;
  const auto cuda = allocators::ParseSpec("cuda");
  options.recorded = &*cuda;
  const DeviceReplay replay = log.Replay(options);
  EXPECT_EQ(replay.origin, SpecOrigin::kGiven);
  EXPECT_EQ(replay.residual, static_cast<std::int64_t>(replay.replayed.figures.peak_reserved) -
                                 static_cast<std::int64_t>(log.peak()));
  EXPECT_NE(replay.residual, 0);
  EXPECT_TRUE(replay.uncertain);
}

TEST(WhatIfTest, OthersAreInTheOrderRequested) {
  ReferenceLog log;
  log.Allocate(3 * kMiB);
  log.Free(0);
  log.Allocate(30 * kMiB);
  ReplayOptions options;
  options.others = {*allocators::ParseSpec("cuda"), *allocators::ParseSpec("caching")};
  options.threads = 3;
  const DeviceReplay replay = log.Replay(options);
  ASSERT_EQ(replay.others.size(), 2u);
  EXPECT_EQ(replay.others[0].spec.kind, AllocatorKind::kCuda);
  EXPECT_EQ(replay.others[0].figures.peak_reserved, 30 * kMiB);
  EXPECT_EQ(replay.others[0].saving, static_cast<std::int64_t>(20 * kMiB));
  EXPECT_EQ(replay.others[1].saving, 0);
  EXPECT_EQ(replay.max_live, 30 * kMiB);
  EXPECT_EQ(replay.placement.height, 30 * kMiB);
  EXPECT_TRUE(replay.others[0].fits && replay.others[1].fits);
}

TEST(WhatIfTest, WithoutSynchronisationsStepsAreTaken) {
  LogBuilder log;
  log.Device(0, 1024 * kMiB);
  for (int step = 0; step < 3; ++step) {
    log.Step(static_cast<std::uint64_t>(step));
    log.Alloc(Layer::kStreamOrdered, 0x1000000, 3 * kMiB, {.aux0 = 0x77});
    log.Free(Layer::kStreamOrdered, 0x1000000);
  }
  ReplayOptions options;
  options.others = {*allocators::ParseSpec("pool"),
                    *allocators::ParseSpec("pool:release_threshold=1GiB")};
  options.placement_seconds = 0;
  const std::vector<DeviceReplay> replays = ReplayAllocators(*LoadLog(log), options);
  ASSERT_EQ(replays.size(), 1u);
  EXPECT_EQ(replays[0].others[0].driver_calls, 5u) << "allocated three times, freed twice";
  EXPECT_EQ(replays[0].others[1].driver_calls, 1u);
}

TEST(WhatIfTest, EveryLogHasAnAnswer) {
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    testing::RandomLog random({.seed = seed});
    const auto session = LoadLog(random.builder());
    for (const DeviceReplay& replay : ReplayAllocators(*session, {.placement_seconds = 0.01})) {
      EXPECT_EQ(replay.others.size(), UsualAllocators().size());
      EXPECT_GE(replay.placement.height, replay.max_live);
      for (const WhatIf& what : replay.others) {
        EXPECT_EQ(what.figures.allocations, replay.requests) << allocators::SpecName(what.spec);
        EXPECT_GE(what.figures.peak_reserved, what.figures.peak_allocated);
      }
    }
  }
  EXPECT_TRUE(ReplayAllocators(*LoadLog(LogBuilder()), {}).empty());
}

}  // namespace
}  // namespace memprof::analysis
