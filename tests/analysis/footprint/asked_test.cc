// What may have been requested for a block.
#include "analysis/footprint/internal/asked.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

namespace sim = allocators;

// Random requests and frees, and the blocks that they got.
struct Recorded {
  sim::Trace trace;  // with the sizes of blocks
  std::vector<std::uint64_t> requested;
};

Recorded RecordAtRandom(std::uint32_t seed, const sim::CachingOptions& options) {
  std::mt19937_64 random(seed);
  sim::Device device;
  sim::CachingAllocator allocator(options, &device);
  Recorded recorded;
  std::vector<std::pair<std::uint32_t, sim::Handle>> live;
  for (int i = 0; i < 600; ++i) {
    if (live.size() > 20 && random() % 2 == 0) {
      const std::size_t at = random() % live.size();
      allocator.Free(live[at].second);
      recorded.trace.Free(live[at].first);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
      continue;
    }
    const std::uint64_t bytes = 1 + random() % (random() % 4 == 0 ? 30'000'000 : 3'000'000);
    const sim::Handle handle = allocator.Allocate(bytes, 0);
    const std::uint32_t block = recorded.trace.Allocate(allocator.PlaceOf(handle).bytes);
    recorded.trace.blocks[block].whole = true;
    recorded.requested.push_back(bytes);
    live.emplace_back(block, handle);
  }
  return recorded;
}

// The blocks that the allocator gives for these sizes.
std::vector<std::uint64_t> BlocksOf(const sim::Trace& trace, const sim::CachingOptions& options) {
  sim::Device device;
  sim::CachingAllocator allocator(options, &device);
  std::vector<std::uint64_t> blocks(trace.blocks.size());
  sim::Replay(trace, &allocator, &device, {.served = [&](std::uint32_t block, sim::Handle handle) {
                blocks[block] = allocator.PlaceOf(handle).bytes;
              }});
  return blocks;
}

TEST(RequestedBytesTest, HoldWhatWasRequestedAndNoMore) {
  sim::CachingOptions limited;
  limited.max_split = 8 << 20;
  for (const sim::CachingOptions& options : {sim::CachingOptions(), limited}) {
    for (const std::uint32_t seed : {1u, 2u, 3u}) {
      const Recorded recorded = RecordAtRandom(seed, options);
      sim::AllocatorSpec spec;
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
        sim::Trace trace = recorded.trace;
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
  sim::AllocatorSpec other;
  other.kind = sim::AllocatorKind::kCuda;
  const auto exact = [](const std::vector<AskedBytes>& asked) {
    return std::all_of(asked.begin(), asked.end(),
                       [](const AskedBytes& one) { return one.least == one.most; });
  };
  EXPECT_TRUE(exact(RequestedBytes(recorded.trace, other)));
  EXPECT_FALSE(exact(RequestedBytes(recorded.trace, {})));
  for (sim::TraceBlock& block : recorded.trace.blocks) block.whole = false;
  EXPECT_TRUE(exact(RequestedBytes(recorded.trace, {})));
}

// Steps 0 and 1 agree on the first request of the site; the second ones contradict each other.
TEST(NarrowByStepsTest, StepsThatAgreeNarrowEachOther) {
  testing::LogBuilder log;
  std::vector<AskedBytes> asked;
  const auto request = [&](AskedBytes bytes) {
    log.Alloc(Layer::kLinear, 0x10000 + 0x1000 * asked.size(), 64,
              {.stack = log.Stack({"main (a.cc:1)", "F (f.cc:2)"})});
    asked.push_back(bytes);
  };
  request({1, 50});
  log.Step(0);
  request({10, 100});
  request({10, 20});
  log.Step(1);
  request({40, 200});
  request({30, 40});
  const auto session = testing::LoadLog(log);
  std::vector<EventId> births;
  for (const AllocationRecord& record : session->records()) births.push_back(record.birth);
  std::vector<std::uint64_t> all;
  for (const AskedBytes& one : NarrowBySteps(asked, RequestKeys(*session, births))) {
    all.push_back(one.least);
    all.push_back(one.most);
  }
  EXPECT_EQ(all, (std::vector<std::uint64_t>{1, 50, 40, 100, 10, 20, 40, 100, 30, 40}));
}

}  // namespace
}  // namespace memprof::analysis
