// Timelines against sums over all allocations at every event.
#include "analysis/timeline/timeline.h"

#include <gtest/gtest.h>

#include "analysis/testing/column.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;
using testing::RandomLog;
using testing::Times;

template <typename Accept>
std::uint64_t SumAlive(const Session& session, TimeNs time, Accept accept) {
  std::uint64_t sum = 0;
  for (const Allocation& a : session.allocations()) {
    if (a.AliveAt(time) && accept(a)) sum += a.bytes;
  }
  return sum;
}

// Reserved bytes of pools by their samples so far, less live bytes of each pool, never below zero.
std::uint64_t UnusedPoolBytes(const Session& session, int device, TimeNs time) {
  std::map<std::uint64_t, std::uint64_t> reserved;
  const EventTable& events = session.events();
  for (std::size_t e = 0; e < events.size() && events.time(e) <= time; ++e) {
    if (events.op(e) == Op::kPoolSample && events.device(e) == device) {
      reserved[events.address(e)] = events.bytes(e);
    }
  }
  std::uint64_t beyond = 0;
  for (const auto& [pool, bytes] : reserved) {
    const std::uint64_t live = SumAlive(session, time, [&, handle = pool](const Allocation& a) {
      return a.device == device && a.layer == Layer::kStreamOrdered && a.pool == handle;
    });
    beyond += bytes > live ? bytes - live : 0;
  }
  return beyond;
}

TEST(TimelineTest, MatchesSumsAtEveryEvent) {
  for (const std::uint32_t seed : {1u, 2u, 3u}) {
    RandomLog log({.seed = seed});
    const auto session = LoadLog(log.builder());
    ASSERT_NE(session, nullptr);
    const std::vector<DeviceTimeline> timelines = BuildTimelines(*session);
    ASSERT_EQ(timelines.size(), 3u);  // two devices and the host
    EXPECT_EQ(timelines.back().device, kNoDevice);
    for (const DeviceTimeline& timeline : timelines) {
      const int device = timeline.device;
      for (const TimeNs time : Times(session->events())) {
        SCOPED_TRACE(::testing::Message()
                     << "seed " << seed << " device " << device << " " << time);
        for (int i = 0; i < kLayerCount; ++i) {
          ASSERT_EQ(timeline.layer[i].At(time), SumAlive(*session, time, [&](const Allocation& a) {
                      return a.device == device && a.layer == static_cast<Layer>(i);
                    }));
        }
        const std::uint64_t total = SumAlive(*session, time, [&](const Allocation& a) {
          return a.device == device &&
                 (device == kNoDevice ? OccupiesHost(a.layer) : OccupiesDevice(a.layer));
        });
        ASSERT_EQ(timeline.total.At(time), total);
        ASSERT_EQ(timeline.reserved.At(time), total + UnusedPoolBytes(*session, device, time));
      }
    }
  }
}

TEST(TimelineTest, FrameworkSeriesAreItsLayers) {
  RandomLog log({.seed = 5});
  const auto session = LoadLog(log.builder());
  ASSERT_NE(session, nullptr);
  for (const DeviceTimeline& timeline : BuildTimelines(*session)) {
    for (const TimeNs time : Times(session->events())) {
      EXPECT_EQ(timeline.framework_allocated.At(time),
                timeline.layer[static_cast<int>(Layer::kBlock)].At(time));
      EXPECT_EQ(timeline.framework_reserved.At(time),
                timeline.layer[static_cast<int>(Layer::kSegment)].At(time));
      EXPECT_EQ(timeline.tensors.At(time),
                timeline.layer[static_cast<int>(Layer::kTensor)].At(time));
    }
  }
}

TEST(TimelineTest, DeviceWithoutMemoryIsThereAndEmpty) {
  LogBuilder log;
  log.Device(3, 1 << 30);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const auto timelines = BuildTimelines(*session);
  ASSERT_EQ(timelines.size(), 1u);
  EXPECT_EQ(timelines[0].device, 3);
  EXPECT_TRUE(timelines[0].total.empty());
}

