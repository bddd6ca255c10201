// Groups of live memory at a peak, and the peak without each group, against plain loops on random
// logs.
#include "analysis/peak/groups.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;
using testing::RandomLog;

class RandomGroups : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  RandomGroups()
      : session_(LoadLog(RandomLog({.seed = GetParam(), .operations = 200}).builder())),
        savings_(*session_) {}

  // The maximum of (device, of) without the allocations that have this key.
  std::uint64_t MostWithout(int device, PeakLayer of, const GroupKey& key, std::uint32_t gone) {
    const auto records = session_->records();
    std::uint64_t most = 0;
    for (std::uint32_t e = 0; e < session_->events().size(); ++e) {
      std::uint64_t sum = 0;
      for (std::uint32_t i = 0; i < records.size(); ++i) {
        const AllocationRecord& a = records[i];
        const bool live = a.birth.value <= e && (!a.death.valid() || e < a.death.value);
        if (live && a.device == device && PeakLayerOf(a.layer) == of &&
            key(AllocationId(i), a) != gone)
          sum += a.bytes;
      }
      most = std::max(most, sum);
    }
    return most;
  }

  std::shared_ptr<const Session> session_;
  PeakSavings savings_;
};

TEST_P(RandomGroups, AnyKey) {
  // One of the keys is kNoGroup.
  const GroupKey key = [](AllocationId id, const AllocationRecord& a) {
    const std::uint32_t number = (id.value + a.stack.value) % 4;
    return number == 3 ? kNoGroup : 100 * number;
  };
  for (const Peak& peak : FindPeaks(*session_)) {
    const LiveMemory live = LiveMemoryAt(*session_, peak);
    ASSERT_FALSE(live.ids.empty());
    std::vector<PeakGroup> groups = GroupBy(*session_, live.ids, key);
    AddSavings(savings_, peak.device, live.of, key, &groups);
    std::map<std::uint32_t, PeakGroup> want;
    for (const AllocationId id : live.ids) {
      const AllocationRecord& a = session_->record(id);
      if (key(id, a) == kNoGroup) continue;
      const std::int64_t step = session_->StepOf(a.birth);
      PeakGroup& group =
          want.try_emplace(key(id, a), PeakGroup{.first_step = step, .last_step = step})
              .first->second;
      group.bytes += a.bytes;
      ++group.count;
      group.first_step = std::min(group.first_step, step);
      group.last_step = std::max(group.last_step, step);
    }
    ASSERT_EQ(groups.size(), want.size());
    EXPECT_TRUE(std::is_sorted(groups.begin(), groups.end(),
                               [](const auto& a, const auto& b) { return a.bytes > b.bytes; }));
    for (const PeakGroup& group : groups) {
      EXPECT_EQ(group.bytes, want[group.key].bytes);
      EXPECT_EQ(group.count, want[group.key].count);
      EXPECT_EQ(group.first_step, want[group.key].first_step);
      EXPECT_EQ(group.last_step, want[group.key].last_step);
      EXPECT_EQ(group.saving.without.bytes, MostWithout(peak.device, live.of, key, group.key));
    }
  }
}

TEST_P(RandomGroups, Sites) {
  for (const Peak& peak : FindPeaks(*session_)) {
    const auto without = WithoutSites(savings_, peak.device, PeakLayer::kDriver, peak.sites);
    ASSERT_EQ(without.size(), peak.sites.size());
    for (std::size_t i = 0; i < without.size(); ++i)
      EXPECT_EQ(without[i].without.bytes,
                MostWithout(peak.device, PeakLayer::kDriver, ByStack(), peak.sites[i].stack.value));
  }
}

TEST_P(RandomGroups, Categories) {
  const Categories categories(*session_);
  const auto without = WithoutCategories(savings_, categories, 0);
  ASSERT_EQ(without.size(), kCategoryCount);
  for (std::uint32_t c = 0; c < kCategoryCount; ++c)
    EXPECT_EQ(without[c].without.bytes,
              MostWithout(0, savings_.TensorPeakLayer(0), ByCategory(categories), c));
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGroups, ::testing::Range(40u, 44u));

TEST(PeakGroupsTest, DriverMemoryWithoutASuballocator) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.Alloc(Layer::kLinear, 0x10000, 4096);
  log.Alloc(Layer::kPinned, 0x90000, 4096);
  const auto session = LoadLog(log);
  const LiveMemory live = LiveMemoryAt(*session, FindPeaks(*session).at(0));
  EXPECT_EQ(live.of, PeakLayer::kDriver);
  ASSERT_EQ(live.ids.size(), 1u);
  EXPECT_EQ(session->record(live.ids[0]).layer, Layer::kLinear);
}

}  // namespace
}  // namespace memprof::analysis
