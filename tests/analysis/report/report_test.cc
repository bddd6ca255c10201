// Figures of the report, against plain loops over events and allocations.
#include "analysis/report/report.h"

#include <gtest/gtest.h>

#include "analysis/testing/column.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::Column;
using testing::LoadLog;
using testing::LogBuilder;
using testing::RandomLog;
using testing::Times;

// Figures of one device, and of the host's pinned memory, by a loop over all allocations.
struct PlainDevice {
  std::uint64_t peak = 0, framework_peak = 0, reserved_peak = 0, pinned_peak = 0, pinned_live = 0;
  std::uint64_t live = 0, count = 0, blocks = 0, block_bytes = 0;
};

PlainDevice PlainFigures(const Session& session, int device) {
  PlainDevice figures;
  for (const TimeNs time : Times(session.events())) {
    std::uint64_t total = 0, blocks = 0, segments = 0, pinned = 0;
    for (const Allocation& a : session.allocations()) {
      if (!a.AliveAt(time)) continue;
      if (a.layer == Layer::kPinned) pinned += a.bytes;
      if (a.device != device) continue;
      if (OccupiesDevice(a.layer)) total += a.bytes;
      if (a.layer == Layer::kBlock) blocks += a.bytes;
      if (a.layer == Layer::kSegment) segments += a.bytes;
    }
    figures.peak = std::max(figures.peak, total);
    figures.framework_peak = std::max(figures.framework_peak, blocks);
    figures.reserved_peak = std::max(figures.reserved_peak, segments);
    figures.pinned_peak = std::max(figures.pinned_peak, pinned);
    figures.pinned_live = pinned;
  }
  for (const Allocation& a : session.allocations()) {
    if (!a.alive() || a.device != device) continue;
    if (OccupiesDevice(a.layer)) {
      figures.live += a.bytes;
      ++figures.count;
    }
    if (a.layer == Layer::kBlock) {
      ++figures.blocks;
      figures.block_bytes += a.bytes;
    }
  }
  return figures;
}

TEST(ReportTest, FiguresMatchPlainLoops) {
  for (const std::uint32_t seed : {61u, 62u}) {
    RandomLog log({.seed = seed});
    const auto session = LoadLog(log.builder());
    ASSERT_NE(session, nullptr);
    const Report report = BuildReport(*session);
    EXPECT_EQ(report.steps, 10u);
    std::uint64_t allocations = 0, frees = 0;
    for (const Op op : Column(session->events(), &EventTable::op)) {
      allocations += op == Op::kAlloc;
      frees += op == Op::kFree;
    }
    EXPECT_EQ(report.events.total, session->events().size());
    EXPECT_EQ(report.events.allocations, allocations);
    EXPECT_EQ(report.events.frees, frees);
    std::uint64_t by_layer = 0;
    for (const std::uint64_t count : report.events.allocations_by_layer) by_layer += count;
    EXPECT_EQ(by_layer, allocations);
    std::uint64_t pinned_live = 0, pinned_peak = 0;
    ASSERT_EQ(report.devices.size(), 2u);
    for (const DeviceFigures& device : report.devices) {
      const PlainDevice plain = PlainFigures(*session, device.info.id);
      pinned_peak = std::max(pinned_peak, plain.pinned_peak);
      pinned_live = plain.pinned_live;
      EXPECT_EQ(device.peak_bytes, plain.peak);
      EXPECT_EQ(device.live_bytes, plain.live);
      EXPECT_EQ(device.live_blocks, plain.count);
      EXPECT_TRUE(device.framework.seen);
      EXPECT_EQ(device.framework.peak_bytes, plain.framework_peak);
      EXPECT_EQ(device.framework.peak_reserved_bytes, plain.reserved_peak);
      EXPECT_EQ(device.framework.live_blocks, plain.blocks);
      EXPECT_EQ(device.framework.live_bytes, plain.block_bytes);
    }
    EXPECT_EQ(report.host.pinned_peak_bytes, pinned_peak);
    EXPECT_EQ(report.host.pinned_live_bytes, pinned_live);
  }
}

TEST(ReportTest, LedgerClosesWithTheLastMemorySample) {
  LogBuilder log;
  log.Device(0, 1000);
  log.Alloc(Layer::kLinear, 0x1000, 300);
  log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, 600, 0, {.aux0 = 1000});
  log.Alloc(Layer::kLinear, 0x2000, 50);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const Report report = BuildReport(*session);
  // 400 were in use then, of which 300 were recorded.
  EXPECT_EQ(report.devices.at(0).untracked_bytes, 100u);
  EXPECT_EQ(report.devices.at(0).live_bytes, 350u);
}

TEST(ReportTest, CountsWhatWentWrong) {
  LogBuilder log;
  log.AllocFailed(Layer::kLinear, 1 << 30, {.result = 2});
  log.Free(0x9999);
  log.Count("events_lost", 12);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const Report report = BuildReport(*session);
  EXPECT_EQ(report.events.failed, 1u);
  EXPECT_EQ(report.events.lost, 12u);
  EXPECT_EQ(report.events.unmatched_frees, 1u);
  EXPECT_EQ(report.events.allocations, 0u);
  EXPECT_TRUE(report.peaks.empty());
}

TEST(ReportTest, RefusedFreeIsNoFree) {
  LogBuilder log;
  log.Device(0, 1000);
  log.Alloc(Layer::kLinear, 0x1000, 300);
  log.Free(0x1000);
  log.Event(Op::kFreeFailed, Layer::kLinear, 0x1000, 0, 0, {.result = 1});
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const Report report = BuildReport(*session);
  EXPECT_EQ(report.events.frees, 0u);
  EXPECT_EQ(report.devices.at(0).live_bytes, 300u);
}

TEST(ReportTest, RegisteredMemoryIsApartFromPinned) {
  LogBuilder log;
  log.Alloc(Layer::kPinned, 0x1000, 100, {.device = kNoDevice});
  log.Alloc(Layer::kRegistered, 0x8000, 700, {.device = kNoDevice});
  log.Free(Layer::kRegistered, 0x8000, {.device = kNoDevice});
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const HostFigures host = BuildReport(*session).host;
  EXPECT_EQ(host.pinned_peak_bytes, 100u);
  EXPECT_EQ(host.pinned_live_bytes, 100u);
  EXPECT_EQ(host.registered_peak_bytes, 700u);
  EXPECT_EQ(host.registered_live_bytes, 0u);
}

}  // namespace
}  // namespace memprof::analysis
