#include <gtest/gtest.h>

#include <map>
#include <set>

#include "analysis/peak/call_tree.h"
#include "analysis/store/allocation_set.h"
#include "tests/analysis/peak/call_tree_fixture.h"

namespace memprof::analysis {
namespace {

using testing::Made;
using testing::Make;
using testing::PlainStack;
using testing::RandomStacks;

using Costs = std::map<std::string, std::pair<CallCost, CallCost>>;  // inclusive, self

Costs Named(const CallStacks& stacks, const std::vector<FunctionCost>& costs) {
  Costs named;
  for (const FunctionCost& cost : costs) {
    const auto [at, fresh] =
        named.try_emplace(stacks.functions()[cost.function].function, cost.inclusive, cost.self);
    EXPECT_TRUE(fresh) << "twice: " << at->first;
  }
  return named;
}

TEST(CallStacksTest, AFunctionCountsOnceAStack) {
  for (const std::uint32_t seed : {1u, 2u, 3u}) {
    const Made made = Make(seed);
    ASSERT_NE(made.stacks, nullptr);
    Costs want;
    for (const PlainStack& stack : made.plain) {
      for (const std::string& function :
           std::set<std::string>(stack.path.begin(), stack.path.end()))
        want[function].first += stack.cost;
      want[stack.path.back()].second += stack.cost;
    }
    EXPECT_EQ(Named(*made.stacks, made.stacks->Functions()), want);
  }
}

TEST(CallStacksTest, CallersAndCalleesAreThoseOfEveryStack) {
  for (const std::uint32_t seed : {4u, 5u, 6u}) {
    const Made made = Make(seed);
    ASSERT_NE(made.stacks, nullptr);
    for (std::uint32_t f = 0; f < made.stacks->functions().size(); ++f) {
      const std::string& function = made.stacks->functions()[f].function;
      Costs callers, callees;
      for (const auto& [path, cost] : made.plain) {
        std::set<std::string> calling, called;
        bool callee_allocates = false;
        for (std::size_t i = 0; i + 1 < path.size(); ++i) {
          if (path[i + 1] == function) calling.insert(path[i]);
          if (path[i] != function) continue;
          called.insert(path[i + 1]);
          callee_allocates |= i + 2 == path.size();
        }
        for (const std::string& name : calling) callers[name].first += cost;
        for (const std::string& name : called) callees[name].first += cost;
        if (callee_allocates) callees[path.back()].second += cost;
      }
      EXPECT_EQ(Named(*made.stacks, made.stacks->Callers(f, false)), callers) << function;
      EXPECT_EQ(Named(*made.stacks, made.stacks->Callees(f, false)), callees) << function;
      std::uint64_t last = ~std::uint64_t{0};
      for (const FunctionCost& cost : made.stacks->Callees(f, true)) {
        EXPECT_LE(cost.inclusive.blocks, last);
        last = cost.inclusive.blocks;
      }
    }
  }
}

TEST(SitesTest, OnlyWhatPasses) {
  const auto session = RandomStacks(10);
  ASSERT_NE(session, nullptr);
  std::vector<bool> chosen(session->records().size());
  CallCost want;
  for (std::uint32_t i = 0; i < chosen.size(); ++i) {
    chosen[i] = i % 3 == 0;
    if (chosen[i]) want += {session->records()[i].bytes, 1};
  }
  SiteQuery query;
  query.passing = std::make_shared<const AllocationSet>(chosen);
  for (const Metric metric : {Metric::kLiveBytes, Metric::kAllocatedBytes}) {
    for (const TimeNs at : {kForever, session->run().end_time}) {
      query.metric = metric;
      query.at = at;
      CallCost have;
      for (const Site& site : FindSites(*session, query)) have += {site.bytes, site.blocks};
      EXPECT_EQ(have, want);
    }
  }
}

}  // namespace
}  // namespace memprof::analysis
