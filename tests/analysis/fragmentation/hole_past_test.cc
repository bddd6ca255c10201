// Since when holes are free, and the largest requests of pools: by a search backwards, by the
// index, and by the definition applied to every allocation.
#include "analysis/fragmentation/internal/hole_past.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "analysis/fragmentation/fragmentation.h"
#include "analysis/store/lifetime_walk.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;
using testing::RandomLog;

bool IsPage(const MapSegment& segment, AllocationId id) {
  return id == segment.allocation ||
         std::count(segment.more_pages.begin(), segment.more_pages.end(), id) > 0;
}

TimesOfPieces ByEveryBlock(const Session& session, const std::vector<MapSegment>& segments,
                           TimeNs now) {
  TimesOfPieces times;
  for (const MapSegment& segment : segments) {
    std::vector<TimeNs>& of = times.emplace_back();
    for (const MapPiece& piece : segment.pieces) {
      of.push_back(piece.hole() ? session.allocation(segment.allocation).birth_time : 0);
      if (!piece.hole()) continue;
      for (const Allocation& a : session.allocations()) {
        if (a.layer == Layer::kBlock && a.parent.valid() && IsPage(segment, a.parent) &&
            a.death.valid() && a.death_time <= now && a.address < piece.address + piece.bytes &&
            piece.address < EndAddress(a.address, a.bytes))
          of.back() = std::max(of.back(), a.death_time);
      }
    }
  }
  return times;
}

std::vector<MapSegment> Suballocated(const Session& session, int device, TimeNs time) {
  std::vector<MapSegment> segments = BuildAddressMap(session, device, time).segments;
  std::erase_if(segments, [](const MapSegment& segment) { return !segment.framework; });
  return segments;
}

// Compares all three at instants spread over the log; returns how many holes had been in use
// before.
int CompareAt(const Session& session, int instants) {
  const HoleIndex index(session);
  const TimeNs first = session.events().first_time(), last = session.events().last_time();
  int used = 0;
  for (int i = 0; i <= instants; ++i) {
    const TimeNs now = first + (last - first) * static_cast<TimeNs>(i) / TimeNs(instants);
    const std::vector<MapSegment> segments = Suballocated(session, 0, now);
    const TimesOfPieces expected = ByEveryBlock(session, segments, now);
    EXPECT_EQ(LookBackAtHoles(session, segments, now), expected) << "at " << now;
    EXPECT_EQ(index.At(session, segments, now), expected) << "at " << now;
    for (std::size_t s = 0; s < segments.size(); ++s) {
      const TimeNs birth = session.allocation(segments[s].allocation).birth_time;
      used += static_cast<int>(std::count_if(expected[s].begin(), expected[s].end(),
                                             [birth](TimeNs time) { return time > birth; }));
    }
  }
  return used;
}

TEST(HolePastTest, IndexAndLookBackShowWhatEveryBlockShows) {
  for (const std::uint32_t seed : {61u, 62u, 63u}) {
    RandomLog log({.seed = seed, .devices = 1, .operations = 6000});
    const auto session = LoadLog(log.builder());
    ASSERT_NE(session, nullptr);
    EXPECT_GT(CompareAt(*session, 12), 20) << seed;
  }
}

// One segment whose blocks are allocated and freed in a random half of it: most ends precede the
// last copy of the index.
TEST(HolePastTest, ManyEndsInOneSegmentAreKnownFromCopies) {
  constexpr std::uint64_t kBase = 0x700000000000, kGrain = 512, kSlots = 40;
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.Alloc(Layer::kSegment, kBase, kSlots * kGrain);
  std::mt19937 random(7);
  std::vector<bool> in_use(kSlots);
  for (int i = 0; i < 4000; ++i) {
    log.AdvanceTime(1000);
    // Later only the upper slots are used: the lower ones keep old ends.
    const std::size_t low = i < 2000 ? 0 : kSlots / 2;
    const std::size_t slot = low + random() % (kSlots - low);
    const std::uint64_t address = kBase + slot * kGrain;
    if (in_use[slot]) {
      log.Free(Layer::kBlock, address);
    } else {
      log.Alloc(Layer::kBlock, address, kGrain);
    }
    in_use[slot] = !in_use[slot];
  }
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  EXPECT_GT(CompareAt(*session, 40), 400);
}

