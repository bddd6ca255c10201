// Failed requests: causes by hand, and bytes, remedies and changes against plain loops on random
// logs.
#include "analysis/oom.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/address_map.h"
#include "tests/queries/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;
using testing::RandomLog;

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kBase = 0x700000000000;

// A log with its failures and what the last one means.
struct Case {
  std::shared_ptr<const Session> session;
  std::unique_ptr<Symbols> symbols;
  std::unique_ptr<SiteGroups> sites;
  std::vector<FailedRequest> failures;
  FailureReport last;

  const Remedy* Find(RemedyKind kind) const {
    for (const Remedy& remedy : last.remedies)
      if (remedy.kind == kind) return &remedy;
    return nullptr;
  }
  std::string SiteName(std::uint32_t site) const {
    return symbols->Site(sites->Example(site)).function;
  }
};

Case Load(const LogBuilder& log) {
  Case c;
  c.session = LoadLog(log);
  c.symbols = std::make_unique<Symbols>(c.session);
  c.sites = std::make_unique<SiteGroups>(*c.session, *c.symbols);
  c.failures = FindFailures(*c.session);
  if (!c.failures.empty())
    c.last = FailureExplainer(*c.session, *c.symbols, *c.sites).Explain(c.failures.back());
  return c;
}

std::uint64_t Sum(const DeviceSpace& space) {
  std::uint64_t sum = space.free + space.blocks + space.rounding + space.own_pool.bytes +
                      space.other_pools.bytes + space.cached.bytes + space.modules + space.pools +
                      space.others.value_or(0) + space.untracked;
  for (const std::uint64_t bytes : space.direct) sum += bytes;
  return sum;
}

void Segment(LogBuilder& log, std::uint64_t address, std::uint64_t bytes,
             const testing::EventFields& fields = {}) {
  log.Alloc(Layer::kLinear, address, bytes, fields);
  log.Alloc(Layer::kSegment, address, bytes, fields);
}

void DriverRefuses(LogBuilder& log, std::uint64_t bytes, std::uint64_t free, std::uint64_t total,
                   int stack = 0) {
  log.AllocFailed(Layer::kLinear, bytes,
                  {.stack = stack, .aux0 = free, .aux1 = total, .result = 2});
}

void AllocatorGivesUp(LogBuilder& log, std::uint64_t bytes, int stack = 0) {
  log.Event(Op::kFrameworkOom, Layer::kBlock, 0, bytes, 0, {.stack = stack});
}

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
  ASSERT_EQ(sites->sites.size(), 1u);  // both would do, the smaller is enough
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

// Two holes of 4 MiB with a small block between them.
void TwoHoles(LogBuilder& log, int pin, std::uint64_t stream = 0) {
  const testing::EventFields fields{.stack = pin, .stream = stream};
  Segment(log, kBase, 10 * kMiB, {.stream = stream});
  log.Alloc(Layer::kBlock, kBase, kMiB, fields);
  log.Alloc(Layer::kBlock, kBase + kMiB, 4 * kMiB, fields);
  log.Alloc(Layer::kBlock, kBase + 5 * kMiB, 512, fields);
  log.Alloc(Layer::kBlock, kBase + 5 * kMiB + 512, 5 * kMiB - 512, fields);
  log.Free(Layer::kBlock, kBase + kMiB);
  log.Free(Layer::kBlock, kBase + 5 * kMiB + 512);
}

