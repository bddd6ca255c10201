// Exact new peaks, against traces rebuilt with the change and summed event by event.
#include "analysis/peak/change.h"

#include <gtest/gtest.h>

#include <random>

#include "analysis/peak/peak.h"
#include "tests/analysis/peak/change_fixture.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::ExpectSame;
using testing::LoadLog;
using testing::LogBuilder;

// The peak "without this site" equals the peak of a log that was recorded without the site.
TEST(PeakChangeTest, AgreesWithALogRecordedWithoutTheSite) {
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    std::mt19937_64 random(seed);
    LogBuilder with, without;
    const std::string left_out = "Site2 (a.cc:2)";
    std::vector<int> stacks, other_stacks;
    for (int i = 0; i < 5; ++i) {
      const std::string frame = "Site" + std::to_string(i) + " (a.cc:" + std::to_string(i) + ")";
      stacks.push_back(with.Stack({"main (a.cc:1)", frame}));
      other_stacks.push_back(without.Stack({"main (a.cc:1)", frame}));
    }
    // address, whether it belongs to the omitted site
    std::vector<std::pair<std::uint64_t, bool>> live;
    for (std::uint64_t i = 1; i <= 300; ++i) {
      if (!live.empty() && random() % 2 == 0) {
        const auto at = live.begin() + static_cast<std::ptrdiff_t>(random() % live.size());
        with.Free(at->first);
        if (!at->second) without.Free(at->first);
        live.erase(at);
        continue;
      }
      const std::size_t site = random() % stacks.size();
      const std::uint64_t bytes = 1 + random() % 5000;
      with.Alloc(Layer::kLinear, i << 16, bytes, {.stack = stacks[site]});
      if (site != 2) without.Alloc(Layer::kLinear, i << 16, bytes, {.stack = other_stacks[site]});
      live.emplace_back(i << 16, site == 2);
    }
    const auto session = LoadLog(with), rebuilt = LoadLog(without);
    ASSERT_NE(session, nullptr);
    ASSERT_NE(rebuilt, nullptr);
    const PeakLevels levels(*session);
    const StackId site = [&] {
      for (const AllocationRecord& a : session->records()) {
        const Frame& frame = session->frame(session->StackFrame(a.stack));
        if (session->string(frame.function) == "Site2") return a.stack;
      }
      return StackId();
    }();
    ASSERT_TRUE(site.valid());
    const auto peaks = PeaksWithout(*session, levels, 0, PeakLayer::kDriver, 1,
                                    [site](AllocationId, const AllocationRecord& a) {
                                      return a.stack == site ? 0u : kNoGroup;
                                    });
    EXPECT_EQ(peaks[0].bytes, FindPeaks(*rebuilt).at(0).bytes);
    EXPECT_EQ(levels.Find(0, PeakLayer::kDriver)->peak().bytes, FindPeaks(*session).at(0).bytes);
    EXPECT_LT(peaks[0].bytes, FindPeaks(*session).at(0).bytes);
  }
}

TEST(PeakChangeTest, TheSecondHighestPeakLimitsWhatIsSaved) {
  LogBuilder log;
  log.Alloc(Layer::kLinear, 0x100000, 100);
  log.Free(0x100000);
  log.Alloc(Layer::kLinear, 0x200000, 70);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const PeakLevels levels(*session);
  const Level* level = levels.Find(0, PeakLayer::kDriver);
  ASSERT_NE(level, nullptr);
  ExpectSame(level->peak(), {100, EventId(0)});
  const std::vector<LevelChange> changes = {Removed(session->records()[0])};
  ExpectSame(level->With(changes), {70, EventId(2)});
}

TEST(PeakChangeTest, AllGoneIsNoPeakAtNoEvent) {
  LogBuilder log;
  log.Alloc(Layer::kLinear, 0x100000, 100);
  log.Alloc(Layer::kLinear, 0x200000, 0);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const PeakLevels levels(*session);
  const std::vector<LevelChange> changes = {Removed(session->records()[0])};
  ExpectSame(levels.Find(0, PeakLayer::kDriver)->With(changes), {0, EventId()});
  EXPECT_EQ(levels.Find(0, PeakLayer::kBlocks), nullptr);
  EXPECT_EQ(levels.Find(7, PeakLayer::kDriver), nullptr);
}

TEST(PeakChangeTest, ChangesOutsideALifeChangeNothing) {
  LogBuilder log;
  log.Step(0);
  log.Alloc(Layer::kLinear, 0x100000, 100);  // event 1
  log.Step(1);
  log.Free(0x100000);  // event 3
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const AllocationRecord& a = session->records()[0];
  const PeakLevels levels(*session);
  const Level* level = levels.Find(0, PeakLayer::kDriver);
  const auto with = [level](const LevelChange& change) {
    return level->With(std::vector<LevelChange>{change});
  };
  ExpectSame(with(Delayed(a, EventId(0))), {100, EventId(1)});
  ExpectSame(with(Delayed(a, EventId(1))), {100, EventId(1)});
  ExpectSame(with(Delayed(a, EventId(2))), {100, EventId(2)});
  ExpectSame(with(Delayed(a, EventId(3))), {100, EventId(1)});
  ExpectSame(with(Delayed(a, EventId())), {100, EventId(1)});
  ExpectSame(with(Shortened(a, EventId())), {100, EventId(1)});
  ExpectSame(with(Shortened(a, EventId(3))), {100, EventId(1)});
  ExpectSame(with({EventId(2), EventId(2), -100}), {100, EventId(1)});
  ExpectSame(with({EventId(2), EventId(), 50}), {150, EventId(2)});
}

TEST(PeakChangeTest, BytesThatOverflowAreSurvived) {
  LogBuilder log;
  for (std::uint64_t i = 1; i <= 4; ++i) log.Alloc(Layer::kLinear, i << 20, ~std::uint64_t{0} / 3);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const PeakLevels levels(*session);
  std::vector<LevelChange> changes;
  for (const AllocationRecord& a : session->records()) changes.push_back(Removed(a));
  EXPECT_GT(levels.Find(0, PeakLayer::kDriver)->peak().bytes, 0u);
  levels.Find(0, PeakLayer::kDriver)->With(changes);  // must not crash; the result does not matter
}

TEST(PeakChangeTest, EmptyLogHasNoLevels) {
  const auto session = LoadLog(LogBuilder());
  ASSERT_NE(session, nullptr);
  const PeakLevels levels(*session);
  EXPECT_TRUE(levels.all().empty());
  EXPECT_EQ(PeaksWithout(*session, levels, 0, PeakLayer::kDriver, 2,
                         [](AllocationId, const AllocationRecord&) { return 0u; })[1]
                .bytes,
            0u);
}

}  // namespace
}  // namespace memprof::analysis