TEST(TimelineTest, PoolHoldsWhatItsLastSampleSays) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.Alloc(Layer::kStreamOrdered, 0x1000, 100, {.aux0 = 7});
  log.Event(Op::kPoolSample, Layer::kUnspecified, 7, 1000, 0, {.aux0 = 100});
  log.Free(0x1000);
  log.Event(Op::kPoolSample, Layer::kUnspecified, 7, 0, 0);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const DeviceTimeline timeline = BuildTimelines(*session).at(0);
  const auto time = Times(session->events());
  EXPECT_EQ(timeline.reserved.At(time[0]), 100u);
  EXPECT_EQ(timeline.reserved.At(time[1]), 1000u);
  EXPECT_EQ(timeline.reserved.At(time[2]), 1000u);
  EXPECT_EQ(timeline.total.At(time[2]), 0u);
  EXPECT_EQ(timeline.reserved.At(time[3]), 0u);
}

TEST(TimelineTest, ReleasedHandleStaysReservedWhileMapped) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.Alloc(Layer::kVmmPhysical, 0x51, 4096);
  log.Event(Op::kMap, Layer::kVmmPhysical, 0x7000, 4096, 0, {.aux0 = 0x51});
  log.Event(Op::kMap, Layer::kVmmPhysical, 0x9000, 4096, 0, {.aux0 = 0x51});
  log.Free(Layer::kVmmPhysical, 0x51);
  log.Event(Op::kUnmap, Layer::kVmmPhysical, 0x7000, 4096, 0);
  log.Event(Op::kUnmap, Layer::kVmmPhysical, 0x9000, 4096, 0);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const DeviceTimeline timeline = BuildTimelines(*session).at(0);
  const auto time = Times(session->events());
  EXPECT_EQ(timeline.reserved.At(time[2]), 4096u);
  EXPECT_EQ(timeline.reserved.At(time[4]), 4096u);
  EXPECT_EQ(timeline.reserved.At(time[5]), 0u);
}

// Memory that pools and VMM hold beyond the program's requests after each event of `log`, on device
// 0.
std::vector<std::uint64_t> UnusedOf(const LogBuilder& log) {
  std::vector<std::uint64_t> beyond;
  const auto session = LoadLog(log);
  if (session == nullptr) return beyond;
  const DeviceTimeline timeline = BuildTimelines(*session).at(0);
  for (const TimeNs time : Times(session->events()))
    beyond.push_back(timeline.reserved.At(time) - timeline.total.At(time));
  return beyond;
}

using Bytes = std::vector<std::uint64_t>;

TEST(ReservedTest, APoolNeverHoldsLessThanItsMemory) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.Alloc(Layer::kStreamOrdered, 0x1000, 100, {.aux0 = 7});
  log.Event(Op::kPoolSample, Layer::kUnspecified, 7, 60, 0);  // sampled before it grew
  log.Free(0x1000);
  EXPECT_EQ(UnusedOf(log), (Bytes{0, 0, 60}));
}

TEST(ReservedTest, ADestroyedPoolHoldsNothing) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.Event(Op::kPoolSample, Layer::kUnspecified, 7, 500, 0);
  log.Event(Op::kPoolSample, Layer::kUnspecified, 8, 40, 0);
  log.Event(Op::kPoolSample, Layer::kGraph, 0, 3, 0);
  // a pool of another device
  log.Event(Op::kPoolDestroy, Layer::kUnspecified, 7, 0, 0, {.device = 1});
  log.Event(Op::kPoolDestroy, Layer::kUnspecified, 7, 0, 0);
  log.Event(Op::kPoolDestroy, Layer::kUnspecified, 8, 0, 0, {.device = kNoDevice});
  log.Event(Op::kPoolDestroy, Layer::kUnspecified, 0, 0, 0);  // not the pool of graphs
  EXPECT_EQ(UnusedOf(log), (Bytes{500, 540, 543, 543, 43, 3, 3}));
}

