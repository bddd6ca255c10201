// Uses of memory, against a loop over every event and every allocation.
#include "analysis/timeline/accesses.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/analysis/advice/scenario.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::RandomLog;
using testing::Scenario;

// The uses of `id` by the definition. In these logs, the touches of a launch directly follow it.
std::vector<Access> UsesOf(const Session& session, AllocationId id) {
  const EventTable& events = session.events();
  const AllocationRecord& a = session.record(id);
  std::vector<Access> uses;
  EventId launch;
  const auto live_block_at = [&](std::uint64_t address, std::uint32_t e) {
    for (const AllocationRecord& b : session.records()) {
      if (b.layer != Layer::kBlock || b.birth.value > e) continue;
      if (b.death.valid() && b.death.value <= e) continue;
      if (b.address <= address && address < b.address + b.bytes) return true;
    }
    return false;
  };
  const auto add = [&](EventId event, std::uint32_t e, Use use, std::uint64_t address,
                       std::uint64_t bytes) {
    const bool alive = a.birth.value < e && (!a.death.valid() || a.death.value > e);
    if (!alive || address < a.address || address >= a.address + a.bytes) return;
    if (a.layer != Layer::kBlock && live_block_at(address, e)) return;
    uses.push_back({event, use, address - a.address,
                    use == Use::kKernel ? 0 : std::min(bytes, a.address + a.bytes - address)});
  };
  for (std::uint32_t e = 0; e < events.size(); ++e) {
    const std::uint64_t address = events.address(e), bytes = events.bytes(e);
    switch (events.op(e)) {
      case Op::kLaunch:
        launch = EventId(e);
        break;
      case Op::kTouch:
        add(launch, e, Use::kKernel, address, 0);
        break;
      case Op::kMemset:
        add(EventId(e), e, Use::kMemset, address, bytes);
        break;
      case Op::kMemcpy:
        add(EventId(e), e, Use::kCopyFrom, events.aux0(e), bytes);
        add(EventId(e), e, Use::kCopyTo, address, bytes);
        break;
      default:
        break;
    }
  }
  return uses;
}

TEST(AccessesTest, AreWhatTheDefinitionSays) {
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    RandomLog log({.seed = seed, .devices = 1, .operations = 150});
    std::mt19937_64 random(seed);
    auto& builder = log.builder();
    // Afterwards all live memory is used at random, then more is allocated and freed.
    const auto live = log.live_blocks();
    ASSERT_FALSE(live.empty());
    const std::uint32_t kernel = builder.String("kernel");
    const auto any = [&] { return live[random() % live.size()].second + random() % 700; };
    for (int i = 0; i < 60; ++i) {
      switch (random() % 3) {
        case 0:
          builder.Event(Op::kLaunch, Layer::kUnspecified, 0, 0, kernel, {});
          for (std::uint64_t p = random() % 4; p > 0; --p)
            builder.Event(Op::kTouch, Layer::kUnspecified, any(), 0, 0, {});
          break;
        case 1:
          builder.Event(Op::kMemset, Layer::kUnspecified, any(), 1 + random() % 100, 0, {});
          break;
        default:
          builder.Event(Op::kMemcpy, Layer::kUnspecified, any(), 1 + random() % 100, 0,
                        {.aux0 = any(), .aux1 = 3});
      }
    }
    const auto session = LoadLog(builder);
    ASSERT_NE(session, nullptr);
    const Accesses accesses(*session);
    std::size_t total = 0;
    for (std::uint32_t i = 0; i < session->records().size(); ++i) {
      const AllocationId id(i);
      if (!HasAddress(session->record(id).layer)) continue;
      const std::vector<Access> want = UsesOf(*session, id);
      const auto got = accesses.Of(id);
      // A copy that extends beyond an end also uses the adjacent allocation, from its start.
      std::vector<Access> first_pieces(got.begin(), got.end());
      std::erase_if(first_pieces, [&](const Access& use) {
        return use.use != Use::kKernel && use.offset == 0 &&
               std::none_of(want.begin(), want.end(), [&](const Access& w) {
                 return w.event == use.event && w.use == use.use && w.offset == 0;
               });
      });
      ASSERT_EQ(first_pieces.size(), want.size()) << "seed " << seed << ", allocation " << i;
      for (std::size_t u = 0; u < want.size(); ++u) {
        EXPECT_EQ(first_pieces[u].event, want[u].event);
        EXPECT_EQ(first_pieces[u].use, want[u].use);
        EXPECT_EQ(first_pieces[u].offset, want[u].offset);
        EXPECT_EQ(first_pieces[u].bytes, want[u].bytes);
      }
      total += want.size();
    }
    EXPECT_GT(total, 20u);
  }
}