TEST(OomTest, FragmentationNamesTheBlockInTheWay) {
  LogBuilder log;
  log.Device(0, 20 * kMiB);
  TwoHoles(log, log.Stack({"main (a.cc:1)", "Pin (a.cc:9)"}));
  DriverRefuses(log, 20 * kMiB, 0, 20 * kMiB);
  AllocatorGivesUp(log, 8 * kMiB);
  const Case c = Load(log);
  EXPECT_EQ(c.last.cause, FailureCause::kFragmentation);
  EXPECT_EQ(c.last.space.own_pool.count, 2u);
  EXPECT_EQ(c.last.space.largest_own, 5 * kMiB - 512);
  const Remedy* blocks = c.Find(RemedyKind::kFreeBlocks);
  ASSERT_NE(blocks, nullptr);
  ASSERT_EQ(blocks->blocks.size(), 1u);
  EXPECT_EQ(blocks->bytes, 512u);
  EXPECT_TRUE(c.Find(RemedyKind::kPacked)->fits);
  // Of the holes, three pages of 2 MiB are whole.
  EXPECT_EQ(c.Find(RemedyKind::kExpandable)->bytes, 6 * kMiB);
  EXPECT_EQ(c.Find(RemedyKind::kExpandable)->short_by, 2 * kMiB);
  EXPECT_EQ(c.Find(RemedyKind::kSmallerRequest)->bytes, 5 * kMiB - 512);
  EXPECT_EQ(Sum(c.last.space), c.last.space.total + c.last.space.elsewhere);
}

TEST(OomTest, AHoleOfAnotherStreamIsStranded) {
  LogBuilder log;
  log.Device(0, 40 * kMiB);
  TwoHoles(log, 0, 0x51);
  Segment(log, kBase + 64 * kMiB, 4 * kMiB);
  log.Alloc(Layer::kBlock, kBase + 64 * kMiB, 4 * kMiB);
  DriverRefuses(log, 20 * kMiB, 0, 40 * kMiB);
  AllocatorGivesUp(log, 3 * kMiB);
  const Case c = Load(log);
  EXPECT_EQ(c.last.stream, 0u);
  EXPECT_EQ(c.last.cause, FailureCause::kOtherPool);
  EXPECT_EQ(c.last.space.other_pools.count, 2u);
  EXPECT_TRUE(c.Find(RemedyKind::kOnePool)->fits);
}

TEST(OomTest, SmallRequestsDoNotUseLargeSegments) {
  LogBuilder log;
  log.Device(0, 40 * kMiB);
  TwoHoles(log, 0);
  DriverRefuses(log, 2 * kMiB, kMiB, 40 * kMiB);
  AllocatorGivesUp(log, 1024);
  const Case c = Load(log);
  EXPECT_TRUE(c.last.small_pool);
  EXPECT_EQ(c.last.cause, FailureCause::kOtherPool);
}

TEST(OomTest, AHoleThatWasThereIsTheAllocatorsAffair) {
  LogBuilder log;
  log.Device(0, 40 * kMiB);
  TwoHoles(log, 0);
  DriverRefuses(log, 20 * kMiB, 0, 40 * kMiB);
  AllocatorGivesUp(log, 3 * kMiB);
  EXPECT_EQ(Load(log).last.cause, FailureCause::kAllocatorRule);
}

TEST(OomTest, UnusedSegmentsAreAReserveForOthers) {
  LogBuilder log;
  log.Device(0, 40 * kMiB);
  Segment(log, kBase, 20 * kMiB);
  log.Alloc(Layer::kBlock, kBase, kMiB);
  log.Free(Layer::kBlock, kBase);
  DriverRefuses(log, 30 * kMiB, 20 * kMiB, 40 * kMiB);
  const Case c = Load(log);
  EXPECT_EQ(c.last.cause, FailureCause::kReserve);
  EXPECT_EQ(c.last.space.cached.bytes, 20 * kMiB);
  EXPECT_TRUE(c.Find(RemedyKind::kReleaseCache)->fits);
  EXPECT_EQ(c.last.space.other_pools.bytes, 0u);
  EXPECT_EQ(Sum(c.last.space), c.last.space.total);
  EXPECT_EQ(c.last.remedies[0].kind, RemedyKind::kReleaseCache);
}

