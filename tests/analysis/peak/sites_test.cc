// Call sites: their sums equal those of the selected allocations, one by one.
#include "analysis/peak/sites.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/testing/column.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;
using testing::RandomLog;
using testing::Times;

struct Sum {
  std::uint64_t bytes = 0, blocks = 0, largest = 0;
};

bool Selected(const SiteQuery& query, const Allocation& a) {
  if ((query.layers >> static_cast<unsigned>(a.layer) & 1) == 0) return false;
  if (query.device != kNoDevice && a.device != query.device) return false;
  if (query.metric != Metric::kLiveBytes) {
    return a.birth_time >= query.window.begin && a.birth_time < query.window.end;
  }
  return query.at == kForever ? a.end_reason == EndReason::kAlive
                              : a.birth_time <= query.at && query.at < a.death_time;
}

void ExpectMatches(const Session& session, const SiteQuery& query) {
  std::map<std::uint32_t, Sum> want;
  for (const Allocation& a : session.allocations()) {
    if (!Selected(query, a)) continue;
    Sum& sum = want[a.stack.value];
    sum.bytes += a.bytes;
    ++sum.blocks;
    sum.largest = std::max(sum.largest, a.bytes);
  }
  const std::vector<Site> sites = FindSites(session, query);
  ASSERT_EQ(sites.size(), want.size());
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const Sum& sum = want[sites[i].stack.value];
    EXPECT_EQ(sites[i].bytes, sum.bytes);
    EXPECT_EQ(sites[i].blocks, sum.blocks);
    EXPECT_EQ(session.allocation(sites[i].largest).bytes, sum.largest);
    if (i == 0) continue;
    if (query.metric == Metric::kAllocationCount) {
      EXPECT_GE(sites[i - 1].blocks, sites[i].blocks);
    } else {
      EXPECT_GE(sites[i - 1].bytes, sites[i].bytes);
    }
  }
}

TEST(SitesTest, MatchesPlainSums) {
  for (const std::uint32_t seed : {11u, 12u}) {
    RandomLog log({.seed = seed});
    const auto session = LoadLog(log.builder());
    ASSERT_NE(session, nullptr);
    const auto time = Times(session->events());
    const std::uint32_t blocks = LayerBit(Layer::kBlock);
    for (const int device : {kNoDevice, 0, 1}) {
      for (const std::uint32_t layers : {kDeviceLayers, blocks, ~0u}) {
        for (const TimeNs at : {kForever, time[time.size() / 3], time[0], TimeNs{0}}) {
          ExpectMatches(*session, {Metric::kLiveBytes, at, {}, layers, device});
        }
        const TimeWindow window{time[time.size() / 4], time[time.size() / 2]};
        ExpectMatches(*session, {Metric::kAllocatedBytes, kForever, window, layers, device});
        ExpectMatches(*session, {Metric::kAllocationCount, kForever, {}, layers, device});
      }
    }
  }
}

TEST(SitesTest, AllocationsWithoutStackAreOneSite) {
  LogBuilder log;
  log.Alloc(Layer::kLinear, 0x1000, 10);
  log.Alloc(Layer::kLinear, 0x2000, 30);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const std::vector<Site> sites = FindSites(*session, {});
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_FALSE(sites[0].stack.valid());
  EXPECT_EQ(sites[0].bytes, 40u);
  EXPECT_EQ(session->allocation(sites[0].largest).bytes, 30u);
}

// So that a log gives the same text on every machine.
TEST(SitesTest, SitesOfEqualSizeAreInTheOrderOfTheirFirstAllocations) {
  LogBuilder log;
  std::vector<int> stacks;
  for (int i = 0; i < 40; ++i) stacks.push_back(log.Stack({absl::StrCat("Site", i * 7 % 40)}));
  for (std::size_t i = 0; i < 80; ++i)
    log.Alloc(Layer::kLinear, 0x1000 * (i + 1), 64, {.stack = stacks[i * 3 % 40]});
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  for (const Metric metric : {Metric::kLiveBytes, Metric::kAllocationCount}) {
    const std::vector<Site> sites = FindSites(*session, {.metric = metric});
    ASSERT_EQ(sites.size(), 40u);
    for (std::size_t i = 0; i + 1 < sites.size(); ++i)
      EXPECT_LT(sites[i].largest.value, sites[i + 1].largest.value);
  }
}

}  // namespace
}  // namespace memprof::analysis
