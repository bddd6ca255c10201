// Memory outside of the allocator, and the capacity of the device.
#include "analysis/allocators/allocator_replay.h"
#include "analysis/base/sizes.h"
#include "gtest/gtest.h"
#include "tests/analysis/allocators/allocator_replay_fixture.h"
#include "tests/demo_trainer/allocator_reference.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using allocators::RequestSource;
using testing::LoadLog;
using testing::LogBuilder;
using testing::ReferenceLog;

TEST(WhatIfTest, ShowsWhatFitsIntoACapacity) {
  ReferenceLog log;
  log.Allocate(3 * kMiB);
  log.Free(0);
  log.Allocate(30 * kMiB);
  log.Allocate(18 * kMiB);
  ReplayOptions options;
  options.others = {*allocators::ParseSpec("cuda"),
                    *allocators::ParseSpec("bfc:preallocate=40MiB")};
  options.capacity = 49 * kMiB;
  options.placement_seconds = 0;
  const DeviceReplay replay = log.Replay(options);
  EXPECT_TRUE(replay.capacity_given);
  EXPECT_TRUE(replay.others[0].fits);
  EXPECT_FALSE(replay.others[1].fits) << "10 and 9 MiB are left, and 18 are requested";
  EXPECT_EQ(replay.others[1].figures.failed_bytes, 18 * kMiB);
  EXPECT_TRUE(replay.placement.addresses.empty());
}

TEST(WhatIfTest, MakesRefusedRequestsAgain) {
  ReferenceLog log(~std::uint64_t{0}, 64 * kMiB);
  log.Allocate(30 * kMiB);
  log.Allocate(40 * kMiB);
  ReplayOptions options;
  options.others = {*allocators::ParseSpec("cuda")};
  options.placement_seconds = 0;
  options.capacity = 64 * kMiB;
  DeviceReplay replay = log.Replay(options);
  EXPECT_EQ(replay.requests, 1u);
  EXPECT_EQ(replay.refused, 1u);
  EXPECT_EQ(replay.residual, 0);
  EXPECT_FALSE(replay.others[0].fits);
  options.capacity = 70 * kMiB;
  replay = log.Replay(options);
  EXPECT_TRUE(replay.others[0].fits);
  EXPECT_EQ(replay.max_live, 30 * kMiB) << "it was never live";
}

TEST(WhatIfTest, DriverMemoryBesideTheAllocatorTakesOfTheCapacity) {
  LogBuilder log;
  log.Device(0, 100 * kMiB);
  log.Alloc(Layer::kLinear, 0x1000000, 2 * kMiB);
  log.Alloc(Layer::kSegment, 0x1000000, 2 * kMiB);
  log.Alloc(Layer::kBlock, 0x1000000, kMiB);
  log.Alloc(Layer::kLinear, 0x9000000, 90 * kMiB);
  log.Alloc(Layer::kLinear, 0x2000000, 2 * kMiB);
  log.Alloc(Layer::kSegment, 0x2000000, 2 * kMiB);
  log.Alloc(Layer::kBlock, 0x2000000, 2 * kMiB);
  ReplayOptions options;
  options.others = {*allocators::ParseSpec("rmm_binning"), *allocators::ParseSpec("cuda")};
  const std::vector<DeviceReplay> replays = ReplayAllocators(*LoadLog(log), options);
  ASSERT_EQ(replays.size(), 1u);
  EXPECT_EQ(replays[0].peak_outside, 90 * kMiB);
  EXPECT_EQ(replays[0].capacity, 100 * kMiB);
  EXPECT_EQ(replays[0].recorded.peak_reserved, 4 * kMiB);
  EXPECT_FALSE(replays[0].others[0].fits);
  EXPECT_TRUE(replays[0].others[1].fits);
}

