// Failed requests on random logs: figures against plain loops, and remedies against logs in which
// the memory was freed.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/timeline/address_map.h"
#include "tests/analysis/oom/case.h"

namespace memprof::analysis {
namespace {

using testing::AllocatorGivesUp;
using testing::Case;
using testing::DriverRefuses;
using testing::Load;
using testing::LoadLog;
using testing::RandomLog;
using testing::Sum;

// The state at the end of the log, by loops over all lifetimes.
struct PlainSpace {
  std::uint64_t blocks = 0, rounding = 0, holes = 0, cached = 0, direct = 0;
  std::map<std::uint64_t, std::pair<std::uint64_t, bool>> segments;  // address: bytes, used
};

PlainSpace Measure(const Session& session, int device) {
  PlainSpace plain;
  std::set<std::uint32_t> suballocated;
  for (const Allocation& a : session.allocations())
    if (a.alive() && a.device == device && a.layer == Layer::kSegment) {
      plain.segments[a.address] = {a.bytes, false};
      plain.holes += a.bytes;
      suballocated.insert(a.parent.value);
    }
  for (std::size_t i = 0; i < session.allocations().size(); ++i) {
    const Allocation a = session.allocations()[i];
    if (!a.alive() || a.device != device) continue;
    if (a.layer == Layer::kBlock) {
      plain.blocks += a.requested;
      plain.rounding += a.bytes - a.requested;
      plain.holes -= a.bytes;
      std::prev(plain.segments.upper_bound(a.address))->second.second = true;
    } else if (OccupiesDevice(a.layer) && !suballocated.contains(static_cast<std::uint32_t>(i))) {
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

// Whether the request fits if all memory of `sites` is freed at the end of the log: frees it in
// another log and checks the pieces there.
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
  std::set<std::uint32_t> suballocated;
  for (const Allocation& a : c.session->allocations())
    if (a.alive() && a.layer == Layer::kSegment) suballocated.insert(a.parent.value);
  for (std::size_t i = 0; i < c.session->allocations().size(); ++i) {
    const Allocation a = c.session->allocations()[i];
    if (!a.alive() || a.device != 0 || !sites.contains(c.sites->Of(a.stack))) continue;
    if (a.layer == Layer::kBlock)
      again.builder().Free(Layer::kBlock, a.address);
    else if (OccupiesDevice(a.layer) && !suballocated.contains(static_cast<std::uint32_t>(i)))
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

TEST(OomRandomTest, RandomLogsCloseAndRemediesHold) {
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
    // Every remedy that names sites is sufficient, and all of its sites are necessary.
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
    // If the cheapest remedy is a single site, no site with less memory is sufficient alone.
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

TEST(OomRandomTest, FreeBlocksAreTheCheapestWindow) {
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

}  // namespace
}  // namespace memprof::analysis
