// Failed requests: which belong together, causes, remedies and changes, on hand-made logs.
#include "analysis/oom/oom.h"

#include <gtest/gtest.h>

#include "analysis/load/load.h"
#include "analysis/oom/words.h"
#include "tests/analysis/oom/case.h"
#include "tests/support/temp_file.h"

namespace memprof::analysis {
namespace {

using testing::AllocatorGivesUp;
using testing::Case;
using testing::DriverRefuses;
using testing::kBase;
using testing::Load;
using testing::LogBuilder;
using testing::Segment;
using testing::Sum;
using testing::TwoHoles;

TEST(OomTest, NothingFailed) {
  LogBuilder log;
  log.Alloc(Layer::kLinear, kBase, kMiB);
  EXPECT_TRUE(Load(log).failures.empty());
}

TEST(OomTest, AllocatorAndDriverAreOneFailure) {
  LogBuilder log;
  log.Device(0, 100 * kMiB);
  DriverRefuses(log, 20 * kMiB, 14 * kMiB, 100 * kMiB);
  DriverRefuses(log, 20 * kMiB, 14 * kMiB, 100 * kMiB);
  AllocatorGivesUp(log, 3 * kMiB);
  const Case c = Load(log);
  ASSERT_EQ(c.failures.size(), 1u);
  EXPECT_EQ(c.failures[0].event.value, 2u);
  EXPECT_EQ(c.failures[0].driver.value, 1u);
  EXPECT_EQ(c.failures[0].bytes, 3 * kMiB);
  EXPECT_EQ(c.failures[0].driver_bytes, 20 * kMiB);
  EXPECT_EQ(c.failures[0].attempts, 2);
  EXPECT_FALSE(c.failures[0].recovered);
  EXPECT_EQ(c.last.cause, FailureCause::kSegmentSize);
  ASSERT_NE(c.Find(RemedyKind::kLargerDevice), nullptr);
  EXPECT_EQ(c.Find(RemedyKind::kLargerDevice)->bytes, 6 * kMiB);
}

TEST(OomTest, WhatBelongsToAnotherThreadStaysApart) {
  LogBuilder log;
  log.Device(0, 100 * kMiB);
  log.Thread(2, 12, "other");
  log.AllocFailed(Layer::kLinear, 20 * kMiB, {.thread = 2, .aux0 = 1, .aux1 = kMiB, .result = 2});
  AllocatorGivesUp(log, 3 * kMiB);
  EXPECT_EQ(Load(log).failures.size(), 2u);
}

TEST(OomTest, WhatTheDriverRefusedOnAnotherDeviceStaysApart) {
  LogBuilder log;
  log.Device(0, 100 * kMiB);
  log.Device(1, 100 * kMiB);
  log.AllocFailed(Layer::kLinear, 20 * kMiB, {.device = 1, .aux1 = 100 * kMiB, .result = 2});
  AllocatorGivesUp(log, 3 * kMiB);
  EXPECT_EQ(Load(log).failures.size(), 2u);
}

TEST(OomTest, WhatIsUnusedAnywayIsNoGainOfASite) {
  LogBuilder log;
  log.Device(0, 64 * kMiB);
  Segment(log, kBase, 40 * kMiB);
  log.Alloc(Layer::kBlock, kBase, kMiB);
  log.Free(Layer::kBlock, kBase);
  log.Alloc(Layer::kLinear, kBase + 64 * kMiB, 4 * kMiB);
  DriverRefuses(log, 30 * kMiB, 20 * kMiB, 64 * kMiB);
  const Case c = Load(log);
  const Remedy* sites = c.Find(RemedyKind::kSites);
  ASSERT_NE(sites, nullptr);
  EXPECT_FALSE(sites->fits);
  EXPECT_EQ(sites->bytes, 4 * kMiB);
  EXPECT_EQ(sites->short_by, 6 * kMiB);
}

TEST(OomTest, RecoveredWhenTheThreadThenGetsAsMuch) {
  LogBuilder log;
  log.Device(0, 100 * kMiB);
  DriverRefuses(log, 20 * kMiB, 0, 100 * kMiB);
  log.Alloc(Layer::kLinear, kBase, 20 * kMiB);
  DriverRefuses(log, 30 * kMiB, 0, 100 * kMiB);
  log.Alloc(Layer::kLinear, kBase + 64 * kMiB, 10 * kMiB);
  const Case c = Load(log);
  ASSERT_EQ(c.failures.size(), 2u);
  EXPECT_TRUE(c.failures[0].recovered);
  EXPECT_FALSE(c.failures[1].recovered);
}

TEST(OomTest, CapacityIsShortByWhatIsMissing) {
  LogBuilder log;
  log.Device(0, 100 * kMiB);
  const int big = log.Stack({"main (a.cc:1)", "Big (a.cc:2)"});
  const int small = log.Stack({"main (a.cc:1)", "Small (a.cc:3)"});
  log.Alloc(Layer::kLinear, kBase, 60 * kMiB, {.stack = big});
  log.Alloc(Layer::kLinear, kBase + 64 * kMiB, 20 * kMiB, {.stack = small});
  DriverRefuses(log, 30 * kMiB, 15 * kMiB, 100 * kMiB);
  const Case c = Load(log);
  EXPECT_EQ(c.last.cause, FailureCause::kCapacity);
  EXPECT_EQ(c.last.missing, 15 * kMiB);
  EXPECT_EQ(c.last.space.untracked, 5 * kMiB);
  EXPECT_EQ(Sum(c.last.space), c.last.space.total + c.last.space.elsewhere);
  const Remedy* sites = c.Find(RemedyKind::kSites);
  ASSERT_NE(sites, nullptr);
  EXPECT_TRUE(sites->fits);
  ASSERT_EQ(sites->sites.size(), 1u);  // both would be enough; the smaller one is named
  EXPECT_EQ(c.SiteName(sites->sites[0].site), "Small");
  const Remedy* smaller = c.Find(RemedyKind::kSmallerRequest);
  ASSERT_NE(smaller, nullptr);
  EXPECT_EQ(smaller->bytes, 15 * kMiB);
}

TEST(OomTest, OtherProcessesCount) {
  LogBuilder log;
  log.Device(0, 100 * kMiB);
  log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, 10 * kMiB, 0,
            {.aux0 = 100 * kMiB, .aux1 = 1 + 70 * kMiB});
  DriverRefuses(log, 30 * kMiB, 10 * kMiB, 100 * kMiB);
  const Case c = Load(log);
  EXPECT_EQ(c.last.space.others, 70 * kMiB);
  EXPECT_EQ(c.last.space.untracked, 20 * kMiB);
  const Remedy* others = c.Find(RemedyKind::kOtherProcesses);
  ASSERT_NE(others, nullptr);
  EXPECT_TRUE(others->fits);
}

TEST(OomTest, WithoutCapacityItIsKnownWhatAllocatorsHad) {
  LogBuilder log;
  TwoHoles(log, 0);
  AllocatorGivesUp(log, 8 * kMiB);
  const Case c = Load(log);
  EXPECT_EQ(c.last.space.total, 0u);
  EXPECT_EQ(c.last.space.elsewhere, 0u);
  EXPECT_EQ(c.last.cause, FailureCause::kFragmentation);
  EXPECT_EQ(c.Find(RemedyKind::kLargerDevice), nullptr);
  LogBuilder full;
  Segment(full, kBase, 4 * kMiB);
  full.Alloc(Layer::kBlock, kBase, 4 * kMiB);
  AllocatorGivesUp(full, 8 * kMiB);
  EXPECT_EQ(Load(full).last.cause, FailureCause::kUnknown);
}

TEST(OomTest, NamesNoFrameThatOnlyReports) {
  LogBuilder log;
  log.Device(0, 40 * kMiB);
  for (int i = 0; i < 8; ++i) {
    const int stack =
        log.Stack({"main (a.cc:1)", "Layer" + std::to_string(i) + " (a.cc:5)", "Tensor (t.cc:1)"});
    log.Alloc(Layer::kLinear, kBase + static_cast<std::uint64_t>(i) * kMiB, kMiB, {.stack = stack});
  }
  const int failing =
      log.Stack({"main (a.cc:1)", "Layer3 (a.cc:6)", "Tensor (t.cc:1)", "ReportOom (report.cc:1)"});
  DriverRefuses(log, 40 * kMiB, 0, 40 * kMiB, failing);
  EXPECT_EQ(Load(log).last.site.function, "Layer3");
}

// Two processes on one device: holes of the other process cannot be used, and its memory is counted
// once.
TEST(OomTest, OtherProcessesOfTheSession) {
  const testing::TempDirectory directory;
  std::vector<std::string> paths;
  for (const bool fails : {false, true}) {
    LogBuilder log;
    log.header().set_pid(fails ? 11 : 10);
    log.Device(0, 100 * kMiB);
    const std::uint64_t base = kBase + (fails ? 0x10000000 : 0);
    Segment(log, base, 20 * kMiB);
    log.Alloc(Layer::kBlock, base, fails ? 20 * kMiB : kMiB);
    if (fails) {
      log.AdvanceTime(1'000'000);
      log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, 0, 0,
                {.aux0 = 100 * kMiB, .aux1 = 1 + 70 * kMiB});
      DriverRefuses(log, 20 * kMiB, 0, 100 * kMiB);
      AllocatorGivesUp(log, 8 * kMiB);
    }
    paths.push_back(directory.Write(fails ? "b.mprof" : "a.mprof", log.Bytes()));
  }
  const auto session = LoadLogs(paths, {.find_steps = false});
  ASSERT_TRUE(session.ok()) << session.status();
  const std::vector<FailedRequest> failures = FindFailures(**session);
  ASSERT_EQ(failures.size(), 1u);
  Symbols symbols(*session);
  SiteGroups sites(**session, symbols);
  const FailureReport report = FailureExplainer(**session, symbols, sites).Explain(failures[0]);
  const DeviceSpace& space = report.space;
  EXPECT_EQ(Sum(space), space.total + space.elsewhere);
  EXPECT_EQ(space.blocks, 21 * kMiB);  // of both processes
  EXPECT_EQ(space.own_pool.count, 0u);
  EXPECT_EQ(space.other_pools.count, 0u);
  EXPECT_EQ(space.foreign.bytes, 19 * kMiB);
  EXPECT_EQ(space.largest_other, 0u);
  EXPECT_EQ(report.cause, FailureCause::kCapacity);
  EXPECT_EQ(space.others, 50 * kMiB);  // 70, less the segment of the other process in the session
}

TEST(OomTest, HeadroomBetweenSamples) {
  LogBuilder log;
  log.Device(0, 100 * kMiB);
  log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, 90 * kMiB, 0, {.aux0 = 100 * kMiB});
  log.Step(1);
  log.Alloc(Layer::kLinear, kBase, 70 * kMiB);
  log.Free(kBase);
  log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, 85 * kMiB, 0, {.aux0 = 100 * kMiB});
  const Case c = Load(log);
  const std::vector<Headroom> rooms = FindHeadroom(*c.session);
  ASSERT_EQ(rooms.size(), 1u);
  EXPECT_EQ(rooms[0].lowest, 20 * kMiB);  // 10 MiB of another process, and this one's
  EXPECT_EQ(rooms[0].step, 1);
  EXPECT_EQ(rooms[0].lowest_free, 85 * kMiB);
  EXPECT_EQ(rooms[0].samples, 2u);
}

}  // namespace
}  // namespace memprof::analysis
