// The peak while ranges were open, against plain loops.
#include "analysis/peak/within.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "analysis/peak/run_profile.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;

// Random allocations on two devices within random ranges of two threads, some left open.
std::shared_ptr<const Session> SomeLog(std::uint32_t seed) {
  std::mt19937 random(seed);
  LogBuilder log;
  for (const int device : {0, 1}) log.Device(device, std::uint64_t{1} << 30);
  std::vector<std::uint64_t> live;
  std::map<std::uint32_t, int> open;
  for (std::uint64_t i = 0; i < 300; ++i) {
    const std::uint32_t thread = 1 + random() % 2;
    const std::uint32_t choice = random() % 10;
    if (choice < 5) {
      live.push_back(0x1000000 * (i + 1));
      log.Alloc(Layer::kLinear, live.back(), 1 + random() % 1000,
                {.device = static_cast<int>(random() % 2)});
    } else if (choice < 7 && !live.empty()) {
      std::swap(live[random() % live.size()], live.back());
      log.Free(live.back());
      live.pop_back();
    } else if (choice == 7 && open[thread] < 3) {
      ++open[thread];
      log.RangePush(random() % 2 == 0 ? "a" : "b", thread);
    } else if (choice > 7 && open[thread] > 0) {
      --open[thread];
      log.RangePop(thread);
    }
  }
  return LoadLog(log);
}

bool IsOpen(const Session& session, const std::string& name, TimeNs from, TimeNs to) {
  for (const RangeInfo& range : session.ranges())
    if (session.string(range.name) == name && range.end >= from && range.begin < to) return true;
  return false;
}

std::map<int, UsePeak> Expected(const Session& session, const std::string& name) {
  const LeafMemory leaf(session);
  std::map<int, UsePeak> peaks;
  const auto events = static_cast<std::uint32_t>(session.events().size());
  for (std::uint32_t e = 0; e < events; ++e) {
    const TimeNs next = e + 1 < events ? session.events().time(e + 1) : kForever;
    if (!IsOpen(session, name, session.events().time(e), next)) continue;
    for (const int device : {0, 1}) {
      std::uint64_t sum = 0;
      for (const AllocationRecord& a : session.records())
        if (a.device == device && a.birth.value <= e && (!a.death.valid() || a.death.value > e))
          sum += a.bytes;
      UsePeak& peak = peaks[device];
      peak.driver = std::max(peak.driver, sum);
      if (sum > peak.in_use) peak.in_use = sum, peak.event = EventId(e);
    }
  }
  return peaks;
}

TEST(WithinTest, AgainstPlainLoops) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    const auto session = SomeLog(seed);
    for (const std::string name : {"a", "b"}) {
      const auto times = OpenTimes(*session, {name});
      ASSERT_TRUE(times.ok()) << times.status();
      const std::map<int, UsePeak> expected = Expected(*session, name);
      const std::vector<UsePeak> peaks = PeaksWithin(*session, *times);
      std::size_t seen = 0;
      for (const auto& [device, peak] : expected) seen += peak.event.valid();
      EXPECT_EQ(peaks.size(), seen);
      for (const UsePeak& peak : peaks) {
        const UsePeak& wanted = expected.at(peak.device);
        EXPECT_EQ(peak.in_use, wanted.in_use) << seed;
        EXPECT_EQ(peak.event, wanted.event) << seed;
        EXPECT_EQ(peak.driver, wanted.driver) << seed;
        std::uint64_t sum = 0;
        for (const AllocationId id : InUseAfter(*session, peak.device, peak.event))
          sum += session->record(id).bytes;
        EXPECT_EQ(sum, peak.in_use) << seed;
      }
    }
  }
}

TEST(WithinTest, OverlappingTimesAreJoinedAndSeveralNamesMeanAll) {
  for (std::uint32_t seed = 30; seed < 40; ++seed) {
    const auto session = SomeLog(seed);
    const auto a = OpenTimes(*session, {"a"}), both = OpenTimes(*session, {"a", "b"});
    ASSERT_TRUE(a.ok() && both.ok());
    for (const auto& times : {*a, *both})
      for (std::size_t i = 1; i < times.size(); ++i) EXPECT_GT(times[i].begin, times[i - 1].end);
    const auto in = [](const std::vector<TimeWindow>& times, TimeNs t) {
      for (const TimeWindow& time : times)
        if (time.begin <= t && t <= time.end) return true;
      return false;
    };
    for (std::uint32_t e = 0; e < session->events().size(); ++e) {
      const TimeNs t = session->events().time(e);
      EXPECT_EQ(in(*a, t), IsOpen(*session, "a", t, t + 1));
      EXPECT_EQ(in(*both, t), IsOpen(*session, "a", t, t + 1) && IsOpen(*session, "b", t, t + 1));
    }
  }
}

TEST(WithinTest, BlocksCountInPlaceOfTheirSegment) {
  LogBuilder log;
  log.Alloc(Layer::kLinear, 0x10000000, 4096);
  log.Alloc(Layer::kSegment, 0x10000000, 4096);
  log.Alloc(Layer::kBlock, 0x10000000, 512);
  log.RangePush("train");
  log.Alloc(Layer::kBlock, 0x10000200, 256);
  log.Alloc(Layer::kLinear, 0x20000000, 100);
  log.Free(Layer::kBlock, 0x10000200);
  log.RangePop();
  const auto session = LoadLog(log);
  const std::vector<UsePeak> peaks = PeaksWithin(*session, *OpenTimes(*session, {"train"}));
  ASSERT_EQ(peaks.size(), 1u);
  EXPECT_EQ(peaks[0].in_use, 512u + 256 + 100);
  EXPECT_EQ(peaks[0].driver, 4096u + 100);
  EXPECT_FALSE(OpenTimes(*session, {"train", "test"}).ok());
  EXPECT_EQ(OpenTimes(*session, {}).value().size(), 1u);
}

}  // namespace
}  // namespace memprof::analysis
