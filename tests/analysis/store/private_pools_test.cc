// Pools of captures, against sets that are merged one by one, and on a log.
#include "analysis/store/private_pools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "tests/support/load_log.h"

namespace memprof::analysis {
namespace {

using testing::LogBuilder;

constexpr std::uint64_t Capture(std::uint64_t number) { return number << 32; }

TEST(PrivatePoolsTest, AgreeWithSetsThatAreJoinedOneByOne) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t names = 1 + random() % 30;
    PrivatePools pools;
    std::map<std::uint64_t, std::set<std::uint64_t>> sets;
    for (std::uint64_t name = 1; name <= names; ++name) sets[name] = {name};
    for (std::uint64_t i = 0; i < random() % 40; ++i) {
      const std::uint64_t a = random() % (names + 1), b = random() % (names + 1);
      pools.Join(a, b);
      if (a == 0 || b == 0) continue;
      std::set<std::uint64_t> joined = sets[a];
      joined.insert(sets[b].begin(), sets[b].end());
      for (const std::uint64_t name : joined) sets[name] = joined;
    }
    std::vector<AllocationRecord> records(names + 2);
    for (std::uint64_t i = 0; i < records.size(); ++i) {
      records[i].layer = i == names + 1 ? Layer::kStreamOrdered : Layer::kSegment;
      records[i].extra = i == names + 1 ? names : i;
    }
    pools.AssignNumbers(&records);
    EXPECT_EQ(records[0].extra, 0u);
    for (std::uint64_t name = 1; name <= names; ++name)
      ASSERT_EQ(records[name].extra, *sets[name].begin()) << name << " of round " << round;
    EXPECT_EQ(records[names + 1].extra, names) << "no segment";
  }
}

// Two captures share the second segment; the third has its own segment, and a block elsewhere.
TEST(PrivatePoolsTest, CapturesThatTookFromOneSegmentShareItsPool) {
  LogBuilder log;
  const auto segment = [&](std::uint64_t address, std::uint64_t capture) {
    log.Alloc(Layer::kLinear, address, 4096, {.stream = 9});
    log.Alloc(Layer::kSegment, address, 4096, {.stream = 9, .aux1 = Capture(capture)});
  };
  const auto block = [&](std::uint64_t address, std::uint64_t capture) {
    log.Alloc(Layer::kBlock, address, 512, {.stream = 9, .aux1 = Capture(capture)});
  };
  segment(0x10000, 1);
  segment(0x20000, 2);
  segment(0x30000, 3);
  segment(0x40000, 0);
  block(0x10000, 1);
  block(0x20000, 2);
  block(0x20200, 1);
  block(0x30000, 3);
  block(0x40000, 2);  // allocated in a capture from memory without an owner: no information
  block(0x90000, 3);  // in no segment
  const auto session = testing::LoadLog(log);
  ASSERT_NE(session, nullptr);
  std::map<std::uint64_t, std::uint64_t> pools;
  for (const Allocation& a : session->allocations())
    if (a.layer == Layer::kSegment) pools[a.address] = a.pool;
  EXPECT_THAT(pools, ::testing::ElementsAre(::testing::Pair(0x10000u, Capture(1)),
                                            ::testing::Pair(0x20000u, Capture(1)),
                                            ::testing::Pair(0x30000u, Capture(3)),
                                            ::testing::Pair(0x40000u, 0u)));
}

TEST(PrivatePoolsTest, NamesAreThoseOfPyTorch) {
  EXPECT_EQ(PrivatePoolName(0), "");
  EXPECT_EQ(PrivatePoolName(Capture(1)), "private pool (1, 0)");
  EXPECT_EQ(PrivatePoolName(7), "private pool (0, 7)");
}

}  // namespace
}  // namespace memprof::analysis
