// What pools hold, against a recount from the list of allocations.
#include "analysis/fragmentation/pool_use.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "analysis/base/sizes.h"
#include "analysis/store/private_pools.h"
#include "tests/support/load_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;

int DeviceOf(std::uint64_t segment) { return static_cast<int>(segment / (256 * kMiB) % 2); }

// Segments of three pools on two devices, with blocks that come and go.
std::shared_ptr<const Session> Mixed(unsigned seed) {
  std::mt19937 random(seed);
  LogBuilder log;
  std::map<std::uint64_t, std::uint64_t> blocks;  // address, segment
  std::vector<std::uint64_t> segments;
  for (int i = 0; i < 400; ++i) {
    const std::uint64_t address = 0x700000000000 + static_cast<std::uint64_t>(i) * 32 * kMiB;
    if (i % 8 == 0) {
      const std::uint64_t pools[] = {0, 1, 7ull << 32};
      const std::uint64_t bytes = (2 + random() % 20) * kMiB;
      log.Alloc(Layer::kLinear, address, bytes, {.device = DeviceOf(address)});
      log.Alloc(Layer::kSegment, address, bytes,
                {.device = DeviceOf(address), .aux1 = pools[random() % 3]});
      segments.push_back(address);
    } else if (random() % 3 != 0) {
      const std::uint64_t segment = segments[random() % segments.size()];
      const std::uint64_t block = segment + random() % 4 * (kMiB / 2);
      if (!blocks.try_emplace(block, segment).second) continue;
      log.Alloc(Layer::kBlock, block, 1 + random() % (kMiB / 2), {.device = DeviceOf(segment)});
    } else if (!blocks.empty()) {
      const auto [block, segment] = *blocks.begin();
      log.Free(Layer::kBlock, block, {.device = DeviceOf(segment)});
      blocks.erase(blocks.begin());
    }
  }
  return LoadLog(log);
}

TEST(PoolUseTest, IsWhatARecountFinds) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    const auto session = Mixed(seed);
    ASSERT_NE(session, nullptr);
    const FragmentationReport report = AnalyseFragmentation(*session);
    const std::vector<PoolUse> uses = PoolUses(*session, report);
    EXPECT_EQ(uses.size(), 6u);
    std::uint64_t reserved = 0, allocated = 0;
    for (const PoolUse& use : uses) {
      std::uint64_t peaks[2] = {};
      EventId first;
      for (std::uint32_t e = 0; e < session->events().size(); ++e) {
        std::uint64_t sums[2] = {};
        for (std::uint32_t i = 0; i < session->records().size(); ++i) {
          const AllocationRecord& record = session->record(AllocationId(i));
          const bool block = record.layer == Layer::kBlock;
          if ((!block && record.layer != Layer::kSegment) || record.device != use.device ||
              PrivatePoolOf(*session, AllocationId(i)) != use.pool || record.birth.value > e)
            continue;
          if (!first.valid()) first = record.birth;
          if (!record.death.valid() || record.death.value > e) sums[block] += record.bytes;
        }
        for (const int block : {0, 1}) peaks[block] = std::max(peaks[block], sums[block]);
      }
      EXPECT_EQ(use.peak_reserved_bytes, peaks[0]);
      EXPECT_EQ(use.peak_allocated_bytes, peaks[1]);
      EXPECT_EQ(use.made, use.pool == 0 ? EventId() : first);
      reserved += use.reserved_bytes;
      allocated += use.allocated_bytes;
    }
    for (const PoolFragmentation& pool : report.pools) {
      reserved -= pool.reserved_bytes;
      allocated -= pool.allocated_bytes;
    }
    EXPECT_EQ(reserved, 0u);
    EXPECT_EQ(allocated, 0u);
  }
}

TEST(PoolUseTest, APoolIsWhereTheProgramMadeIt) {
  LogBuilder log;
  log.Event(Op::kFrameworkPool, Layer::kSegment, 3, 0, 0);
  log.Event(Op::kFrameworkPool, Layer::kSegment, 3, 0, 0);  // once is enough
  // A capture's pool has its own number only from the end of the capture on.
  constexpr std::uint64_t kCapture = 1ull << 55;
  for (const std::uint64_t pool : {std::uint64_t{3}, kCapture}) {
    log.Alloc(Layer::kLinear, 0x700000000000 + (pool << 4), 2 * kMiB);
    log.Alloc(Layer::kSegment, 0x700000000000 + (pool << 4), 2 * kMiB, {.aux1 = pool});
  }
  log.Event(Op::kFrameworkPool, Layer::kSegment, 1ull << 32, 0, 0, {.aux0 = kCapture});
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const std::vector<PoolUse> uses = PoolUses(*session, AnalyseFragmentation(*session));
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_EQ(uses[0].pool, 3u);
  EXPECT_EQ(uses[0].made, EventId(0));
  EXPECT_EQ(uses[1].pool, 1ull << 32);
  EXPECT_EQ(session->events().op(uses[1].made.value), Op::kFrameworkPool);
}

TEST(PoolUseTest, WithoutPrivatePoolsThereIsNothingToTell) {
  LogBuilder log;
  log.Alloc(Layer::kLinear, 0x700000000000, 2 * kMiB);
  log.Alloc(Layer::kSegment, 0x700000000000, 2 * kMiB);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  EXPECT_TRUE(PoolUses(*session, AnalyseFragmentation(*session)).empty());
}

}  // namespace
}  // namespace memprof::analysis