void MapPage(LogBuilder& log, std::uint64_t address, std::uint64_t bytes) {
  log.Alloc(Layer::kVmmPhysical, address, bytes);
  log.Event(Op::kMap, Layer::kVmmPhysical, address, bytes, 0, {.aux0 = address});
  log.Alloc(Layer::kSegment, address, bytes);
}

TEST(HolePastTest, PagesOfAnExpandableSegmentAreDescribedTogether) {
  constexpr std::uint64_t kBase = 0x700000000000, kPage = 20 << 20;
  LogBuilder log;
  log.Device(0, std::uint64_t{1} << 33);
  for (std::uint64_t page = 0; page < 3; ++page) MapPage(log, kBase + page * kPage, kPage);
  const auto use = [&log](std::uint64_t address, std::uint64_t bytes) {
    log.AdvanceTime(1000);
    log.Alloc(Layer::kBlock, address, bytes);
    log.AdvanceTime(1000);
    log.Free(Layer::kBlock, address);
  };
  use(kBase + 2 * kPage, 4096);   // in the third page
  use(kBase + kPage / 2, kPage);  // from the first into the second page
  log.AdvanceTime(1000);
  log.Alloc(Layer::kBlock, kBase + kPage, 4096);  // leaves a hole on either side
  log.AdvanceTime(1000);
  log.Step(1);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const auto segments = Suballocated(*session, 0, session->events().last_time());
  ASSERT_EQ(segments.size(), 1u);
  EXPECT_EQ(segments[0].more_pages.size(), 2u);
  ASSERT_EQ(segments[0].pieces.size(), 3u);
  EXPECT_GT(CompareAt(*session, 20), 5);
}

TEST(HolePastTest, LargestRequestsAreThoseUpToTheInstant) {
  RandomLog log({.seed = 64, .operations = 600});
  const auto session = LoadLog(log.builder());
  ASSERT_NE(session, nullptr);
  const auto count = static_cast<std::uint32_t>(session->events().size());
  const LargestRequests whole(*session, EventId(count));
  for (std::uint32_t e = 0; e < count; e += 97) {
    std::map<PoolKey, std::uint64_t> expected;
    for (const Allocation& a : session->allocations()) {
      if (a.layer != Layer::kBlock || a.birth > EventId(e) || !a.parent.valid()) continue;
      if (session->allocation(a.parent).layer != Layer::kSegment) continue;
      std::uint64_t& most = expected[PoolOf(session->allocation(a.parent))];
      most = std::max(most, a.bytes);
    }
    const LargestRequests until(*session, EventId(e));
    for (const auto& [pool, bytes] : expected) {
      EXPECT_EQ(whole.At(pool, EventId(e)), bytes);
      EXPECT_EQ(until.At(pool, EventId(e)), bytes);
    }
  }
  EXPECT_EQ(whole.At({9, 0, 9, false}, EventId(count)), 0u);
  EXPECT_EQ(whole.At({0, 0, 0, true}, EventId()), 0u);
}

TEST(HolePastTest, AHistoryAnswersAsOneQuestionDoes) {
  RandomLog log({.seed = 65, .operations = 2000});
  const auto session = LoadLog(log.builder());
  ASSERT_NE(session, nullptr);
  const FragmentationHistory history(session), unprepared(session);
  history.Prepare();
  const TimeNs first = session->events().first_time(), last = session->events().last_time();
  std::size_t holes = 0;
  for (TimeNs now = first; now < last; now += (last - first) / 9) {
    for (const int device : {0, 1, 7}) {
      const auto expected = FragmentationAt(*session, device, now);
      const auto pools = history.At(device, now);
      ASSERT_EQ(pools.size(), expected.size());
      ASSERT_EQ(unprepared.At(device, now).size(), expected.size());
      for (std::size_t p = 0; p < pools.size(); ++p) {
        EXPECT_EQ(pools[p].unusable_bytes, expected[p].unusable_bytes);
        EXPECT_EQ(pools[p].request_relative, expected[p].request_relative);
        ASSERT_EQ(pools[p].holes.size(), expected[p].holes.size());
        for (std::size_t h = 0; h < pools[p].holes.size(); ++h, ++holes)
          EXPECT_EQ(pools[p].holes[h].since, expected[p].holes[h].since);
      }
    }
  }
  EXPECT_GT(holes, 20u);
}

}  // namespace
}  // namespace memprof::analysis
