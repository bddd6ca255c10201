// Comparisons of two moments of a run by live sets, against timelines, address maps and plain
// loops.
#include "analysis/diff/moments.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "analysis/peak/run_profile.h"
#include "analysis/store/allocation_set.h"
#include "analysis/timeline/address_map.h"
#include "analysis/timeline/timeline.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;
using testing::RandomLog;

struct MomentsRun {
  std::shared_ptr<const Session> session;
  std::unique_ptr<Symbols> symbols;

  explicit MomentsRun(const LogBuilder& log)
      : session(LoadLog(log)), symbols(std::make_unique<Symbols>(session)) {}

  EventId Last() const { return EventId(static_cast<std::uint32_t>(session->events().size() - 1)); }
};

// Two devices whose pools are sampled occasionally; `segments` on the first of them.
MomentsRun PoolLog(std::uint32_t seed, bool segments) {
  std::mt19937 random(seed);
  LogBuilder log;
  for (const int device : {0, 1}) log.Device(device, std::uint64_t{1} << 30);
  std::vector<std::uint64_t> live;
  std::uint64_t next = 0x1000000;
  for (int i = 0; i < 300; ++i) {
    log.AdvanceTime(10);
    const int device = static_cast<int>(random() % 2);
    const std::uint64_t pool = 7 + static_cast<std::uint64_t>(device);
    if (i % 50 == 5 && segments)
      log.Alloc(Layer::kSegment, next += 0x100000, 0x80000, {.device = 0});
    if (random() % 4 == 0) {
      log.Event(Op::kPoolSample, Layer::kUnspecified, pool, random() % 100'000, 0,
                {.device = device, .aux0 = pool});
    } else if (live.size() > 5 && random() % 2 == 0) {
      const std::size_t victim = random() % live.size();
      log.Free(live[victim]);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(victim));
    } else {
      live.push_back(next += 0x100000);
      log.Alloc(random() % 3 == 0 ? Layer::kLinear : Layer::kStreamOrdered, next,
                1 + random() % 20'000, {.device = device, .aux0 = pool});
    }
  }
  return MomentsRun(log);
}

std::vector<MomentsRun> Logs() {
  std::vector<MomentsRun> logs;
  for (const std::uint32_t seed : {731u, 732u, 733u})
    logs.emplace_back(RandomLog({.seed = seed, .operations = 200}).builder());
  logs.push_back(PoolLog(1, false));
  logs.push_back(PoolLog(2, true));
  return logs;
}

bool Alive(const AllocationRecord& a, EventId event) {
  return event.valid() && a.birth <= event && (!a.death.valid() || event < a.death);
}

// The free share, in percent, of the memory that allocators divide into blocks.
double FreeShare(const Session& session, EventId event) {
  std::uint64_t suballocated = 0, free = 0;
  for (const int device : {0, 1}) {
    if (!event.valid()) break;
    const TimeNs time = session.events().time(event.value);
    for (const MapSegment& segment : BuildAddressMap(session, device, time).segments) {
      if (!segment.framework) continue;
      suballocated += segment.bytes;
      free += segment.free_bytes;
    }
  }
  return suballocated == 0 ? 0
                           : 100.0 * static_cast<double>(free) / static_cast<double>(suballocated);
}

// Whether the next event has a later time, so that the timelines' values at this time are those
// after the event.
bool IsLastOfItsTime(const Session& session, EventId event) {
  return event.value + 1 == session.events().size() ||
         session.events().time(event.value) < session.events().time(event.value + 1);
}

void ExpectFigures(const MomentsRun& run, const std::vector<DeviceTimeline>& timelines,
                   const DiffReport& report, EventId from, EventId to) {
  const auto find = [&](DiffFigureKind kind, int device) {
    for (const DiffFigure& figure : report.figures)
      if (figure.kind == kind && figure.device == device) return figure;
    ADD_FAILURE() << "no figure";
    return DiffFigure();
  };
  const Session& session = *run.session;
  for (const DeviceTimeline& timeline : timelines) {
    if (timeline.device == kNoDevice) continue;
    const Series& held =
        timeline.framework_reserved.empty() ? timeline.reserved : timeline.framework_reserved;
    const DiffFigure live = find(DiffFigureKind::kLive, timeline.device);
    const DiffFigure reserved = find(DiffFigureKind::kReserved, timeline.device);
    for (const auto& [event, live_figure, held_figure] :
         {std::tuple(from, live.before, reserved.before), {to, live.after, reserved.after}}) {
      const TimeNs time = event.valid() ? session.events().time(event.value) : 0;
      EXPECT_EQ(live_figure, static_cast<double>(timeline.total.At(time)));
      EXPECT_EQ(held_figure, static_cast<double>(held.At(time)));
    }
  }
  const DiffFigure share = find(DiffFigureKind::kFragmentation, kNoDevice);
  EXPECT_DOUBLE_EQ(share.before, FreeShare(session, from));
  EXPECT_DOUBLE_EQ(share.after, FreeShare(session, to));
}

