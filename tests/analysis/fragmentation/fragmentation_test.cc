// Fragmentation: sums against the address map, and pins against logs in which the block was freed.
#include "analysis/fragmentation/fragmentation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "analysis/testing/column.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;
using testing::RandomLog;
using testing::Times;

std::uint64_t HoleAt(const AddressMap& map, std::uint64_t address) {
  for (const MapSegment& segment : map.segments) {
    for (const MapPiece& piece : segment.pieces) {
      if (piece.address <= address && address - piece.address < piece.bytes) {
        return piece.hole() ? piece.bytes : 0;
      }
    }
  }
  return 0;
}

TEST(FragmentationTest, PinsJoinWhatFreeingThemJoins) {
  for (const std::uint32_t seed : {51u, 52u}) {
    const testing::RandomLogOptions options{.seed = seed, .devices = 1, .operations = 120};
    RandomLog before(options);
    const auto session = LoadLog(before.builder());
    ASSERT_NE(session, nullptr);
    const TimeNs end = session->events().last_time();
    std::map<std::uint64_t, Pin> pins;
    for (const auto& pool : AnalyseFragmentation(*session, 0, end).pools) {
      ASSERT_LT(pool.pins.size(), 20u) << "all pins are needed here";
      for (const Pin& pin : pool.pins) pins[session->allocation(pin.block).address] = pin;
    }
    ASSERT_FALSE(before.live_blocks().empty());
    for (const auto& [device, address] : before.live_blocks()) {
      RandomLog after(options);
      after.builder().Free(Layer::kBlock, address);
      const auto freed = LoadLog(after.builder());
      ASSERT_NE(freed, nullptr);
      const AddressMap map = BuildAddressMap(*freed, 0, kForever);
      const std::uint64_t run = HoleAt(map, address);
      const auto pin = pins.find(address);
      if (pin == pins.end()) {  // no free memory beside it
        std::uint64_t own = 0;
        for (const Allocation& a : session->allocations()) {
          if (a.layer == Layer::kBlock && a.alive() && a.address == address) own = a.bytes;
        }
        EXPECT_EQ(run, own);
        continue;
      }
      EXPECT_EQ(pin->second.frees_bytes, run - pin->second.bytes);
      bool empty = false;
      for (const MapSegment& segment : map.segments) {
        if (segment.address <= address && address < segment.address + segment.bytes) {
          empty = segment.free_bytes == segment.bytes;
        }
      }
      EXPECT_EQ(pin->second.empties_segment, empty);
    }
  }
}

// A segment of 4 MiB: block, hole of 1 MiB, block of 512 B, hole of 2 MiB - 512 B, block.
void HandMade(LogBuilder& log) {
  constexpr std::uint64_t kMiB = 1 << 20;
  const std::uint64_t base = 0x700000000000;
  log.Alloc(Layer::kLinear, base, 4 * kMiB);
  log.Alloc(Layer::kSegment, base, 4 * kMiB);
  log.Alloc(Layer::kBlock, base, kMiB / 2, {.aux0 = kMiB / 2});
  log.Alloc(Layer::kBlock, base + kMiB / 2, kMiB, {.aux0 = kMiB});
  log.Alloc(Layer::kBlock, base + kMiB * 3 / 2, 512, {.aux0 = 100});
  log.Alloc(Layer::kBlock, base + kMiB * 3 / 2 + 512, 2 * kMiB - 512, {.aux0 = 2 * kMiB - 512});
  log.Alloc(Layer::kBlock, base + kMiB * 7 / 2, kMiB / 2, {.aux0 = kMiB / 2});
  log.Free(Layer::kBlock, base + kMiB / 2);
  log.Free(Layer::kBlock, base + kMiB * 3 / 2 + 512);
}

