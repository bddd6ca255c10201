// What may have been requested for a block.
#include "analysis/allocators/asked.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "analysis/allocators/caching.h"

namespace memprof::analysis::allocators {
namespace {

// Random requests and frees, and the blocks that they got.
struct Recorded {
  Trace trace;  // with the sizes of blocks
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
      recorded.trace.Free(live[at].first);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
      continue;
    }
    const std::uint64_t bytes = 1 + random() % (random() % 4 == 0 ? 30'000'000 : 3'000'000);
    const Handle handle = allocator.Allocate(bytes, 0);
    const std::uint32_t block = recorded.trace.Allocate(allocator.PlaceOf(handle).bytes);
    recorded.trace.blocks[block].whole = true;
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
      const std::vector<AskedBytes> asked = RequestedBytes(recorded.trace, spec);
      std::size_t wide = 0;
      for (std::size_t i = 0; i < asked.size(); ++i) {
        EXPECT_LE(asked[i].least, recorded.requested[i]);
        EXPECT_GE(asked[i].most, recorded.requested[i]);
        EXPECT_EQ(asked[i].most, recorded.trace.blocks[i].bytes);
        wide += asked[i].most - asked[i].least >= 512 ? 1 : 0;
      }
      EXPECT_GT(wide, 10u);
      // With the least of one request, its block is the recorded one; with 512 bytes less it is
      // not.
      for (std::size_t i = 0; i < asked.size(); i += 29) {
        Trace trace = recorded.trace;
        trace.blocks[i].bytes = asked[i].least;
        EXPECT_EQ(BlocksOf(trace, options)[i], recorded.trace.blocks[i].bytes);
        if (asked[i].least <= 512) continue;
        trace.blocks[i].bytes = asked[i].least - 1;
        EXPECT_NE(BlocksOf(trace, options)[i], recorded.trace.blocks[i].bytes) << i;
      }
    }
  }
}

TEST(RequestedBytesTest, AreTheBlocksWhereTheLogHasThemOrTheAllocatorIsAnother) {
  Recorded recorded = RecordAtRandom(4, {});
  AllocatorSpec other;
  other.kind = AllocatorKind::kCuda;
  const auto exact = [](const std::vector<AskedBytes>& asked) {
    return std::all_of(asked.begin(), asked.end(),
                       [](const AskedBytes& one) { return one.least == one.most; });
  };
  EXPECT_TRUE(exact(RequestedBytes(recorded.trace, other)));
  EXPECT_FALSE(exact(RequestedBytes(recorded.trace, {})));
  for (TraceBlock& block : recorded.trace.blocks) block.whole = false;
  EXPECT_TRUE(exact(RequestedBytes(recorded.trace, {})));
}

}  // namespace
}  // namespace memprof::analysis::allocators