// Live bytes and allocations that are not counted twice, by place of the alignment.
std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> PlacesAt(
    const MomentsRun& run, const StackAlignment& alignment, EventId event,
    const AllocationSet* passing) {
  const LeafMemory leaf(*run.session);
  std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> places;
  for (std::uint32_t i = 0; i < run.session->records().size(); ++i) {
    const AllocationRecord& a = run.session->records()[i];
    if (!leaf.Counts(AllocationId(i)) || !Alive(a, event)) continue;
    if (passing != nullptr && !passing->Has(AllocationId(i))) continue;
    auto& [bytes, count] = places[StackAlignment::Of(alignment.after, a.stack)];
    bytes += a.bytes;
    ++count;
  }
  return places;
}

void ExpectSites(const MomentsRun& run, const DiffReport& report, EventId from, EventId to,
                 const AllocationSet* passing) {
  auto before = PlacesAt(run, report.alignment, from, passing);
  auto after = PlacesAt(run, report.alignment, to, passing);
  for (const DiffSite& site : report.sites) {
    EXPECT_EQ(std::pair(site.before, site.before_count), before[site.place]);
    EXPECT_EQ(std::pair(site.after, site.after_count), after[site.place]);
    EXPECT_EQ(site.gone, site.after == 0 && site.before > 0);
    before.erase(site.place);
    after.erase(site.place);
  }
  for (const auto& [place, live] : before) EXPECT_EQ(live, after[place]) << "unchanged";
  for (const auto& [place, live] : after) EXPECT_EQ(live, before[place]) << "unchanged";
}

TEST(DiffMomentsTest, AnyTwoMomentsAgainstTimelinesAndPlainLoops) {
  for (const MomentsRun& run : Logs()) {
    const std::vector<DeviceTimeline> timelines = BuildTimelines(*run.session);
    const MomentDiff moments(*run.session, *run.symbols);
    std::mt19937 random(5);
    EventId from;  // before the first event
    for (int i = 0; i < 25; ++i) {
      const EventId to(random() % static_cast<std::uint32_t>(run.session->events().size()));
      if (!IsLastOfItsTime(*run.session, to)) continue;
      SCOPED_TRACE(i);
      const DiffReport report = moments.Compare(from, to);
      ExpectFigures(run, timelines, report, from, to);
      ExpectSites(run, report, from, to, nullptr);
      // Sometimes the next comparison starts at the same moment, sometimes both sides are swapped.
      if (i % 3 == 0) from = to;
      if (i % 5 == 0) {
        ExpectSites(run, moments.Compare(to, from), to, from, nullptr);
        ExpectSites(run, moments.Compare(to, to), to, to, nullptr);
      }
    }
  }
}

TEST(DiffMomentsTest, WhatIsRememberedIsOfThatFilter) {
  const MomentsRun run(RandomLog({.seed = 741}).builder());
  const MomentDiff moments(*run.session, *run.symbols);
  const EventId from(run.Last().value / 3), to(run.Last().value / 3 * 2);
  std::vector<bool> odd(run.session->records().size());
  for (std::size_t i = 0; i < odd.size(); ++i) odd[i] = i % 2 == 1;
  const auto some = std::make_shared<const AllocationSet>(odd);
  const auto none = std::make_shared<const AllocationSet>(std::vector<bool>(odd.size()));
  ExpectSites(run, moments.Compare(from, to), from, to, nullptr);
  ExpectSites(run, moments.Compare(from, to, some), from, to, some.get());
  EXPECT_TRUE(moments.Compare(from, to, none).sites.empty());
  ExpectSites(run, moments.Compare(from, to), from, to, nullptr);
  const DiffReport all = moments.Compare(from, to), part = moments.Compare(from, to, some);
  ASSERT_EQ(all.figures.size(), part.figures.size());
  for (std::size_t i = 0; i < all.figures.size(); ++i)
    EXPECT_EQ(all.figures[i].after, part.figures[i].after) << "totals are not filtered";
}

TEST(DiffMomentsTest, ProgressRisesAndStoppingEnds) {
  const MomentsRun run = PoolLog(3, false);
  double last = -1;
  const MomentDiff moments(*run.session, *run.symbols, {}, [&](double share) {
    EXPECT_GT(share, last);
    EXPECT_LE(share, 1);
    last = share;
  });
  EXPECT_GT(last, 0.5);
  std::stop_source stop;
  int told = 0;
  const MomentDiff cut(*run.session, *run.symbols, stop.get_token(), [&](double) {
    ++told;
    stop.request_stop();
  });
  EXPECT_EQ(told, 1);
}

TEST(DiffMomentsTest, ALogWithoutAnything) {
  const LogBuilder nothing;
  const MomentsRun run(nothing);
  const MomentDiff moments(*run.session, *run.symbols);
  const DiffReport report = moments.Compare(EventId(), EventId());
  EXPECT_TRUE(report.sites.empty());
  ASSERT_EQ(report.figures.size(), 1u);
  EXPECT_EQ(report.figures[0].after, 0);
}

}  // namespace
}  // namespace memprof::analysis