TEST(AccessesTest, ACopyUsesEveryPieceThatItCovers) {
  Scenario s;
  const auto segment = s.Alloc("Segment", 4 * kMiB);
  s.AllocAt(segment, "Segment", 4 * kMiB, Layer::kSegment);
  s.AllocAt(segment, "A", 1024, Layer::kBlock, 1024);
  s.AllocAt(segment + 1024, "B", 1024, Layer::kBlock, 1024);
  s.AllocAt(segment + 2048, "C", 1024, Layer::kBlock, 1024);
  s.Memset(segment + 512, 1024);
  s.Advice();
  const Accesses accesses(s.session());
  ASSERT_EQ(accesses.Of(AllocationId(2)).size(), 1u);
  EXPECT_EQ(accesses.Of(AllocationId(2))[0].offset, 512u);
  EXPECT_EQ(accesses.Of(AllocationId(2))[0].bytes, 512u);
  ASSERT_EQ(accesses.Of(AllocationId(3)).size(), 1u);
  EXPECT_EQ(accesses.Of(AllocationId(3))[0].offset, 0u);
  EXPECT_EQ(accesses.Of(AllocationId(3))[0].bytes, 512u);
  EXPECT_TRUE(accesses.Of(AllocationId(4)).empty());
  EXPECT_TRUE(accesses.Of(AllocationId(0)).empty());  // the driver memory below blocks
}

TEST(AccessesTest, LaunchesAreCountedAndKnownByTheirPointers) {
  Scenario s;
  const auto a = s.Alloc("A", kMiB);  // event 0
  s.Launch({a});                      // 1, 2
  s.Launch();                         // 3
  s.Launch({0x1});                    // 4, 5: an address that is not in the log
  // failed, so it does not count
  s.log().Event(Op::kLaunch, Layer::kUnspecified, 0, 0, 0, {.result = 1});
  s.Advice();
  const Accesses accesses(s.session());
  const AllocationRecord& record = s.session().records()[0];
  EXPECT_EQ(accesses.evidence().launches, 3u);
  EXPECT_EQ(accesses.evidence().known_launches, 2u);
  EXPECT_EQ(accesses.LaunchesBetween(record, EventId(0), EventId(7)), 3u);
  EXPECT_EQ(accesses.LaunchesBetween(record, EventId(1), EventId(4)), 1u);  // strictly between
  EXPECT_EQ(accesses.UnknownLaunchesBetween(record, EventId(0), EventId(7)), 1u);
  EXPECT_EQ(accesses.UnknownLaunchesBetween(record, EventId(3), EventId(7)), 0u);
  AllocationRecord elsewhere = record;
  elsewhere.device = 1;
  EXPECT_EQ(accesses.LaunchesBetween(elsewhere, EventId(0), EventId(7)), 0u);
  ASSERT_EQ(accesses.Of(AllocationId(0)).size(), 1u);
  EXPECT_EQ(accesses.Of(AllocationId(0))[0].event, EventId(1));  // at the launch, not the touch
}

TEST(AccessesTest, TouchesBelongToTheLaunchOfTheirThread) {
  Scenario s;
  const auto a = s.Alloc("A", kMiB);
  s.log().Event(Op::kLaunch, Layer::kUnspecified, 0, 0, 0, {.thread = 1});  // event 1
  s.log().Event(Op::kLaunch, Layer::kUnspecified, 0, 0, 0, {.thread = 2});  // event 2
  s.log().Event(Op::kTouch, Layer::kUnspecified, a, 0, 0, {.thread = 1});
  s.log().Event(Op::kTouch, Layer::kUnspecified, a + 9, 0, 0, {.thread = 3});  // event 4: no launch
  s.Advice();
  const Accesses accesses(s.session());
  ASSERT_EQ(accesses.Of(AllocationId(0)).size(), 2u);
  EXPECT_EQ(accesses.Of(AllocationId(0))[0].event, EventId(1));
  EXPECT_EQ(accesses.Of(AllocationId(0))[1].event, EventId(4));
  EXPECT_EQ(accesses.evidence().known_launches, 1u);
}

}  // namespace
}  // namespace memprof::analysis
