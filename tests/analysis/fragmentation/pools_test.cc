#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/fragmentation/fragmentation.h"
#include "analysis/fragmentation/series.h"
#include "analysis/testing/column.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;
using testing::RandomLog;
using testing::Times;

TEST(FragmentationTest, PoolsAddUpToTheMap) {
  RandomLog log({.seed = 53});
  const auto session = LoadLog(log.builder());
  ASSERT_NE(session, nullptr);
  const auto time = Times(session->events());
  for (std::size_t e = 10; e < time.size(); e += 61) {
    const FragmentationReport report = AnalyseFragmentation(*session, kNoDevice, time[e]);
    EXPECT_EQ(report.time, time[e]);
    for (const int device : {0, 1}) {
      std::uint64_t segments = 0, blocks = 0, free = 0, reserved = 0, requested = 0, hole = 0;
      for (const MapSegment& segment : BuildAddressMap(*session, device, time[e]).segments) {
        if (!segment.framework) continue;
        ++segments;
        reserved += segment.bytes;
        for (const MapPiece& piece : segment.pieces) {
          if (piece.hole()) {
            free += piece.bytes;
            hole = std::max(hole, piece.bytes);
            continue;
          }
          ++blocks;
          requested += session->allocation(piece.allocation).requested;
        }
      }
      PoolFragmentation sum;
      for (const PoolFragmentation& pool : report.pools) {
        if (pool.device != device) continue;
        sum.segments += pool.segments;
        sum.blocks += pool.blocks;
        sum.free_bytes += pool.free_bytes;
        sum.reserved_bytes += pool.reserved_bytes;
        sum.allocated_bytes += pool.allocated_bytes;
        sum.rounding_bytes += pool.rounding_bytes;
        sum.largest_hole = std::max(sum.largest_hole, pool.largest_hole);
        EXPECT_LE(pool.unusable_bytes, pool.free_bytes);
        EXPECT_TRUE(std::is_sorted(pool.pins.begin(), pool.pins.end(), [](auto& a, auto& b) {
          const auto weight = [](const Pin& p) {
            return static_cast<double>(p.frees_bytes) * static_cast<double>(p.frees_bytes) /
                   static_cast<double>(p.frees_bytes + p.bytes);
          };
          return weight(a) > weight(b);
        }));
      }
      EXPECT_EQ(sum.segments, segments);
      EXPECT_EQ(sum.blocks, blocks);
      EXPECT_EQ(sum.free_bytes, free);
      EXPECT_EQ(sum.reserved_bytes, reserved);
      EXPECT_EQ(sum.allocated_bytes, reserved - free);
      EXPECT_EQ(sum.rounding_bytes, reserved - free - requested);
      EXPECT_EQ(sum.largest_hole, hole);
    }
  }
}

TEST(FragmentationTest, PrivatePoolsAreApart) {
  LogBuilder log;
  constexpr std::uint64_t kMiB = 1 << 20, kBase = 0x700000000000;
  for (const std::uint64_t pool : {0ull, 1ull << 32, 2ull << 32}) {
    const std::uint64_t address = kBase + (pool >> 5);
    log.Alloc(Layer::kLinear, address, 8 * kMiB);
    log.Alloc(Layer::kSegment, address, 8 * kMiB, {.aux1 = pool});
    log.Alloc(Layer::kBlock, address, 6 * kMiB, {.aux1 = pool});
  }
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  std::vector<std::uint64_t> pools, over_time;
  for (const PoolFragmentation& pool : AnalyseFragmentation(*session).pools) {
    pools.push_back(pool.private_pool);
    EXPECT_EQ(pool.free_bytes, 2 * kMiB);
  }
  for (const PoolSeries& series : BuildFragmentationSeries(*session, 0, 10))
    over_time.push_back(series.pool);
  EXPECT_EQ(pools, (std::vector<std::uint64_t>{0, 1ull << 32, 2ull << 32}));
  EXPECT_EQ(over_time, pools);
}

}  // namespace
}  // namespace memprof::analysis
