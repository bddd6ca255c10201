// Comparisons by category and layer against plain loops, and comparisons of a part of the memory.
#include "analysis/diff/groups.h"

#include <gtest/gtest.h>

#include <map>

#include "analysis/peak/peak.h"
#include "analysis/peak/run_profile.h"
#include "analysis/store/allocation_set.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;
using testing::RandomLog;

struct GroupedRun {
  std::shared_ptr<const Session> session;
  std::unique_ptr<Symbols> symbols;
  std::unique_ptr<Categories> categories;

  explicit GroupedRun(const LogBuilder& log)
      : session(LoadLog(log)),
        symbols(std::make_unique<Symbols>(session)),
        categories(std::make_unique<Categories>(*session, symbols.get())) {}
  explicit GroupedRun(std::uint32_t seed)
      : GroupedRun(RandomLog({.seed = seed, .operations = 200}).builder()) {}
};

bool AliveAfter(const AllocationRecord& a, EventId event) {
  return event.valid() && a.birth <= event && (!a.death.valid() || event < a.death);
}

// Live bytes by layer after the given event of each device.
std::map<Layer, std::uint64_t> ByLayer(const Session& session,
                                       const std::map<int, EventId>& events) {
  std::map<Layer, std::uint64_t> bytes;
  for (const AllocationRecord& a : session.records())
    if (const auto at = events.find(a.device); at != events.end() && AliveAfter(a, at->second))
      bytes[a.layer] += a.bytes;
  return bytes;
}

std::map<int, EventId> Peaks(const Session& session) {
  std::map<int, EventId> events;
  for (const Peak& peak : FindPeaks(session)) events[peak.device] = peak.event;
  return events;
}

std::map<int, EventId> All(EventId event) { return {{0, event}, {1, event}}; }

void ExpectLayers(const DiffGroups& got, const std::map<Layer, std::uint64_t>& before,
                  const std::map<Layer, std::uint64_t>& after) {
  const auto of = [](const std::map<Layer, std::uint64_t>& bytes, int layer) {
    const auto at = bytes.find(static_cast<Layer>(layer));
    return at == bytes.end() ? 0 : at->second;
  };
  for (int layer = 0; layer < kLayerCount; ++layer) {
    EXPECT_EQ(got.layers[static_cast<std::size_t>(layer)].before, of(before, layer)) << layer;
    EXPECT_EQ(got.layers[static_cast<std::size_t>(layer)].after, of(after, layer)) << layer;
  }
}

std::uint64_t DriverBytes(const std::map<Layer, std::uint64_t>& layers) {
  std::uint64_t sum = 0;
  for (const auto& [layer, bytes] : layers)
    if (OccupiesDevice(layer)) sum += bytes;
  return sum;
}

EventId Last(const Session& session) {
  return EventId(static_cast<std::uint32_t>(session.events().size() - 1));
}

TEST(DiffGroupsTest, RunsByLayerAndCategory) {
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    const GroupedRun a(seed), b(seed + 50);
    for (const DiffMoment moment : {DiffMoment::kPeak, DiffMoment::kEnd}) {
      const bool peak = moment == DiffMoment::kPeak;
      const auto before = ByLayer(*a.session, peak ? Peaks(*a.session) : All(Last(*a.session)));
      const auto after = ByLayer(*b.session, peak ? Peaks(*b.session) : All(Last(*b.session)));
      const DiffGroups got =
          GroupRuns(*a.session, *a.categories, *b.session, *b.categories, moment);
      ExpectLayers(got, before, after);
      std::uint64_t before_sum = 0, after_sum = 0;
      for (const DiffShare& share : got.categories) {
        before_sum += share.before;
        after_sum += share.after;
      }
      EXPECT_EQ(before_sum, DriverBytes(before));
      EXPECT_EQ(after_sum, DriverBytes(after));
    }
  }
}

TEST(DiffGroupsTest, MomentsOfOneRun) {
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    const GroupedRun a(seed);
    const auto events = static_cast<std::uint32_t>(a.session->events().size());
    for (const auto& [from, to] :
         std::vector<std::pair<EventId, EventId>>{{EventId(), EventId(events / 2)},
                                                  {EventId(events / 3), Last(*a.session)},
                                                  {Last(*a.session), EventId(5)}}) {
      const DiffGroups got = GroupMoments(*a.session, *a.categories, from, to);
      ExpectLayers(got, ByLayer(*a.session, All(from)), ByLayer(*a.session, All(to)));
      for (const DiffShare& share : got.categories)
        EXPECT_EQ(share.change(), static_cast<std::int64_t>(share.after - share.before));
    }
  }
}

