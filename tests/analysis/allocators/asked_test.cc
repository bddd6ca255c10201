// What may have been requested for a block.
#include "analysis/allocators/asked.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "analysis/allocators/caching.h"
#include "tests/analysis/allocators/allocator_replay_fixture.h"

namespace memprof::analysis::allocators {
namespace {

// Random requests and frees, and the blocks that they got.
struct Recorded {
  RecordedRun run;  // with the sizes of blocks
  std::vector<std::uint64_t> requested;
};

Recorded RecordAtRandom(std::uint32_t seed, const CachingOptions& options) {
  std::mt19937_64 random(seed);
  Device device;
  CachingAllocator allocator(options, &device);
  Recorded recorded;
  std::vector<std::pair<std::uint32_t, Handle>> live;
  for (int i = 0; i < 600; ++i) {
    if (live.size() > 20 && random() % 2 == 0) {
      const std::size_t at = random() % live.size();
      allocator.Free(live[at].second);
      recorded.run.trace.Free(live[at].first);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
      continue;
    }
    const std::uint64_t bytes = 1 + random() % (random() % 4 == 0 ? 30'000'000 : 3'000'000);
    const Handle handle = allocator.Allocate(bytes, 0);
    const std::uint32_t block = recorded.run.trace.Allocate(allocator.PlaceOf(handle).bytes);
    recorded.run.trace.blocks[block].whole = true;
    recorded.requested.push_back(bytes);
    live.emplace_back(block, handle);
  }
  return recorded;
}

// The blocks that the allocator gives for these sizes.
std::vector<std::uint64_t> BlocksOf(const Trace& trace, const CachingOptions& options) {
  Device device;
  CachingAllocator allocator(options, &device);
  std::vector<std::uint64_t> blocks(trace.blocks.size());
  Replay(trace, &allocator, &device, {.served = [&](std::uint32_t block, Handle handle) {
           blocks[block] = allocator.PlaceOf(handle).bytes;
         }});
  return blocks;
}

TEST(RequestedBytesTest, HoldWhatWasRequestedAndNoMore) {
  CachingOptions limited;
  limited.max_split = 8 << 20;
  for (const CachingOptions& options : {CachingOptions(), limited}) {
    for (const std::uint32_t seed : {1u, 2u, 3u}) {
      const Recorded recorded = RecordAtRandom(seed, options);
      AllocatorSpec spec;
      spec.caching = options;
      const std::vector<AskedBytes> asked = RequestedBytes(recorded.run, spec);
      std::size_t wide = 0;
      for (std::size_t i = 0; i < asked.size(); ++i) {
        EXPECT_LE(asked[i].least, recorded.requested[i]);
        EXPECT_GE(asked[i].most, recorded.requested[i]);
        EXPECT_EQ(asked[i].most, recorded.run.trace.blocks[i].bytes);
        wide += asked[i].most - asked[i].least >= 512 ? 1 : 0;
      }
      EXPECT_GT(wide, 10u);
      // With the least of one request, its block is the recorded one; with 512 bytes less it is
      // not.
      for (std::size_t i = 0; i < asked.size(); i += 29) {
        Trace trace = recorded.run.trace;
        trace.blocks[i].bytes = asked[i].least;
        EXPECT_EQ(BlocksOf(trace, options)[i], recorded.run.trace.blocks[i].bytes);
        if (asked[i].least <= 512) continue;
        trace.blocks[i].bytes = asked[i].least - 1;
        EXPECT_NE(BlocksOf(trace, options)[i], recorded.run.trace.blocks[i].bytes) << i;
      }
    }
  }
}

// The driver gives addresses downwards, and which of several equal blocks is the lowest decides.
TEST(RequestedBytesTest, HoldWhatWasRequestedWhereverSegmentsLie) {
  std::size_t wide = 0;
  for (std::uint32_t seed = 1; seed <= 24; ++seed) {
    testing::ReferenceLog said, unsaid;
    unsaid.SayBlocksOnly();
    for (testing::ReferenceLog* log : {&said, &unsaid}) {
      log->GiveAddressesDownwards();
      log->Churn(seed, 500, 1);
    }
    const std::vector<RecordedRun> exact = RecordedRuns(*testing::LoadLog(said.log()));
    const std::vector<RecordedRun> runs = RecordedRuns(*testing::LoadLog(unsaid.log()));
    const std::vector<AskedBytes> asked = RequestedBytes(runs[0], {});
    for (std::size_t i = 0; i < asked.size(); ++i) {
      EXPECT_LE(asked[i].least, exact[0].trace.blocks[i].bytes) << seed;
      EXPECT_GE(asked[i].most, exact[0].trace.blocks[i].bytes) << seed;
      wide += asked[i].most - asked[i].least >= 512 ? 1 : 0;
    }
  }
  EXPECT_GT(wide, 100u);
}

TEST(RequestedBytesTest, AreTheBlocksWhereTheLogHasThemOrTheAllocatorIsAnother) {
  Recorded recorded = RecordAtRandom(4, {});
  AllocatorSpec other;
  other.kind = AllocatorKind::kCuda;
  const auto exact = [](const std::vector<AskedBytes>& asked) {
    return std::all_of(asked.begin(), asked.end(),
                       [](const AskedBytes& one) { return one.least == one.most; });
  };
  EXPECT_TRUE(exact(RequestedBytes(recorded.run, other)));
  EXPECT_FALSE(exact(RequestedBytes(recorded.run, {})));
  for (TraceBlock& block : recorded.run.trace.blocks) block.whole = false;
  EXPECT_TRUE(exact(RequestedBytes(recorded.run, {})));
}

}  // namespace
}  // namespace memprof::analysis::allocators
