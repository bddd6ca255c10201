// LiveAfter and LiveAt against a walk over all events, across many checkpoints.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "tests/support/load_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;

// Phases of growth, churn and decrease, so that checkpoints are large, small, kept and omitted.
std::shared_ptr<const Session> LoadPhases(int events) {
  std::mt19937 random(11);
  LogBuilder log;
  std::vector<std::uint64_t> live;
  std::uint64_t next = 1;
  constexpr int kAllocPercent[] = {95, 50, 8, 100, 20};
  for (int i = 0; i < events; ++i) {
    const int percent = kAllocPercent[5ll * i / events];
    if (live.empty() || static_cast<int>(random() % 100) < percent) {
      const Layer layer = random() % 4 == 0 ? Layer::kStreamOrdered : Layer::kLinear;
      live.push_back(0x1000 * next++);
      log.Alloc(layer, live.back(), 64);
    } else {
      std::swap(live[random() % live.size()], live.back());
      log.Free(live.back());
      live.pop_back();
    }
  }
  return LoadLog(log, {.events_per_chunk = 8192, .compress = false});
}

TEST(LiveSetTest, EqualsAWalkOverAllEvents) {
  const auto session = LoadPhases(420'000);
  ASSERT_NE(session, nullptr);
  const EventTable& events = session->events();
  std::set<std::uint32_t> walk;
  int compared = 0;
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    ASSERT_TRUE(events.allocation(i).valid());
    const std::uint32_t id = events.allocation(i).value;
    if (events.op(i) == Op::kAlloc)
      walk.insert(id);
    else
      ASSERT_EQ(walk.erase(id), 1u);
    const bool at_boundary = i % 65'536 >= 65'534 || i % 65'536 <= 1;
    if (!at_boundary && i % 20'011 != 0 && i + 1 != events.size()) continue;
    std::vector<AllocationId> expected;
    for (const std::uint32_t alive : walk) expected.push_back(AllocationId(alive));
    ASSERT_EQ(session->LiveAfter(EventId(i)), expected) << i;
    std::erase_if(expected, [&](AllocationId alive) {
      return session->allocation(alive).layer != Layer::kStreamOrdered;
    });
    ASSERT_EQ(session->LiveAt(events.time(i), LayerBit(Layer::kStreamOrdered)), expected) << i;
    ++compared;
  }
  EXPECT_GT(compared, 30);
}

TEST(LiveSetTest, BeforeTheFirstAndAfterTheLastEvent) {
  LogBuilder log;
  log.Alloc(Layer::kLinear, 0x1000, 64);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const TimeNs birth = session->allocations()[0].birth_time;
  EXPECT_TRUE(session->LiveAt(birth - 1).empty());
  EXPECT_TRUE(session->LiveAfter(EventId()).empty());
  EXPECT_EQ(session->LiveAt(birth).size(), 1u);
  EXPECT_EQ(session->LiveAt(kForever).size(), 1u);
  EXPECT_EQ(session->LiveAt(birth, LayerBit(Layer::kBlock)).size(), 0u);
}

}  // namespace
}  // namespace memprof::analysis