TEST(DiffGroupsTest, EmptyLogs) {
  const GroupedRun empty{LogBuilder()}, some(3u);
  const DiffGroups got =
      GroupRuns(*empty.session, *empty.categories, *some.session, *some.categories);
  for (const DiffShare& share : got.layers) EXPECT_EQ(share.before, 0u);
}

// Allocations of each side that pass the filter, by place, against a loop.
TEST(DiffPartTest, SitesIncludeOnlyWhatPasses) {
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    const GroupedRun a(seed), b(seed + 50);
    const auto every = [](const Session& session, std::size_t n) {
      std::vector<bool> chosen(session.records().size());
      for (std::size_t i = 0; i < chosen.size(); ++i) chosen[i] = i % n == 0;
      return AllocationSet(chosen);
    };
    const AllocationSet before = every(*a.session, 2), after = every(*b.session, 3);
    DiffOptions options;
    options.before = &before;
    options.after = &after;
    const DiffReport got =
        DiffRuns(*a.session, *a.symbols, *b.session, *b.symbols, DiffMoment::kEnd, options);
    const auto live = [](const GroupedRun& side, const AllocationSet& passing,
                         const std::vector<std::uint32_t>& rows) {
      const LeafMemory leaf(*side.session);
      std::map<std::uint32_t, std::uint64_t> bytes;
      for (std::uint32_t i = 0; i < side.session->records().size(); ++i) {
        const AllocationRecord& r = side.session->records()[i];
        if (passing.Has(AllocationId(i)) && leaf.Counts(AllocationId(i)) &&
            AliveAfter(r, Last(*side.session)))
          bytes[StackAlignment::Of(rows, r.stack)] += r.bytes;
      }
      return bytes;
    };
    auto was = live(a, before, got.alignment.before), is = live(b, after, got.alignment.after);
    for (const DiffSite& site : got.sites) {
      EXPECT_GT(site.before_count + site.after_count, 0u) << "nothing passes the filter";
      EXPECT_EQ(site.before, was[site.place]);
      EXPECT_EQ(site.after, is[site.place]);
      was.erase(site.place);
      is.erase(site.place);
    }
    for (const auto& [place, bytes] : was) EXPECT_EQ(bytes, is[place]) << "unchanged";
    const DiffReport whole =
        DiffRuns(*a.session, *a.symbols, *b.session, *b.symbols, DiffMoment::kEnd);
    ASSERT_EQ(got.figures.size(), whole.figures.size());
    for (std::size_t i = 0; i < whole.figures.size(); ++i)
      EXPECT_EQ(got.figures[i].after, whole.figures[i].after) << "totals are not filtered";
  }
}

TEST(DiffPartTest, MomentsIncludeOnlyWhatPasses) {
  const GroupedRun a(4u);
  std::vector<bool> none(a.session->records().size());
  const AllocationSet nothing(none);
  DiffOptions options;
  options.before = options.after = &nothing;
  const EventId middle(static_cast<std::uint32_t>(a.session->events().size() / 2));
  EXPECT_TRUE(DiffMoments(*a.session, *a.symbols, EventId(1), middle, options).sites.empty());
  EXPECT_FALSE(DiffMoments(*a.session, *a.symbols, EventId(1), middle).sites.empty());
}

TEST(DiffPartTest, ProgressRisesAndStoppingEnds) {
  const GroupedRun a(1u), b(2u);
  DiffOptions options;
  double last = -1;
  options.progress = [&](double share) {
    EXPECT_GT(share, last);
    EXPECT_LE(share, 1);
    last = share;
  };
  EXPECT_FALSE(DiffRuns(*a.session, *a.symbols, *b.session, *b.symbols, DiffMoment::kPeak, options)
                   .sites.empty());
  EXPECT_GT(last, 0.5);
  std::stop_source stop;
  options.stop = stop.get_token();
  int told = 0;
  options.progress = [&](double) {
    if (++told == 3) stop.request_stop();
  };
  const DiffReport cut =
      DiffRuns(*a.session, *a.symbols, *b.session, *b.symbols, DiffMoment::kPeak, options);
  EXPECT_EQ(told, 3);
  EXPECT_TRUE(cut.sites.empty());
  EXPECT_TRUE(cut.figures.empty());
}

}  // namespace
}  // namespace memprof::analysis
