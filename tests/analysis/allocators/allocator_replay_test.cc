// Replay of recorded allocators: logs are written by a second caching allocator that is obviously
// right, and replaying them must give its figures.
#include "analysis/allocators/allocator_replay.h"

#include <algorithm>
#include <map>
#include <random>

#include "analysis/base/sizes.h"
#include "gtest/gtest.h"
#include "tests/demo_trainer/allocator_reference.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using allocators::AllocatorKind;
using allocators::RequestSource;
using testing::LoadLog;
using testing::LogBuilder;

// Drives the reference and writes down what it does, as a program's own allocator would.
class ReferenceLog {
 public:
  explicit ReferenceLog(std::uint64_t max_split = ~std::uint64_t{0},
                        std::uint64_t capacity = std::uint64_t{1} << 40)
      : driver_(capacity), reference_(&driver_, max_split) {
    log_.Device(0, std::uint64_t{1} << 40);
  }

  void Allocate(std::uint64_t bytes, std::uint64_t stream = 0) {
    const auto handle = reinterpret_cast<void*>(stream);
    const std::uint64_t address = reference_.Allocate(bytes, handle);
    NoteSegments(stream);
    if (address == 0) {
      log_.Event(Op::kFrameworkOom, Layer::kBlock, 0, bytes, 0);
      return;
    }
    std::uint64_t size = 0;
    for (const auto& segment : reference_.segments()) {
      for (const auto& block : segment.blocks) {
        if (block.address == address) size = block.bytes;
      }
    }
    log_.Alloc(Layer::kBlock, address, size, {.stream = stream, .aux0 = says_ ? bytes : 0});
    live_.push_back(address);
  }
  void Free(std::size_t which) {
    const std::uint64_t address = live_[which % live_.size()];
    live_.erase(std::find(live_.begin(), live_.end(), address));
    log_.Free(Layer::kBlock, address);
    reference_.Free(address);
  }
  void EmptyCache() {
    reference_.EmptyCache();
    NoteSegments(0);
  }
  void Churn(std::uint32_t seed, int operations, std::uint64_t streams,
             std::uint64_t largest = 30 * kMiB) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < operations; ++i) {
      if (live_.empty() || random() % 100 < (i / 100 % 2 == 0 ? 65u : 35u)) {
        const std::uint64_t bytes =
            random() % 3 == 0 ? 1 + random() % largest : 1 + random() % (700 << 10);
        Allocate(bytes, random() % streams);
      } else {
        Free(random());
      }
      if (random() % 150 == 0) EmptyCache();
    }
  }

  // Writes down what was asked for no more, as where PyTorch tells its blocks.
  void SayBlocksOnly() { says_ = false; }

  DeviceReplay Replay(const ReplayOptions& options) const {
    const auto session = LoadLog(log_);
    const std::vector<DeviceReplay> replays = ReplayAllocators(*session, options);
    return replays.empty() ? DeviceReplay() : replays.front();
  }
  DeviceReplay Replay() const {
    ReplayOptions options;
    options.placement_seconds = 0;
    return Replay(options);
  }

  LogBuilder& log() { return log_; }
  std::uint64_t peak() const { return peak_; }

 private:
  // Segments that came and went, as they did: those that went first.
  void NoteSegments(std::uint64_t stream) {
    std::map<std::uint64_t, std::uint64_t> now;
    std::uint64_t sum = 0;
    for (const auto& segment : reference_.segments()) {
      now[segment.address] = segment.bytes;
      sum += segment.bytes;
    }
    for (const auto& [address, bytes] : segments_) {
      if (!now.contains(address)) log_.Free(Layer::kSegment, address);
    }
    for (const auto& [address, bytes] : now) {
      if (segments_.contains(address)) continue;
      log_.Alloc(Layer::kSegment, address, bytes, {.stream = stream});
    }
    segments_ = now;
    peak_ = std::max(peak_, sum);
  }

  demo::FakeDriver driver_;
  demo::AllocatorTwin reference_;
  LogBuilder log_;
  std::vector<std::uint64_t> live_;
  std::map<std::uint64_t, std::uint64_t> segments_;
  std::uint64_t peak_ = 0;
  bool says_ = true;
};

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

// The same run written down with and without what was asked for.
TEST(WhatIfTest, EstimatesWhatWasAskedForBehindBlocksKeptWhole) {
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
        << "every size within the bounds is the same to the recorded allocator";
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
  EXPECT_GT(worst_of_blocks, 3 * worst) << "taken for requests, blocks would be that much off";
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

TEST(WhatIfTest, OthersAreInTheOrderAskedFor) {
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

TEST(WhatIfTest, TellsWhatFitsIntoACapacity) {
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
  EXPECT_FALSE(replay.others[1].fits) << "10 and 9 MiB are left, and 18 are wanted";
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
  EXPECT_EQ(replay.max_live, 30 * kMiB) << "it was never alive";
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
  EXPECT_EQ(replays[0].replayed.figures.reserved, 0u) << "the synchronisation gives it back";
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
  EXPECT_EQ(replays[0].others[0].driver_calls, 5u) << "taken thrice, given back twice";
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
