#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "analysis/peak/change.h"
#include "tests/analysis/peak/change_fixture.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::ExpectSame;
using testing::LoadLog;
using testing::RandomLog;

// One lifetime after a change: live after each of the events [begin, end).
struct Life {
  std::uint32_t begin = 0, end = 0;
  std::uint64_t bytes = 0;
};

NewPeak MaximumOf(const std::vector<Life>& lives, std::uint32_t events) {
  NewPeak peak;
  for (std::uint32_t e = 0; e < events; ++e) {
    std::uint64_t sum = 0;
    for (const Life& life : lives)
      if (life.begin <= e && e < life.end) sum += life.bytes;
    if (sum > peak.bytes) peak = {sum, EventId(e)};
  }
  return peak;
}

std::vector<AllocationId> MembersOf(const Session& session, int device, PeakLayer of) {
  std::vector<AllocationId> members;
  for (std::uint32_t i = 0; i < session.records().size(); ++i) {
    const AllocationRecord& a = session.records()[i];
    if (a.device == device && PeakLayerOf(a.layer) == of) members.push_back(AllocationId(i));
  }
  return members;
}

Life LifeOf(const Session& session, const AllocationRecord& a) {
  const auto events = static_cast<std::uint32_t>(session.events().size());
  return {a.birth.value, a.death.valid() ? a.death.value : events, a.bytes};
}

struct Trace {
  std::shared_ptr<const Session> session;
  int device = 0;
  PeakLayer of = PeakLayer::kDriver;
};

class RandomTraces : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  // Calls `check(trace, level, members)` for every device and sum of a random log.
  template <typename Check>
  void ForEach(Check check) {
    RandomLog log({.seed = GetParam(), .operations = 250});
    const auto session = LoadLog(log.builder());
    ASSERT_NE(session, nullptr);
    const PeakLevels levels(*session);
    int checked = 0;
    for (const int device : {0, 1}) {
      for (const PeakLayer of : {PeakLayer::kDriver, PeakLayer::kBlocks}) {
        const Level* level = levels.Find(device, of);
        ASSERT_NE(level, nullptr);
        check(Trace{session, device, of}, *level, MembersOf(*session, device, of));
        ++checked;
      }
    }
    EXPECT_EQ(checked, 4);
  }
};

TEST_P(RandomTraces, NoChangeIsThePeak) {
  ForEach([](const Trace& t, const Level& level, const std::vector<AllocationId>& members) {
    std::vector<Life> lives;
    for (const AllocationId id : members)
      lives.push_back(LifeOf(*t.session, t.session->record(id)));
    const auto events = static_cast<std::uint32_t>(t.session->events().size());
    ExpectSame(level.peak(), MaximumOf(lives, events));
    for (std::uint32_t e = 0; e < events; e += 7) {
      std::uint64_t sum = 0;
      for (const Life& life : lives)
        if (life.begin <= e && e < life.end) sum += life.bytes;
      EXPECT_EQ(level.After(EventId(e)), sum);
    }
  });
}

TEST_P(RandomTraces, AnyMixOfChangesIsThePeakOfTheRebuiltTrace) {
  std::mt19937_64 random(GetParam());
  ForEach([&](const Trace& t, const Level& level, const std::vector<AllocationId>& members) {
    const auto events = static_cast<std::uint32_t>(t.session->events().size());
    for (int round = 0; round < 25; ++round) {
      const std::uint64_t share = 1 + random() % 6;  // one of so many allocations is changed
      std::vector<Life> lives;
      std::vector<LevelChange> changes;
      for (const AllocationId id : members) {
        const AllocationRecord& a = t.session->record(id);
        Life life = LifeOf(*t.session, a);
        if (random() % share == 0) {
          const EventId at(static_cast<std::uint32_t>(random() % events));
          switch (random() % 4) {
            case 0:
              changes.push_back(Removed(a));
              life.bytes = 0;
              break;
            case 1:
              changes.push_back(Delayed(a, at));
              if (at.value > life.begin && at.value < life.end) life.begin = at.value;
              break;
            case 2:
              changes.push_back(Shortened(a, at));
              if (at.value >= life.begin && at.value < life.end) life.end = at.value + 1;
              break;
            default: {
              const std::uint64_t bytes = random() % (2 * a.bytes);
              changes.push_back(Resized(a, bytes));
              life.bytes = bytes;
            }
          }
        }
        lives.push_back(life);
      }
      ExpectSame(level.With(changes), MaximumOf(lives, events));
    }
  });
}

// Two allocations share memory: the second is never made, and the first lives on in its place.
TEST_P(RandomTraces, SharedMemoryLivesAsLongAsBoth) {
  std::mt19937_64 random(GetParam() + 100);
  ForEach([&](const Trace& t, const Level& level, const std::vector<AllocationId>& members) {
    const auto events = static_cast<std::uint32_t>(t.session->events().size());
    for (int round = 0; round < 10 && members.size() >= 2; ++round) {
      std::size_t first = random() % members.size(), second = random() % members.size();
      if (first == second) continue;
      if (first > second) std::swap(first, second);
      const AllocationRecord& kept = t.session->record(members[first]);
      const AllocationRecord& spared = t.session->record(members[second]);
      std::vector<LevelChange> changes = {Removed(spared)};
      const Life a = LifeOf(*t.session, kept), b = LifeOf(*t.session, spared);
      if (a.end < b.end)
        changes.push_back({EventId(a.end), EventId(b.end), static_cast<std::int64_t>(a.bytes)});
      std::vector<Life> lives;
      for (std::size_t i = 0; i < members.size(); ++i) {
        if (i == second) continue;
        lives.push_back(LifeOf(*t.session, t.session->record(members[i])));
        if (i == first) lives.back().end = std::max(a.end, b.end);
      }
      ExpectSame(level.With(changes), MaximumOf(lives, events));
    }
  });
}

TEST_P(RandomTraces, EachGroupIsLeftOutOnItsOwn) {
  std::mt19937_64 random(GetParam() + 200);
  ForEach([&](const Trace& t, const Level&, const std::vector<AllocationId>& members) {
    constexpr std::uint32_t kGroups = 5;
    std::vector<std::uint32_t> group(t.session->records().size());
    for (std::uint32_t& g : group) g = static_cast<std::uint32_t>(random() % (kGroups + 1));
    const PeakLevels levels(*t.session);
    const std::vector<NewPeak> peaks =
        PeaksWithout(*t.session, levels, t.device, t.of, kGroups + 1,
                     [&](AllocationId id, const AllocationRecord&) {
                       return group[id.value] == kGroups ? kNoGroup : group[id.value];
                     });
    ASSERT_EQ(peaks.size(), kGroups + 1);
    for (std::uint32_t g = 0; g <= kGroups; ++g) {
      std::vector<Life> lives;
      for (const AllocationId id : members) {
        if (group[id.value] != g || g == kGroups)
          lives.push_back(LifeOf(*t.session, t.session->record(id)));
      }
      ExpectSame(peaks[g],
                 MaximumOf(lives, static_cast<std::uint32_t>(t.session->events().size())));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomTraces, ::testing::Range(1u, 9u));

}  // namespace
}  // namespace memprof::analysis
