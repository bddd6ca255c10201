// A log that version 0.1.0 recorded is read as that version read it.
//
// It was recorded on the stand-in GPU, at the commit before the folders of analysis/:
//
//     memprof run -o demo_0.1.0.mprof --sim=memory=2GiB --cupti -- demo_trainer --steps 12 --leak
//     history
//
// The expected figures are those that `memprof report --json` and `memprof dump` of that commit
// printed for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "analysis/leaks/leaks.h"
#include "analysis/load/load.h"
#include "analysis/load/verify.h"
#include "analysis/peak/peak.h"
#include "tests/support/paths.h"

namespace memprof::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

const std::string kLog = std::string(paths::kTestData) + "/demo_0.1.0.mprof";

std::shared_ptr<const Session> OldLog() {
  auto session = LoadLogs({kLog}, {});
  EXPECT_TRUE(session.ok()) << session.status();
  return session.ok() ? *session : nullptr;
}

TEST(OldLogTest, IsSound) {
  const auto verified = VerifyLog(kLog);
  ASSERT_TRUE(verified.ok()) << verified.status();
  EXPECT_THAT(verified->problems, IsEmpty());
  EXPECT_TRUE(verified->complete);
  EXPECT_EQ(verified->events, 24895u);
}

TEST(OldLogTest, HasEveryEvent) {
  const auto session = OldLog();
  ASSERT_NE(session, nullptr);
  std::map<Op, int> events;
  for (std::size_t i = 0; i < session->events().size(); ++i) ++events[session->events().op(i)];
  EXPECT_THAT(
      events,
      ElementsAre(Pair(Op::kAlloc, 5142), Pair(Op::kFree, 5066), Pair(Op::kStep, 12),
                  Pair(Op::kRangePush, 36), Pair(Op::kRangePop, 36), Pair(Op::kContextCreate, 1),
                  Pair(Op::kModuleLoad, 6), Pair(Op::kModuleUnload, 6), Pair(Op::kMemoryInfo, 19),
                  Pair(Op::kLaunch, 3396), Pair(Op::kTouch, 10836), Pair(Op::kMemcpy, 126),
                  Pair(Op::kMemset, 108), Pair(Op::kSync, 105)));
  EXPECT_THAT(session->anomalies(), IsEmpty());
  EXPECT_EQ(session->run().recorder_version, "0.1.0");
  EXPECT_THAT(session->run().arguments,
              ElementsAre("build/bin/demo_trainer", "--steps", "12", "--leak", "history"));
}

TEST(OldLogTest, HasItsLifetimes) {
  const auto session = OldLog();
  ASSERT_NE(session, nullptr);
  std::map<Layer, std::pair<int, int>> by_layer;  // allocations, of them freed
  for (const AllocationRecord& a : session->records()) {
    ++by_layer[a.layer].first;
    by_layer[a.layer].second += a.death.valid() ? 1 : 0;
  }
  EXPECT_EQ(by_layer[Layer::kLinear], std::pair(21, 7));
  EXPECT_EQ(by_layer[Layer::kSegment], std::pair(21, 7));
  EXPECT_EQ(by_layer[Layer::kBlock], std::pair(2550, 2526));
  EXPECT_EQ(by_layer[Layer::kTensor], std::pair(2550, 2526));
}

TEST(OldLogTest, HasItsPeakAndItsLeak) {
  const auto session = OldLog();
  ASSERT_NE(session, nullptr);
  const auto peaks = PeaksOf(*session);
  ASSERT_THAT(*peaks, SizeIs(1));
  const Peak& peak = peaks->front();
  EXPECT_EQ(peak.bytes, 81'788'928u);
  EXPECT_EQ(peak.step, 11);
  EXPECT_EQ(peak.by_layer[static_cast<std::size_t>(Layer::kBlock)], 68'920'320u);
  EXPECT_EQ(peak.by_layer[static_cast<std::size_t>(Layer::kTensor)], 68'913'716u);
  // The binary is elsewhere, so the sites have no names; the rule does not need them.
  const auto leaks = LeaksOf(*session);
  ASSERT_THAT(leaks->leaks, SizeIs(2));
  EXPECT_EQ(leaks->steps, 11);
  EXPECT_EQ(leaks->leaks[0].tier, LeakTier::kSuspected);
  EXPECT_EQ(leaks->leaks[0].bytes, 12'582'912u);
  EXPECT_EQ(leaks->leaks[0].bytes_per_step, 1'048'576);
  EXPECT_EQ(leaks->leaks[1].bytes_per_step, 512);
}

}  // namespace
}  // namespace memprof::analysis