TEST(ReservedTest, ThePoolOfGraphsIsNotThatWithoutAHandle) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.Alloc(Layer::kGraph, 0x1000, 100);
  log.Alloc(Layer::kStreamOrdered, 0x2000, 300);  // its pool is unknown
  log.Event(Op::kPoolSample, Layer::kGraph, 0, 250, 0);
  log.Event(Op::kPoolSample, Layer::kStreamOrdered, 0, 350, 0);
  log.Free(Layer::kGraph, 0x1000);
  EXPECT_EQ(UnusedOf(log), (Bytes{0, 0, 150, 200, 300}));
}

TEST(ReservedTest, APoolOfAnotherProcessIsNotOurs) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.Event(Op::kPoolSample, Layer::kImported, 7, 250, 0);
  EXPECT_EQ(UnusedOf(log), (Bytes{0}));
}

// The unmap happens while another device is current: the memory is freed on its own device.
TEST(ReservedTest, AnUnmapUnderAnotherDeviceFreesTheRightOne) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.Device(1, 1 << 30);
  log.Alloc(Layer::kVmmPhysical, 0x51, 4096);
  log.Event(Op::kMap, Layer::kVmmPhysical, 0x7000, 4096, 0, {.aux0 = 0x51});
  log.Free(Layer::kVmmPhysical, 0x51);
  log.Event(Op::kUnmap, Layer::kVmmPhysical, 0x7000, 4096, 0, {.device = 1});
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const DeviceTimeline timeline = BuildTimelines(*session).at(0);
  EXPECT_EQ(timeline.reserved.At(session->events().time(2)), 4096u);
  EXPECT_EQ(timeline.reserved.At(session->events().time(3)), 0u);
}

// The driver reuses the number of a released handle while the old memory is still mapped.
TEST(ReservedTest, AHandleInUseAgainIsOtherMemory) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.Alloc(Layer::kVmmPhysical, 0x51, 4096);
  log.Event(Op::kMap, Layer::kVmmPhysical, 0x7000, 4096, 0, {.aux0 = 0x51});
  log.Free(Layer::kVmmPhysical, 0x51);
  log.Alloc(Layer::kVmmPhysical, 0x51, 4096);
  log.Event(Op::kMap, Layer::kVmmPhysical, 0x9000, 4096, 0, {.aux0 = 0x51});
  log.Event(Op::kUnmap, Layer::kVmmPhysical, 0x7000, 4096, 0);
  EXPECT_EQ(UnusedOf(log), (Bytes{0, 0, 0, 0, 0, 0}));
}

TEST(ReservedTest, BindsOfMulticastObjectsAreNoMappings) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.Alloc(Layer::kVmmPhysical, 0x51, 4096);
  log.Alloc(Layer::kMulticast, 0x90, 0);
  log.Event(Op::kMap, Layer::kMulticast, 0x90, 4096, 0, {.aux0 = 0x51});
  log.Free(Layer::kVmmPhysical, 0x51);
  EXPECT_EQ(UnusedOf(log), (Bytes{0, 0, 0, 0}));
  LogBuilder unbound;
  unbound.Device(0, 1 << 30);
  unbound.Alloc(Layer::kVmmPhysical, 0x51, 4096);
  unbound.Event(Op::kMap, Layer::kVmmPhysical, 0x90, 4096, 0, {.aux0 = 0x51});
  unbound.Event(Op::kUnmap, Layer::kMulticast, 0x90, 4096, 0);  // a handle with the same number
  const auto session = LoadLog(unbound);
  ASSERT_NE(session, nullptr);
  EXPECT_TRUE(session->allocations()[0].alive());
}

}  // namespace
}  // namespace memprof::analysis