TEST(OomTest, PoolsAreAReserveToo) {
  LogBuilder log;
  log.Device(0, 40 * kMiB);
  log.Alloc(Layer::kStreamOrdered, kBase, kMiB, {.aux0 = 0xbeef});
  log.Event(Op::kPoolSample, Layer::kUnspecified, 0xbeef, 31 * kMiB, 0, {.aux0 = kMiB});
  DriverRefuses(log, 20 * kMiB, 0, 40 * kMiB);
  const Case c = Load(log);
  EXPECT_EQ(c.last.cause, FailureCause::kReserve);
  EXPECT_EQ(c.last.space.pools, 30 * kMiB);
  EXPECT_TRUE(c.Find(RemedyKind::kTrimPools)->fits);
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

TEST(OomTest, OtherCauses) {
  const auto cause = [](Layer layer, std::uint64_t bytes, std::uint64_t free, std::uint32_t result,
                        int device = 0) {
    LogBuilder log;
    log.AllocFailed(layer, bytes,
                    {.device = device, .aux0 = free, .aux1 = 40 * kMiB, .result = result});
    return Load(log).last.cause;
  };
  EXPECT_EQ(cause(Layer::kLinear, 41 * kMiB, 30 * kMiB, 2), FailureCause::kTooLarge);
  EXPECT_EQ(cause(Layer::kLinear, 10 * kMiB, 30 * kMiB, 2), FailureCause::kDespiteFree);
  EXPECT_EQ(cause(Layer::kLinear, 10 * kMiB, 30 * kMiB, 1), FailureCause::kRefused);
  EXPECT_EQ(cause(Layer::kPinned, 10 * kMiB, 30 * kMiB, 2), FailureCause::kHostMemory);
  EXPECT_EQ(cause(Layer::kUnspecified, 0, 30 * kMiB, 2), FailureCause::kUnknown);
  EXPECT_EQ(cause(Layer::kLinear, 10 * kMiB, 0, 2, kNoDevice), FailureCause::kUnknown);
}

TEST(OomTest, ComparesWithTheSameCallOfTheStepBefore) {
  LogBuilder log;
  log.Device(0, 40 * kMiB);
  const int work = log.Stack({"main (a.cc:1)", "Work (a.cc:2)"});
  const int leak = log.Stack({"main (a.cc:1)", "Leak (a.cc:3)"});
  for (std::uint64_t step = 0; step < 2; ++step) {
    log.Step(step);
    log.Alloc(Layer::kLinear, kBase + step * kMiB, kMiB, {.stack = leak});
    log.Alloc(Layer::kLinear, kBase + 32 * kMiB, 4 * kMiB, {.stack = work});
    log.Alloc(Layer::kLinear, kBase + 40 * kMiB, 5 * kMiB, {.stack = work});
    log.Free(kBase + 32 * kMiB);
    log.Free(kBase + 40 * kMiB);
  }
  log.Step(2);
  log.Alloc(Layer::kLinear, kBase + 2 * kMiB, kMiB, {.stack = leak});
  log.Alloc(Layer::kLinear, kBase + 32 * kMiB, 4 * kMiB, {.stack = work});
  DriverRefuses(log, 5 * kMiB, 4 * kMiB, 40 * kMiB, work);
  const Case c = Load(log);
  EXPECT_EQ(c.last.compared_step, 1);
  EXPECT_TRUE(c.last.same_call);
  EXPECT_EQ(c.last.live_before, 6 * kMiB);
  EXPECT_EQ(c.last.live_after, 7 * kMiB);
  ASSERT_EQ(c.last.changes.size(), 1u);
  EXPECT_EQ(c.SiteName(c.last.changes[0].site), "Leak");
  EXPECT_EQ(c.last.changes[0].before, 2 * kMiB);
  EXPECT_EQ(c.last.changes[0].after, 3 * kMiB);
  // What grew is named before what is smallest.
  ASSERT_NE(c.Find(RemedyKind::kSites), nullptr);
  EXPECT_EQ(c.SiteName(c.Find(RemedyKind::kSites)->sites[0].site), "Leak");
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

// The state of the log's end, by loops over all lifetimes.
struct PlainSpace {
  std::uint64_t blocks = 0, rounding = 0, holes = 0, cached = 0, direct = 0;
  std::map<std::uint64_t, std::pair<std::uint64_t, bool>> segments;  // address: bytes, used
};

PlainSpace Measure(const Session& session, int device) {
  PlainSpace plain;
  std::set<std::uint32_t> carved;
  for (const Allocation& a : session.allocations())
    if (a.alive() && a.device == device && a.layer == Layer::kSegment) {
      plain.segments[a.address] = {a.bytes, false};
      plain.holes += a.bytes;
      carved.insert(a.parent.value);
    }
  for (std::size_t i = 0; i < session.allocations().size(); ++i) {
    const Allocation a = session.allocations()[i];
    if (!a.alive() || a.device != device) continue;
    if (a.layer == Layer::kBlock) {
      plain.blocks += a.requested;
      plain.rounding += a.bytes - a.requested;
      plain.holes -= a.bytes;
      std::prev(plain.segments.upper_bound(a.address))->second.second = true;
    } else if (OccupiesDevice(a.layer) && !carved.contains(static_cast<std::uint32_t>(i))) {
      plain.direct += a.bytes;
    }
  }
  for (const auto& [address, segment] : plain.segments) {
    if (segment.second) continue;
    plain.cached += segment.first;
    plain.holes -= segment.first;
  }
  return plain;
}

// Whether the request fits once all memory of `sites` is freed at the end of the log: it is freed
// in another log, and the pieces of that one are looked at.
bool FitsWithout(const testing::RandomLogOptions& options, const Case& c,
                 const std::set<std::uint32_t>& sites) {
  RandomLog again(options);
  const DeviceSpace& space = c.last.space;
  std::uint64_t given = 0;
  std::set<std::uint64_t> had_blocks;
  for (const Allocation& a : c.session->allocations()) {
    if (!a.alive() || a.device != 0 || !a.parent.valid()) continue;
    if (a.layer == Layer::kBlock) had_blocks.insert(c.session->allocation(a.parent).address);
  }
  std::set<std::uint32_t> carved;
  for (const Allocation& a : c.session->allocations())
    if (a.alive() && a.layer == Layer::kSegment) carved.insert(a.parent.value);
  for (std::size_t i = 0; i < c.session->allocations().size(); ++i) {
    const Allocation a = c.session->allocations()[i];
    if (!a.alive() || a.device != 0 || !sites.contains(c.sites->Of(a.stack))) continue;
    if (a.layer == Layer::kBlock)
      again.builder().Free(Layer::kBlock, a.address);
    else if (OccupiesDevice(a.layer) && !carved.contains(static_cast<std::uint32_t>(i)))
      given += a.bytes;
  }
  const auto freed = LoadLog(again.builder());
  std::uint64_t largest = 0;
  for (const MapSegment& segment : BuildAddressMap(*freed, 0, kForever).segments) {
    if (!segment.framework) continue;
    if (segment.free_bytes == segment.bytes && had_blocks.contains(segment.address))
      given += segment.bytes;
    largest = std::max(largest, segment.largest_hole);
  }
  return (c.last.request.framework && largest >= c.last.request.bytes) ||
         (given > 0 && space.free + given >= c.last.request.driver_bytes);
}

std::uint64_t LargestHole(const testing::RandomLogOptions& options) {
  RandomLog log(options);
  std::uint64_t largest = 0;
  for (const MapSegment& segment : BuildAddressMap(*LoadLog(log.builder()), 0, kForever).segments)
    largest = std::max(largest, segment.largest_hole);
  return largest;
}

TEST(OomTest, RandomLogsCloseAndRemediesHold) {
  for (const std::uint32_t seed : {901u, 902u, 903u, 904u, 905u, 906u}) {
    SCOPED_TRACE(seed);
    const bool framework = seed % 2 == 0;
    const testing::RandomLogOptions options{.seed = seed, .devices = 1, .operations = 250};
    RandomLog log(options);
    const std::uint64_t total = 64 * kMiB;
    if (framework) {
      DriverRefuses(log.builder(), 128 << 10, 5000, total);
      AllocatorGivesUp(log.builder(), LargestHole(options) + options.grain);
    } else {
      DriverRefuses(log.builder(), 200'000, 5000, total);
    }
    const Case c = Load(log.builder());
    ASSERT_EQ(c.failures.size(), 1u);
    const DeviceSpace& space = c.last.space;
    EXPECT_EQ(Sum(space), space.total + space.elsewhere);
    const PlainSpace plain = Measure(*c.session, 0);
    EXPECT_EQ(space.blocks, plain.blocks);
    EXPECT_EQ(space.rounding, plain.rounding);
    EXPECT_EQ(space.own_pool.bytes + space.other_pools.bytes, plain.holes);
    EXPECT_EQ(space.cached.bytes, plain.cached);
    std::uint64_t direct = 0;
    for (const std::uint64_t bytes : space.direct) direct += bytes;
    EXPECT_EQ(direct, plain.direct);
    std::uint64_t live = 0;
    for (const SiteUse& use : c.last.sites) live += use.bytes;
    EXPECT_EQ(live, plain.blocks + plain.rounding + plain.direct);
    // Every remedy that names sites is enough, and none of its sites can be spared.
    int checked = 0;
    for (const Remedy& remedy : c.last.remedies) {
      if (remedy.kind != RemedyKind::kSites || !remedy.fits) continue;
      std::set<std::uint32_t> sites;
      for (const SiteUse& use : remedy.sites) sites.insert(use.site);
      EXPECT_TRUE(FitsWithout(options, c, sites));
      for (const SiteUse& use : remedy.sites) {
        std::set<std::uint32_t> fewer = sites;
        fewer.erase(use.site);
        EXPECT_FALSE(FitsWithout(options, c, fewer));
      }
      ++checked;
    }
    EXPECT_GT(checked, 0);
    // No site with less memory is enough on its own if the remedy is the cheapest single one.
    const Remedy& cheapest =
        *std::find_if(c.last.remedies.rbegin(), c.last.remedies.rend(),
                      [](const Remedy& r) { return r.kind == RemedyKind::kSites && r.fits; });
    if (cheapest.sites.size() == 1)
      for (const SiteUse& use : c.last.sites)
        if (use.bytes < cheapest.bytes) {
          EXPECT_FALSE(FitsWithout(options, c, {use.site}));
        }
  }
}

TEST(OomTest, FreeBlocksAreTheCheapestWindow) {
  for (const std::uint32_t seed : {911u, 912u, 913u, 914u}) {
    SCOPED_TRACE(seed);
    RandomLog log({.seed = seed, .devices = 1, .operations = 200});
    DriverRefuses(log.builder(), 64 << 10, 0, 64 * kMiB);
    AllocatorGivesUp(log.builder(), 30 << 10);
    const Case c = Load(log.builder());
    std::uint64_t best = ~std::uint64_t{0};
    for (const MapSegment& segment : BuildAddressMap(*c.session, 0, kForever).segments) {
      if (!segment.framework) continue;
      for (std::size_t i = 0; i < segment.pieces.size(); ++i) {
        std::uint64_t size = 0, cost = 0;
        for (std::size_t j = i; j < segment.pieces.size(); ++j) {
          size += segment.pieces[j].bytes;
          if (!segment.pieces[j].hole()) cost += segment.pieces[j].bytes;
          if (size >= 30 << 10 && cost > 0) best = std::min(best, cost);
        }
      }
    }
    const Remedy* blocks = c.Find(RemedyKind::kFreeBlocks);
    ASSERT_NE(blocks, nullptr);
    EXPECT_EQ(blocks->bytes, best);
    std::uint64_t named = 0;
    for (const AllocationId id : blocks->blocks) named += c.session->record(id).bytes;
    EXPECT_EQ(named, best);
  }
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
  EXPECT_EQ(rooms[0].lowest, 20 * kMiB);  // 10 MiB of somebody else's, and ours
  EXPECT_EQ(rooms[0].step, 1);
  EXPECT_EQ(rooms[0].lowest_free, 85 * kMiB);
  EXPECT_EQ(rooms[0].samples, 2u);
}

}  // namespace
}  // namespace memprof::analysis
