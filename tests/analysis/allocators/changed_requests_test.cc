// Traces with other requests, against a list of what is live after each event.
#include "analysis/allocators/changed_requests.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "analysis/base/sizes.h"
#include "analysis/testing/log_builder.h"
#include "tests/analysis/allocators/allocator_replay_fixture.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LogBuilder;

// Blocks of PyTorch in segments of their own.
std::shared_ptr<const Session> RandomBlocks(unsigned seed) {
  std::mt19937 random(seed);
  LogBuilder log;
  log.Device(0, 65536 * kMiB);
  log.Alloc(Layer::kLinear, 0x100000000, 4096 * kMiB);
  log.Alloc(Layer::kSegment, 0x100000000, 4096 * kMiB);
  std::vector<std::uint64_t> live;
  for (std::uint64_t i = 0; i < 60; ++i) {
    if (!live.empty() && random() % 3 == 0) {
      std::swap(live[random() % live.size()], live.back());
      log.Free(Layer::kBlock, live.back());
      live.pop_back();
    }
    live.push_back(0x100000000 + i * 32 * kMiB);
    log.Alloc(Layer::kBlock, live.back(), (1 + random() % 60) * 512 * 1024);
  }
  return LoadLog(log);
}

std::uint64_t SlowMost(const Session& session, const RequestChanges& changes) {
  std::uint64_t most = 0;
  for (std::uint32_t e = 0; e < session.events().size(); ++e) {
    std::uint64_t live = 0;
    for (const AllocationRecord& a : session.records()) {
      const bool gone =
          std::find(changes.gone.begin(), changes.gone.end(), a.birth) != changes.gone.end();
      if (a.layer == Layer::kBlock && !gone && a.birth.value <= e && a.death.value > e)
        live += a.bytes;
    }
    for (const RequestChanges::Added& added : changes.added)
      if (added.begin.value <= e && added.end.value > e) live += added.bytes;
    most = std::max(most, live);
  }
  return most;
}

class ChangedRequests : public ::testing::TestWithParam<unsigned> {};

TEST_P(ChangedRequests, MostAliveIsThatOfALoop) {
  const auto session = RandomBlocks(GetParam());
  ASSERT_NE(session, nullptr);
  const auto runs = allocators::RecordedRuns(*session, {.over_time = true});
  ASSERT_EQ(runs.size(), 1u);
  std::mt19937 random(GetParam());
  RequestChanges changes;
  for (const AllocationRecord& a : session->records()) {
    if (a.layer != Layer::kBlock || random() % 2 == 0) continue;
    changes.gone.push_back(a.birth);
    changes.added.push_back({a.birth, a.death, a.bytes / 2});
    changes.added.push_back({EventId(a.birth.value + 3), EventId(), a.bytes / 4});
    changes.added.push_back({EventId(a.birth.value + 3), EventId(a.birth.value + 3), kMiB});
    // Mostly ends where another block begins.
    changes.added.push_back({a.birth, EventId(a.birth.value + 5), 64 * kMiB});
  }
  EXPECT_EQ(allocators::MaxLive(ChangedTrace(runs[0], {})), SlowMost(*session, {}));
  EXPECT_EQ(allocators::MaxLive(ChangedTrace(runs[0], changes)), SlowMost(*session, changes));
}

INSTANTIATE_TEST_SUITE_P(Seeds, ChangedRequests, ::testing::Range(0u, 12u));

TEST(ReservedReplay, NoneWithoutPyTorchsBlocks) {
  LogBuilder log;
  log.Device(0, 64 * kMiB);
  log.Alloc(Layer::kLinear, 0x1000, kMiB);
  const auto session = LoadLog(log);
  EXPECT_EQ(ReservedReplay::Of(*session, 0, 0), nullptr);
  EXPECT_EQ(ReservedReplay::Of(*session, 1, 0), nullptr);
}

// Which of several equal blocks is the lowest decides what stays reserved.
TEST(ReservedReplay, OfTheSameRequestsIsWhatWasRecordedWhereverSegmentsLie) {
  for (std::uint32_t seed = 1; seed <= 24; ++seed) {
    testing::ReferenceLog log;
    log.GiveAddressesDownwards();
    log.Churn(seed, 500, 1);
    const auto session = LoadLog(log.log());
    const auto replay = ReservedReplay::Of(*session, 0, 0);
    ASSERT_NE(replay, nullptr);
    EXPECT_EQ(replay->With({}), log.peak()) << seed;
  }
}

TEST(ReservedReplay, OfRequestsThatAreGone) {
  LogBuilder log;
  log.Device(0, 1024 * kMiB);
  std::uint64_t address = 0x100000000;
  for (const std::uint64_t size : {12 * kMiB, 30 * kMiB}) {
    log.Alloc(Layer::kLinear, address, size);
    log.Alloc(Layer::kSegment, address, size);
    log.Alloc(Layer::kBlock, address, size);
    address += 64 * kMiB;
  }
  const auto session = LoadLog(log);
  const auto replay = ReservedReplay::Of(*session, 0, 0);
  ASSERT_NE(replay, nullptr);
  EXPECT_EQ(replay->With({}), 42 * kMiB);
  const EventId second = session->record(AllocationId(5)).birth;
  EXPECT_EQ(replay->With({.gone = {second}}), 12 * kMiB);
  EXPECT_EQ(replay->With({.gone = {second}, .added = {{second, {}, 14 * kMiB}}}), 26 * kMiB);
}

// A device of 64 MiB, of which 50 are taken when 30 more are requested.
TEST(ReservedReplay, WhetherNoRequestFails) {
  LogBuilder log;
  log.Device(0, 64 * kMiB);
  std::uint64_t address = 0x100000000;
  for (const std::uint64_t size : {20 * kMiB, 30 * kMiB}) {
    log.Alloc(Layer::kLinear, address, size);
    log.Alloc(Layer::kSegment, address, size);
    log.Alloc(Layer::kBlock, address, size);
    address += 64 * kMiB;
  }
  log.AllocFailed(Layer::kLinear, 30 * kMiB, {.aux0 = 14 * kMiB, .aux1 = 64 * kMiB, .result = 2});
  log.Event(Op::kFrameworkOom, Layer::kBlock, 0, 30 * kMiB, 0, {});
  const auto session = LoadLog(log);
  const auto replay = ReservedReplay::Of(*session, 0, 0);
  ASSERT_NE(replay, nullptr);
  EXPECT_FALSE(replay->EndsFailures({}));
  const EventId small = session->record(AllocationId(2)).birth;
  EXPECT_TRUE(replay->EndsFailures({.gone = {small}}));
  EXPECT_FALSE(replay->EndsFailures({.gone = {small}, .added = {{small, {}, 10 * kMiB}}}));
}

}  // namespace
}  // namespace memprof::analysis