TEST(FragmentationTest, FormulasByHand) {
  constexpr double kMiB = 1 << 20;
  LogBuilder log;
  HandMade(log);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const FragmentationReport report = AnalyseFragmentation(*session, 0, kForever - 1);
  ASSERT_EQ(report.pools.size(), 1u);
  const PoolFragmentation& pool = report.pools[0];
  EXPECT_FALSE(pool.small_blocks);
  EXPECT_EQ(pool.free_bytes, static_cast<std::uint64_t>(3 * kMiB) - 512);
  EXPECT_EQ(pool.rounding_bytes, 412u);
  EXPECT_EQ(pool.releasable_bytes, 0u);
  // The largest request was 2 MiB - 512 B: the hole of 1 MiB could not have served it.
  EXPECT_EQ(pool.unusable_bytes, static_cast<std::uint64_t>(kMiB));
  const double a = kMiB, b = 2 * kMiB - 512;
  EXPECT_DOUBLE_EQ(pool.external, 1 - b / (a + b));
  // one request of size b fits, in its hole
  EXPECT_DOUBLE_EQ(pool.request_relative, 1 - b / (a + b));
  EXPECT_DOUBLE_EQ(pool.sum_of_squares, 1 - (a * a + b * b) / ((a + b) * (a + b)));
  ASSERT_EQ(pool.pins.size(), 3u);
  EXPECT_EQ(pool.pins[0].bytes, 512u);  // the small block between the two holes
  EXPECT_EQ(pool.pins[0].frees_bytes, static_cast<std::uint64_t>(3 * kMiB) - 512);
  EXPECT_DOUBLE_EQ(pool.pins[0].blame, (a + b) / 512);
}

TEST(FragmentationTest, PeakIsTakenWhenMostOfTheReserveIsInUse) {
  LogBuilder log;
  log.Alloc(Layer::kLinear, 0x100000, 0x1000);
  log.Alloc(Layer::kSegment, 0x100000, 0x1000);
  log.Alloc(Layer::kBlock, 0x100000, 0x1000);
  log.Step(1);
  log.Alloc(Layer::kLinear, 0x200000, 0x1000);
  log.Alloc(Layer::kSegment, 0x200000, 0x1000);
  log.Free(Layer::kBlock, 0x100000);
  log.Alloc(Layer::kBlock, 0x200000, 0x400);
  log.Step(2);
  log.Alloc(Layer::kBlock, 0x100000, 0x800);
  log.Free(Layer::kBlock, 0x200000);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const FragmentationReport report = AnalyseFragmentation(*session);
  // When the second segment was allocated, 0x1000 of 0x2000 bytes were in use, the maximum in this
  // log.
  EXPECT_EQ(report.step, 1);
  EXPECT_EQ(session->events().layer(session->EventAt(report.time).value), Layer::kSegment);
  EXPECT_DOUBLE_EQ(report.utilisation, 0.5);
  EXPECT_DOUBLE_EQ(report.at_peak, 0.5);
}

TEST(FragmentationTest, PeakMatchesPlainLoop) {
  for (const std::uint32_t seed : {54u, 55u}) {
    RandomLog log({.seed = seed, .devices = 1});
    const auto session = LoadLog(log.builder());
    ASSERT_NE(session, nullptr);
    std::pair<std::uint64_t, std::uint64_t> best;
    std::uint64_t peak_blocks = 0;
    TimeNs when = 0;
    for (const TimeNs time : Times(session->events())) {
      std::pair<std::uint64_t, std::uint64_t> now;
      for (const Allocation& a : session->allocations()) {
        if (!a.AliveAt(time)) continue;
        if (a.layer == Layer::kSegment) now.first += a.bytes;
        if (a.layer == Layer::kBlock) now.second += a.bytes;
      }
      peak_blocks = std::max(peak_blocks, now.second);
      if (now > best) {
        best = now;
        when = time;
      }
    }
    const FragmentationReport report = AnalyseFragmentation(*session);
    EXPECT_EQ(report.time, when);
    EXPECT_DOUBLE_EQ(report.at_peak,
                     1 - static_cast<double>(best.second) / static_cast<double>(best.first));
    EXPECT_DOUBLE_EQ(report.utilisation,
                     static_cast<double>(peak_blocks) / static_cast<double>(best.first));
  }
}

TEST(FragmentationTest, WithoutAllocatorThereIsNothing) {
  LogBuilder log;
  log.Alloc(Layer::kLinear, 0x100000, 0x1000);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const FragmentationReport report = AnalyseFragmentation(*session);
  EXPECT_TRUE(report.pools.empty());
  EXPECT_EQ(report.utilisation, 1);
  EXPECT_EQ(report.at_peak, 0);
}

}  // namespace
}  // namespace memprof::analysis
