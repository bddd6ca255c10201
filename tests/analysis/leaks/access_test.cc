// The surviving memory that launches, copies and memsets used, against a loop over all pairs.
#include "analysis/leaks/internal/access.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;

std::vector<AllocationId> Everything(const Session& session) {
  std::vector<AllocationId> ids;
  for (std::uint32_t i = 0; i < session.allocations().size(); ++i) ids.emplace_back(i);
  return ids;
}

AccessFacts FactsOf(const LogBuilder& log, std::uint32_t before = ~0u) {
  const auto session = LoadLog(log);
  if (session == nullptr) return {};
  return FindAccesses(*session, Everything(*session), EventId(before));
}

TEST(LeaksAccessTest, BothEndsOfACopyAreUses) {
  LogBuilder log;
  log.Alloc(Layer::kLinear, 0x1000, 256);
  log.Alloc(Layer::kLinear, 0x2000, 256);
  log.Event(Op::kMemcpy, Layer::kUnspecified, 0x1000, 16, 0, {.aux0 = 0x20ff});
  const AccessFacts facts = FactsOf(log);
  EXPECT_FALSE(facts.known);  // without any launch, unused memory cannot be recognised
  ASSERT_EQ(facts.last_use.size(), 2u);
  EXPECT_EQ(facts.last_use.at(0), EventId(2));
  EXPECT_EQ(facts.last_use.at(1), EventId(2));
}

TEST(LeaksAccessTest, OnlyLaunchesMakeUseKnown) {
  LogBuilder log;
  log.Alloc(Layer::kLinear, 0x1000, 256);
  log.Event(Op::kMemset, Layer::kUnspecified, 0x1000, 16, 0, {});
  EXPECT_FALSE(FactsOf(log).known);
  log.Event(Op::kTouch, Layer::kUnspecified, 0x9000, 0, 0, {});
  EXPECT_TRUE(FactsOf(log).known);
}

TEST(LeaksAccessTest, UsesOutsideAndOnOtherDevicesDoNotCount) {
  LogBuilder log;
  log.Event(Op::kTouch, Layer::kUnspecified, 0x1000, 0, 0, {});  // before its birth
  log.Alloc(Layer::kLinear, 0x1000, 256);
  log.Event(Op::kTouch, Layer::kUnspecified, 0xfff, 0, 0, {});
  log.Event(Op::kTouch, Layer::kUnspecified, 0x1100, 0, 0, {});  // one byte after its end
  log.Event(Op::kTouch, Layer::kUnspecified, 0x1000, 0, 0, {.device = 1});
  EXPECT_TRUE(FactsOf(log).last_use.empty());
}

TEST(LeaksAccessTest, TheLastUseBeforeTheJudgementCounts) {
  LogBuilder log;
  log.Alloc(Layer::kLinear, 0x1000, 256);
  for (int i = 0; i < 3; ++i) log.Event(Op::kTouch, Layer::kUnspecified, 0x1010, 0, 0, {});
  EXPECT_EQ(FactsOf(log).last_use.at(0), EventId(3));
  EXPECT_EQ(FactsOf(log, 3).last_use.at(0), EventId(2));
  EXPECT_TRUE(FactsOf(log, 1).last_use.empty());
}

TEST(LeaksAccessTest, EqualsALoopOverAllPairs) {
  std::mt19937 random(5);
  const auto draw = [&random](std::uint64_t n) { return random() % n; };
  for (int round = 0; round < 50; ++round) {
    LogBuilder log;
    for (std::uint64_t i = 0; i < 30; ++i)  // one piece in each page of each device
      log.Alloc(Layer::kLinear, 0x1000 * (1 + i / 2), 1 + draw(0x1000),
                {.device = static_cast<int>(i % 2)});
    for (int i = 0; i < 60; ++i) {
      constexpr Op kUses[] = {Op::kTouch, Op::kMemcpy, Op::kMemset, Op::kSync};
      log.Event(kUses[draw(4)], Layer::kUnspecified, draw(0x11000), 0, 0,
                {.device = static_cast<int>(draw(2)), .aux0 = draw(0x11000)});
    }
    const auto session = LoadLog(log);
    ASSERT_NE(session, nullptr);
    const EventTable& events = session->events();
    const std::uint32_t before = static_cast<std::uint32_t>(30 + draw(61));
    std::map<std::uint32_t, EventId> expected;
    for (std::uint32_t e = 0; e < before; ++e) {
      if (events.op(e) == Op::kSync || events.op(e) == Op::kAlloc) continue;
      for (std::uint32_t i = 0; i < session->allocations().size(); ++i) {
        const Allocation& a = session->allocations()[i];
        const auto in = [&a](std::uint64_t p) { return p >= a.address && p < a.address + a.bytes; };
        const bool named =
            in(events.address(e)) || (events.op(e) == Op::kMemcpy && in(events.aux0(e)));
        if (a.device == events.device(e) && named) expected[i] = EventId(e);
      }
    }
    const AccessFacts facts = FindAccesses(*session, Everything(*session), EventId(before));
    EXPECT_EQ((std::map<std::uint32_t, EventId>(facts.last_use.begin(), facts.last_use.end())),
              expected);
  }
}

}  // namespace
}  // namespace memprof::analysis
