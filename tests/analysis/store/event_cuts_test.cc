// Look-ups among ascending events, against std::upper_bound.
#include "analysis/store/event_cuts.h"

#include <gtest/gtest.h>

#include <random>

namespace memprof::analysis {
namespace {

std::size_t Plainly(const std::vector<EventId>& cuts, EventId event) {
  return static_cast<std::size_t>(std::upper_bound(cuts.begin(), cuts.end(), event) - cuts.begin());
}

void Compare(const std::vector<EventId>& cuts, const std::vector<std::uint32_t>& asked) {
  const EventCuts fast(cuts);
  for (const std::uint32_t event : asked)
    ASSERT_EQ(fast.UpTo(EventId(event)), Plainly(cuts, EventId(event))) << event;
}

std::vector<EventId> Cuts(std::vector<std::uint32_t> events) {
  std::sort(events.begin(), events.end());
  return {events.begin(), events.end()};
}

TEST(EventCutsTest, WithoutCutsNothingPrecedes) {
  EXPECT_EQ(EventCuts().UpTo(EventId(0)), 0u);
  EXPECT_EQ(EventCuts().UpTo(EventId()), 0u);
}

TEST(EventCutsTest, AllPrecedeNone) { EXPECT_EQ(EventCuts(Cuts({0, 5})).UpTo(EventId()), 2u); }

TEST(EventCutsTest, AroundEachCut) {
  for (const auto& cuts : {Cuts({0}), Cuts({7}), Cuts({0, 1, 2, 3}), Cuts({5, 5, 5}),
                           Cuts({1, 1'000'000}), Cuts({0xfffffffe})}) {
    std::vector<std::uint32_t> asked = {0};
    for (const EventId cut : cuts)
      for (const std::uint32_t off : {cut.value - 1, cut.value, cut.value + 1})
        asked.push_back(off);
    Compare(cuts, asked);
  }
}

TEST(EventCutsTest, EqualPartsAndClusters) {
  std::mt19937 random(1);
  for (const std::uint32_t range : {10u, 1000u, 1'000'000u, 0xffffffffu}) {
    for (const std::size_t count : {1u, 3u, 50u, 2000u}) {
      std::vector<std::uint32_t> events, asked;
      for (std::size_t i = 0; i < count; ++i) {
        events.push_back(static_cast<std::uint32_t>(i * (range / count)));  // as steps are
        events.push_back(range / 3 + random() % (range / 10 + 1));          // more in one part
      }
      for (int i = 0; i < 3000; ++i) asked.push_back(random() % range);
      Compare(Cuts(events), asked);
    }
  }
}

}  // namespace
}  // namespace memprof::analysis
