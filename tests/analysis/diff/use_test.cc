// The memory in use within a part of a run, against plain loops.
#include "analysis/diff/use.h"

#include <gtest/gtest.h>

#include <map>

#include "analysis/peak/run_profile.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;
using testing::RandomLog;

std::map<int, std::uint64_t> UseAfter(const Session& session, EventId event) {
  const LeafMemory leaf(session);
  std::map<int, std::uint64_t> sums;
  for (std::uint32_t i = 0; i < session.records().size(); ++i) {
    const AllocationRecord& a = session.records()[i];
    if (!leaf.Counts(AllocationId(i))) continue;
    if (event.valid() && a.birth <= event && (!a.death.valid() || event < a.death))
      sums[a.device] += a.bytes;
  }
  return sums;
}

TEST(UseTest, AgainstPlainLoops) {
  for (const std::uint32_t seed : {811u, 812u, 813u}) {
    const auto session = LoadLog(RandomLog({.seed = seed, .operations = 150}).builder());
    const auto events = static_cast<std::uint32_t>(session->events().size());
    for (std::uint32_t first = 0; first < events; first += events / 6) {
      const EventId from = first == 0 ? EventId() : EventId(first);
      const EventId to(events - 1 - (events - first) / 3);
      const std::vector<DeviceUse> uses = UseBetween(*session, from, to);
      ASSERT_FALSE(uses.empty());
      for (const DeviceUse& use : uses) {
        EXPECT_EQ(use.before, UseAfter(*session, from)[use.device]);
        EXPECT_EQ(use.after, UseAfter(*session, to)[use.device]);
        std::uint64_t most = use.before;
        EventId at = from;
        for (std::uint32_t e = from.valid() ? first + 1 : 0; e <= to.value; ++e) {
          const std::uint64_t now = UseAfter(*session, EventId(e))[use.device];
          if (now > most) at = EventId(e);
          most = std::max(most, now);
        }
        EXPECT_EQ(use.peak, most);
        EXPECT_EQ(use.peak_event, at);
      }
    }
  }
}

TEST(UseTest, TheHighestRiseIsNotTheHighestUse) {
  LogBuilder log;
  for (const int device : {0, 1}) log.Device(device, std::uint64_t{1} << 30);
  log.Alloc(Layer::kLinear, 0x1000000, 900, {.device = 0});
  log.Alloc(Layer::kLinear, 0x2000000, 100, {.device = 0});
  log.Alloc(Layer::kLinear, 0x3000000, 300, {.device = 1});
  log.Free(0x3000000);
  const auto session = LoadLog(log);
  const auto last = EventId(static_cast<std::uint32_t>(session->events().size() - 1));
  const AllocationRecord& second = session->records()[1];
  const std::vector<DeviceUse> uses = UseBetween(*session, session->records()[0].birth, last);
  const DeviceUse* highest = HighestRise(uses);
  ASSERT_NE(highest, nullptr);
  EXPECT_EQ(highest->device, 1);
  EXPECT_EQ(highest->peak, 300u);
  EXPECT_EQ(highest->after, 0u);
  EXPECT_EQ(uses[0].before, 900u);
  EXPECT_EQ(uses[0].peak_event, second.birth);
  EXPECT_EQ(HighestRise({}), nullptr);
}

TEST(UseTest, AllocatedAfter) {
  const auto session = LoadLog(RandomLog({.seed = 814, .operations = 80}).builder());
  const EventId from = session->records()[20].birth;
  const AllocationSet some = AllocatedAfter(*session, from);
  const AllocationSet all = AllocatedAfter(*session, EventId());
  for (std::uint32_t i = 0; i < session->records().size(); ++i) {
    EXPECT_EQ(some.Has(AllocationId(i)), session->records()[i].birth > from);
    EXPECT_TRUE(all.Has(AllocationId(i)));
  }
}

}  // namespace
}  // namespace memprof::analysis
