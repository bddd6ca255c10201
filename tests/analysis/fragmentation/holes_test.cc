// Since when a hole exists, and what pins it.
#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/base/sizes.h"
#include "analysis/fragmentation/fragmentation.h"
#include "analysis/testing/column.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;
using testing::RandomLog;
using testing::Times;

TEST(FragmentationHolesTest, TheLargestTensorOfAPinNamesIt) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.Alloc(Layer::kLinear, 0x10000, 8 * kKiB);
  log.Alloc(Layer::kSegment, 0x10000, 8 * kKiB);
  log.Alloc(Layer::kBlock, 0x10000, 4 * kKiB);
  log.TensorCreate(0x10000, 512, log.Tensor("small", "float32", {128}));
  log.TensorCreate(0x10400, 2 * kKiB, log.Tensor("large", "float32", {512}));
  log.TensorCreate(0x10200, 512, log.Tensor("other", "float32", {128}));
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const auto pools = AnalyseFragmentation(*session, 0, kForever - 1).pools;
  ASSERT_EQ(pools.size(), 1u);
  ASSERT_EQ(pools[0].pins.size(), 1u);
  ASSERT_NE(session->tensor(pools[0].pins[0].tensor), nullptr);
  EXPECT_EQ(session->tensor(pools[0].pins[0].tensor)->name, "large");
}

// Since when a hole exists, and its neighbours, by a loop over all allocations.
void CheckHole(const Session& session, const Hole& hole, TimeNs now) {
  TimeNs since = 0;
  std::uint64_t below = 0, above = ~std::uint64_t{0};
  for (const Allocation& a : session.allocations()) {
    const bool overlaps =
        a.address < hole.address + hole.bytes && hole.address < a.address + a.bytes;
    if (a.layer == Layer::kSegment && overlaps && a.birth_time <= now)
      since = std::max(since, a.birth_time);
    if (a.layer != Layer::kBlock || a.birth_time > now) continue;
    if (overlaps) since = std::max(since, a.death_time);
    if (a.AliveAt(now)) {
      EXPECT_FALSE(overlaps);
      if (a.address + a.bytes == hole.address) below = a.address;
      if (a.address == hole.address + hole.bytes) above = a.address;
    }
  }
  EXPECT_EQ(hole.since, since);
  EXPECT_EQ(hole.since_step, session.StepAt(since));
  EXPECT_EQ(hole.before.valid(), below != 0);
  if (hole.before.valid()) {
    EXPECT_EQ(session.record(hole.before).address, below);
  }
  EXPECT_EQ(hole.after.valid(), above != ~std::uint64_t{0});
}

// The same for a block between holes.
void CheckPin(const Session& session, const PoolFragmentation& pool, const Pin& pin, TimeNs now) {
  const Allocation block = session.allocation(pin.block);
  TimeNs since = 0;
  for (const Hole& hole : pool.holes)
    if (hole.address + hole.bytes == block.address || block.address + block.bytes == hole.address)
      since = std::max(since, hole.since);
  if (pool.holes.size() < 20) {
    EXPECT_EQ(pin.unused_since, since);
  }
  std::uint64_t largest = 0;
  TensorId tensor;
  for (const Allocation& a : session.allocations())
    if (a.layer == Layer::kTensor && a.parent == pin.block && a.AliveAt(now) && a.bytes > largest) {
      largest = a.bytes;
      tensor = a.tensor;
    }
  EXPECT_EQ(pin.tensor, tensor);
}

TEST(FragmentationHolesTest, SinceWhenUnusedAndWhoPinsAgainstPlainLoops) {
  for (const std::uint32_t seed : {311u, 312u, 313u}) {
    SCOPED_TRACE(seed);
    RandomLog log({.seed = seed, .devices = 1, .operations = 250});
    const auto session = LoadLog(log.builder());
    ASSERT_NE(session, nullptr);
    const std::vector<TimeNs> times = Times(session->events());
    std::size_t checked = 0;
    for (std::size_t e = 20; e < times.size(); e += 37) {
      const TimeNs now = times[e];
      for (const PoolFragmentation& pool : AnalyseFragmentation(*session, 0, now).pools) {
        std::uint64_t last = ~std::uint64_t{0};
        for (const Hole& hole : pool.holes) {
          EXPECT_LE(hole.bytes, last);
          last = hole.bytes;
          CheckHole(*session, hole, now);
          ++checked;
        }
        for (const Pin& pin : pool.pins) CheckPin(*session, pool, pin, now);
      }
    }
    EXPECT_GT(checked, 20u);
  }
}

}  // namespace
}  // namespace memprof::analysis