// A log of a thousand blocks in ten thousand segments each is not followed to its end.
TEST(WhatIfTest, BlocksInTooManySegmentsMakeReleasesUnclear) {
  for (const std::uint64_t blocks : {100u, 1000u}) {
    LogBuilder log;
    log.Device(0, std::uint64_t{1} << 40);
    constexpr std::uint64_t kSegments = 10'000, kBase = 0x700000000000;
    for (std::uint64_t i = 0; i < kSegments; ++i)
      log.Alloc(Layer::kSegment, kBase + i * 2 * kMiB, 2 * kMiB);
    for (std::uint64_t i = 0; i < blocks; ++i)
      log.Alloc(Layer::kBlock, kBase + i * 512, kSegments * 2 * kMiB - i * 512);
    const auto runs = allocators::RecordedRuns(*LoadLog(log));
    ASSERT_EQ(runs.size(), 1u);
    EXPECT_EQ(runs[0].releases_unclear, blocks == 1000);
  }
}

TEST(WhatIfTest, StreamOrderedMemoryIsAPool) {
  LogBuilder log;
  log.Device(0, 1024 * kMiB);
  log.Alloc(Layer::kStreamOrdered, 0x1000000, 3 * kMiB, {.stream = 7, .aux0 = 0x77});
  log.Event(Op::kPoolSample, Layer::kStreamOrdered, 0x77, 32 * kMiB, 0);
  log.Alloc(Layer::kStreamOrdered, 0x2000000, 3 * kMiB, {.stream = 8, .aux0 = 0x77});
  log.Free(Layer::kStreamOrdered, 0x1000000);
  log.Free(Layer::kStreamOrdered, 0x2000000);
  log.Event(Op::kSync, Layer::kUnspecified, 0, 0, 0);
  log.Event(Op::kPoolSample, Layer::kStreamOrdered, 0x77, 0, 0);
  log.Alloc(Layer::kLinear, 0x5000000, 5 * kMiB);
  const std::vector<DeviceReplay> replays =
      ReplayAllocators(*LoadLog(log), {.placement_seconds = 0});
  ASSERT_EQ(replays.size(), 1u);
  EXPECT_EQ(replays[0].source, RequestSource::kStreamOrdered);
  EXPECT_EQ(replays[0].streams, 2u);
  EXPECT_EQ(replays[0].recorded.peak_reserved, 32 * kMiB);
  EXPECT_EQ(replays[0].residual, 0);
  EXPECT_EQ(replays[0].peak_outside, 5 * kMiB);
  EXPECT_EQ(replays[0].replayed.figures.reserved, 0u) << "the synchronisation frees it";
}

TEST(WhatIfTest, DriverAllocationsAreComparedAtSamplesOfFreeMemory) {
  LogBuilder log;
  log.Device(0, 1024 * kMiB);
  const auto sample = [&](std::uint64_t free) {
    log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, free * kMiB, 0, {.aux0 = 1024 * kMiB});
  };
  sample(900);
  log.Alloc(Layer::kLinear, 0x1000000, 100);
  log.Alloc(Layer::kLinear, 0x2000000, 5 * kMiB);
  sample(892);
  log.Alloc(Layer::kLinear, 0x1000200, 100);
  sample(888);  // the driver took more than the model knows
  const std::vector<DeviceReplay> replays =
      ReplayAllocators(*LoadLog(log), {.placement_seconds = 0});
  ASSERT_EQ(replays.size(), 1u);
  EXPECT_EQ(replays[0].source, RequestSource::kDriver);
  EXPECT_EQ(replays[0].samples, 3u);
  EXPECT_EQ(replays[0].residual, -static_cast<std::int64_t>(4 * kMiB));
  EXPECT_EQ(replays[0].recorded.peak_reserved, 8 * kMiB);
  EXPECT_EQ(replays[0].capacity, 893 * kMiB + 200) << "what was free and what was held";
}

TEST(WhatIfTest, WithoutSamplesNothingChecksDriverAllocations) {
  LogBuilder log;
  log.Device(0, 1024 * kMiB);
  log.Alloc(Layer::kLinear, 0x1000000, 100);
  const std::vector<DeviceReplay> replays =
      ReplayAllocators(*LoadLog(log), {.placement_seconds = 0});
  ASSERT_EQ(replays.size(), 1u);
  EXPECT_TRUE(replays[0].unchecked);
  EXPECT_TRUE(replays[0].uncertain);
  EXPECT_EQ(replays[0].residual, 0);
  EXPECT_EQ(replays[0].recorded.peak_reserved, 2 * kMiB) << "as the driver would";
}

}  // namespace
}  // namespace memprof::analysis
