// What waits for other streams, against a recount.
#include "analysis/fragmentation/waiting.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "analysis/base/sizes.h"
#include "tests/support/load_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;

void Sample(LogBuilder& log, std::uint64_t bytes, std::uint64_t blocks, std::uint64_t peak,
            int device = 0) {
  log.Event(Op::kWaiting, Layer::kBlock, 0, bytes, 0,
            {.device = device, .aux0 = blocks, .aux1 = peak});
}

TEST(WaitingTest, NoneInALogWithout) {
  LogBuilder log;
  log.Alloc(Layer::kBlock, 0x1000, 64);
  EXPECT_TRUE(FindWaitingMemory(*LoadLog(log)).empty());
}

TEST(WaitingTest, TheFirstOfTheHighestSamples) {
  LogBuilder log;
  log.Alloc(Layer::kSegment, 0x10000000, 20 * kMiB);
  Sample(log, 0, 0, 7 * kMiB);
  log.Alloc(Layer::kSegment, 0x20000000, 30 * kMiB);
  Sample(log, 6 * kMiB, 2, 9 * kMiB);
  log.Alloc(Layer::kSegment, 0x30000000, 40 * kMiB);
  Sample(log, 6 * kMiB, 3, 8 * kMiB);
  Sample(log, 1 * kMiB, 1, 8 * kMiB, 1);
  const auto found = FindWaitingMemory(*LoadLog(log));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_FALSE(found[0].exact);
  EXPECT_EQ(found[0].most_bytes, 6 * kMiB);
  EXPECT_EQ(found[0].most_blocks, 2u);
  EXPECT_EQ(found[0].most, EventId(3));
  EXPECT_EQ(found[0].reserved_bytes, 50 * kMiB);
  EXPECT_EQ(found[0].peak_active_bytes, 9 * kMiB);
  EXPECT_EQ(found[1].device, 1);
  EXPECT_EQ(found[1].most_bytes, kMiB);
}

TEST(WaitingTest, SamplesThatSayNothingWaited) {
  LogBuilder log;
  Sample(log, 0, 0, 7 * kMiB);
  const auto found = FindWaitingMemory(*LoadLog(log));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FALSE(found[0].most.valid());
}

TEST(WaitingTest, CountsABlockOnceAndNotOnItsOwnStream) {
  LogBuilder log;
  const int first = log.Stack({"main (a.py:1)"}), second = log.Stack({"main (a.py:2)"});
  const auto use = [&log](std::uint64_t address, std::uint64_t stream, int stack, int device = 0) {
    log.Event(Op::kStreamUse, Layer::kBlock, address, 0, 0,
              {.device = device, .stack = stack, .stream = stream});
  };
  log.Alloc(Layer::kBlock, 0x1000, 100, {.stream = 5});
  log.Alloc(Layer::kBlock, 0x2000, 10, {.stream = 6});
  use(0x1000, 5, first);
  EXPECT_TRUE(FindWaitingMemory(*LoadLog(log)).empty()) << "its own stream";
  use(0x1000, 6, first);
  use(0x1000, 7, second);  // again
  use(0x2000, 5, second);
  use(0x2000, 5, second, 1);  // no such block
  use(0x3000, 5, second);
  log.Free(Layer::kBlock, 0x1000);
  log.Alloc(Layer::kBlock, 0x1000, 1000, {.stream = 5});
  use(0x1000, 6, second);
  const auto found = FindWaitingMemory(*LoadLog(log));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].used_blocks, 3u);
  EXPECT_EQ(found[0].used_bytes, 1110u);
  ASSERT_EQ(found[0].sites.size(), 2u);
  EXPECT_EQ(found[0].sites[0].bytes, 1010u);
  EXPECT_EQ(found[0].sites[0].blocks, 2u);
  EXPECT_EQ(found[0].sites[1].bytes, 100u);
}

// Logs that have the end of each wait, as those of PyTorch's snapshots.
TEST(WaitingTest, ExactWaitsAreThoseOfARecount) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    std::mt19937 random(seed);
    LogBuilder log;
    std::map<std::uint64_t, bool> live;  // whether it waits
    std::map<std::uint64_t, std::uint64_t> bytes;
    std::uint64_t most = 0, blocks_at_most = 0;
    for (std::uint64_t i = 0; i < 300; ++i) {
      const std::uint64_t address = 0x1000 * (1 + random() % 20);
      const auto at = live.find(address);
      if (at == live.end()) {
        live[address] = false;
        log.Alloc(Layer::kBlock, address, bytes[address] = 1 + random() % 4096);
      } else if (random() % 2 == 0) {
        at->second = true;  // also a second time
        log.Event(Op::kFreeRequested, Layer::kBlock, address, bytes[address], 0, {});
      } else {
        live.erase(at);
        log.Free(Layer::kBlock, address);
      }
      std::uint64_t sum = 0, blocks = 0;
      for (const auto& [block, waits] : live) {
        sum += waits ? bytes[block] : 0;
        blocks += waits;
      }
      if (sum > most) blocks_at_most = blocks;
      most = std::max(most, sum);
    }
    const auto found = FindWaitingMemory(*LoadLog(log));
    ASSERT_EQ(found.size(), 1u);
    EXPECT_TRUE(found[0].exact);
    EXPECT_EQ(found[0].most_bytes, most);
    EXPECT_EQ(found[0].most_blocks, blocks_at_most);
  }
}

}  // namespace
}  // namespace memprof::analysis
