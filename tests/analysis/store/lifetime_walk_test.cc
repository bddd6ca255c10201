// Births and deaths in order of events, against a search through all lifetimes.
#include "analysis/store/lifetime_walk.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;
using testing::RandomLog;

struct Happening {
  std::uint32_t event;
  bool birth;
  std::uint32_t allocation;
  bool operator==(const Happening&) const = default;
};

struct Recorder {
  std::vector<Happening> all;
  std::uint32_t events = 0;
  void Birth(EventId event, AllocationId id) { all.push_back({event.value, true, id.value}); }
  void Death(EventId event, AllocationId id) { all.push_back({event.value, false, id.value}); }
  void After(EventId) { ++events; }
};

void ExpectReference(const Session& session) {
  Recorder recorder;
  WalkLifetimes(session, recorder);
  std::vector<Happening> reference;
  for (std::uint32_t e = 0; e < session.events().size(); ++e) {
    for (const bool birth : {false, true})
      for (std::uint32_t i = 0; i < session.records().size(); ++i) {
        const Allocation a = session.allocation(AllocationId(i));
        if ((birth ? a.birth : a.death) == EventId(e)) reference.push_back({e, birth, i});
      }
  }
  EXPECT_EQ(recorder.all, reference);
  EXPECT_EQ(recorder.events, session.events().size());
}

TEST(LifetimeWalkTest, RandomLogsInOrder) {
  for (const std::uint32_t seed : {1u, 2u, 3u}) {
    RandomLog log({.seed = seed});
    const auto session = LoadLog(log.builder());
    ASSERT_NE(session, nullptr);
    ExpectReference(*session);
  }
}

// One event may end several lifetimes: a reset, a free of memory below framework blocks, a reused
// address.
TEST(LifetimeWalkTest, SeveralDeathsAtOneEvent) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.Alloc(Layer::kLinear, 0x10000, 4096);
  log.Alloc(Layer::kSegment, 0x10000, 4096);
  log.Alloc(Layer::kBlock, 0x10000, 512);
  log.Alloc(Layer::kBlock, 0x10200, 512);
  log.Free(Layer::kBlock, 0x10200);
  log.Alloc(Layer::kBlock, 0x10200, 1024);
  log.Free(Layer::kLinear, 0x10000);  // also ends the segment and two blocks
  log.Alloc(Layer::kLinear, 0x20000, 64);
  log.Alloc(Layer::kLinear, 0x20000, 32);  // the free was not recorded
  log.Alloc(Layer::kStreamOrdered, 0x30000, 64);
  log.Event(Op::kDeviceReset, Layer::kUnspecified, 0, 0, 0);
  log.Alloc(Layer::kLinear, 0x40000, 64);
  log.Free(Layer::kLinear, 0x40000);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  EXPECT_GE(session->other_deaths().size(), 5u);
  ExpectReference(*session);
}

}  // namespace
}  // namespace memprof::analysis
