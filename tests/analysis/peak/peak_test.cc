// Peaks against a loop over every event.
#include "analysis/peak/peak.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "analysis/testing/column.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;
using testing::RandomLog;
using testing::Times;

std::uint64_t TotalAt(const Session& session, int device, TimeNs time) {
  std::uint64_t total = 0;
  for (const Allocation& a : session.allocations()) {
    if (a.device == device && a.AliveAt(time) && OccupiesDevice(a.layer)) total += a.bytes;
  }
  return total;
}

std::uint64_t LayerAt(const Session& session, int device, TimeNs time, Layer layer) {
  std::uint64_t total = 0;
  for (const Allocation& a : session.allocations()) {
    if (a.device == device && a.AliveAt(time) && a.layer == layer) total += a.bytes;
  }
  return total;
}

TEST(PeakTest, IsTheMaximumWhenMostOfItWasInUse) {
  for (const std::uint32_t seed : {41u, 42u, 43u}) {
    RandomLog log({.seed = seed});
    const auto session = LoadLog(log.builder());
    ASSERT_NE(session, nullptr);
    const std::vector<Peak> peaks = FindPeaks(*session);
    ASSERT_EQ(peaks.size(), 2u);
    for (const Peak& peak : peaks) {
      std::array<std::uint64_t, 3> best{};
      TimeNs when = 0;
      for (const TimeNs time : Times(session->events())) {
        const std::array<std::uint64_t, 3> now = {
            TotalAt(*session, peak.device, time),
            LayerAt(*session, peak.device, time, Layer::kBlock),
            LayerAt(*session, peak.device, time, Layer::kTensor)};
        if (now > best) {
          best = now;
          when = time;
        }
      }
      EXPECT_EQ(peak.bytes, best[0]);
      EXPECT_EQ(peak.time, when);
      EXPECT_EQ(peak.step, session->StepAt(when));
      EXPECT_EQ(session->events().time(peak.event.value), when);
    }
  }
}

TEST(PeakTest, WithoutAllocatorItIsTheFirstInstant) {
  LogBuilder log;
  log.Alloc(Layer::kLinear, 0x10000, 100);
  log.Step(1);
  log.Free(0x10000);
  log.Alloc(Layer::kLinear, 0x20000, 100);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const Peak peak = FindPeaks(*session).at(0);
  EXPECT_EQ(peak.event, EventId(0));
  EXPECT_EQ(peak.step, -1);
}

TEST(PeakTest, ListsAreWhatWasLiveThen) {
  RandomLog log({.seed = 44});
  const auto session = LoadLog(log.builder());
  ASSERT_NE(session, nullptr);
  for (const Peak& peak : FindPeaks(*session)) {
    std::array<std::uint64_t, kLayerCount> layers{};
    std::set<std::uint32_t> tensors, blocks;
    for (std::uint32_t i = 0; i < session->allocations().size(); ++i) {
      const Allocation& a = session->allocations()[i];
      if (a.device != peak.device || !a.AliveAt(peak.time)) continue;
      layers[static_cast<std::size_t>(a.layer)] += a.bytes;
      if (a.layer == Layer::kTensor) tensors.insert(i);
      if (a.layer == Layer::kBlock) blocks.insert(i);
    }
    EXPECT_EQ(peak.by_layer, layers);
    const auto same = [&](const std::vector<AllocationId>& got,
                          const std::set<std::uint32_t>& want) {
      std::set<std::uint32_t> ids;
      std::uint64_t last = ~std::uint64_t{0};
      for (const AllocationId id : got) {
        ids.insert(id.value);
        EXPECT_LE(session->allocation(id).bytes, last);
        last = session->allocation(id).bytes;
      }
      EXPECT_EQ(ids, want);
    };
    same(peak.tensors, tensors);
    same(peak.blocks, blocks);
    std::uint64_t sites = 0;
    for (const Site& site : peak.sites) sites += site.bytes;
    EXPECT_EQ(sites, peak.bytes);
  }
}

TEST(PeakTest, AnyInstantIsDescribedTheSameWay) {
  RandomLog log({.seed = 45});
  const auto session = LoadLog(log.builder());
  ASSERT_NE(session, nullptr);
  const auto time = Times(session->events());
  for (std::size_t e = 0; e < time.size(); e += 29) {
    EXPECT_EQ(DescribeInstant(*session, 1, time[e]).bytes, TotalAt(*session, 1, time[e]));
  }
  EXPECT_EQ(DescribeInstant(*session, 0, 0).bytes, 0u);
  EXPECT_EQ(DescribeInstant(*session, 0, kForever).bytes, TotalAt(*session, 0, time.back()));
}

TEST(PeakTest, FrameworkMemoryIsNeverAdded) {
  LogBuilder log;
  log.Alloc(Layer::kLinear, 0x10000, 4096);
  log.Alloc(Layer::kSegment, 0x10000, 4096);
  log.Alloc(Layer::kBlock, 0x10000, 1024);
  log.TensorCreate(0x10000, 1000, log.Tensor("w", "float32", {250}));
  log.Alloc(Layer::kPinned, 0x90000, 1 << 20, {.device = kNoDevice});
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const std::vector<Peak> peaks = FindPeaks(*session);
  ASSERT_EQ(peaks.size(), 1u);
  EXPECT_EQ(peaks[0].bytes, 4096u);
  EXPECT_EQ(peaks[0].by_layer[static_cast<std::size_t>(Layer::kBlock)], 1024u);
  EXPECT_EQ(peaks[0].tensors.size(), 1u);
}

TEST(PeakTest, BlocksWithoutDriverMemoryHaveAPeakWhereMostWereInUse) {
  LogBuilder log;
  // recording began late, without the memory that contains it
  log.Alloc(Layer::kBlock, 0x1000, 4096);
  log.Alloc(Layer::kBlock, 0x9000, 64, {.device = 1});
  log.Alloc(Layer::kLinear, 0x20000, 10, {.device = 1});
  log.Alloc(Layer::kBlock, 0x4000, 512);
  log.Free(Layer::kBlock, 0x4000);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const std::vector<Peak> peaks = FindPeaks(*session);
  ASSERT_EQ(peaks.size(), 2u);
  EXPECT_EQ(peaks[0].event, EventId(3));
  EXPECT_EQ(peaks[0].bytes, 0u);
  EXPECT_EQ(peaks[0].blocks.size(), 2u);
  EXPECT_EQ(peaks[1].event, EventId(2));
  EXPECT_EQ(peaks[1].bytes, 10u);
  EXPECT_EQ(peaks[1].blocks.size(), 1u);
}

TEST(PeakTest, MemoryThatCameAndWentAtOneInstantCounts) {
  LogBuilder log;
  log.SetTime(5000);
  log.Alloc(Layer::kLinear, 0x10000, 4096);
  log.SetTime(5000);
  log.Free(0x10000);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const std::vector<Peak> peaks = FindPeaks(*session);
  ASSERT_EQ(peaks.size(), 1u);
  EXPECT_EQ(peaks[0].bytes, 4096u);
}

}  // namespace
}  // namespace memprof::analysis
