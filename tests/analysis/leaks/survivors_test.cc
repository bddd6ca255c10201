// Survivors of leaks, against a check of every allocation for every leak.
#include "analysis/leaks/survivors.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/store/allocation_set.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;
using testing::RandomLog;

std::vector<Leak> AllLeaks(const LeakReport& report) {
  std::vector<Leak> leaks = report.leaks;
  leaks.insert(leaks.end(), report.live_at_exit.begin(), report.live_at_exit.end());
  return leaks;
}

// Live at the end, or before the last step mark, where leaks are judged.
bool Survives(const Session& session, const Allocation& a) {
  if (a.alive()) return true;
  if (session.steps().empty()) return false;
  const EventId judged = session.steps().back().event;
  return a.birth < judged && !(a.death < judged);
}

TEST(SurvivorsTest, AreThoseOfEveryAllocation) {
  for (const std::uint32_t seed : {31u, 32u, 33u}) {
    RandomLog log({.seed = seed, .operations = 600});
    const auto session = LoadLog(log.builder());
    ASSERT_NE(session, nullptr);
    const std::vector<Leak> leaks = AllLeaks(FindLeaks(*session));
    ASSERT_FALSE(leaks.empty());
    std::vector<bool> chosen(session->records().size());
    for (std::size_t i = 0; i < chosen.size(); ++i) chosen[i] = i % 2 == 0;
    const AllocationSet passing(chosen);
    const std::vector<SurvivorFacts> facts = DescribeSurvivors(*session, leaks, &passing, nullptr);
    ASSERT_EQ(facts.size(), leaks.size());
    for (std::size_t l = 0; l < leaks.size(); ++l) {
      const Allocation example = session->allocation(leaks[l].example);
      std::uint64_t blocks = 0, pass = 0;
      for (std::uint32_t i = 0; i < session->records().size(); ++i) {
        const Allocation a = session->allocation(AllocationId(i));
        if (a.stack != example.stack || a.layer != example.layer || a.device != example.device)
          continue;
        if (!a.stack.valid() && a.bytes != example.bytes) continue;
        if (!Survives(*session, a)) continue;
        ++blocks;
        pass += chosen[i];
      }
      EXPECT_EQ(facts[l].blocks, blocks);
      EXPECT_EQ(facts[l].passing, pass);
      EXPECT_GE(facts[l].blocks, leaks[l].blocks);
      EXPECT_EQ(facts[l].used, 0u);
    }
  }
}

TEST(SurvivorsTest, KnowTheLatestUse) {
  LogBuilder log;
  const int site = log.Stack({"main (a.cc:1)", "Keep (a.cc:9)"});
  log.Alloc(Layer::kLinear, 0x1000, 256, {.stack = site});
  log.Alloc(Layer::kLinear, 0x2000, 256, {.stack = site});
  log.Alloc(Layer::kLinear, 0x3000, 256, {.stack = site});
  log.Event(Op::kMemset, Layer::kUnspecified, 0x2000, 16, 0);
  log.Event(Op::kMemset, Layer::kUnspecified, 0x1000, 16, 0);
  log.Free(0x3000);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const std::vector<Leak> leaks = AllLeaks(FindLeaks(*session));
  ASSERT_EQ(leaks.size(), 1u);
  const Accesses accesses(*session);
  const SurvivorFacts facts = DescribeSurvivors(*session, leaks, nullptr, &accesses).front();
  EXPECT_EQ(facts.blocks, 2u);
  EXPECT_EQ(facts.passing, 2u);
  EXPECT_EQ(facts.used, 2u);
  EXPECT_EQ(facts.last_use, EventId(4));
}

}  // namespace
}  // namespace memprof::analysis
