// Lifetimes: case by case, and against a brute-force reference on random traces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/store/session.h"
#include "analysis/testing/log_builder.h"
#include "tests/support/load_log.h"

namespace memprof::analysis {
namespace {

using testing::CountOf;
using testing::LoadLog;
using testing::LogBuilder;

TEST(LifetimesTest, FreesMatchByAddressNotByFamily) {
  LogBuilder log;
  log.Alloc(Layer::kStreamOrdered, 0x1000, 64, {.stream = 9, .aux0 = 0x77});
  log.Alloc(Layer::kManaged, 0x2000, 64);
  log.Alloc(Layer::kPinned, 0x3000, 64);
  // cuMemFree of stream-ordered memory: legal, but the function of another kind
  log.Free(Layer::kLinear, 0x1000);
  log.Free(Layer::kLinear, 0x2000);  // cuMemFree is the right function for managed memory
  log.Free(Layer::kLinear, 0x3000);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  for (const Allocation& allocation : session->allocations())
    EXPECT_EQ(allocation.end_reason, EndReason::kFreed);
  EXPECT_EQ(session->allocations()[0].pool, 0x77u);
  EXPECT_EQ(session->allocations()[0].stream, 9u);
  EXPECT_EQ(session->allocations()[2].device, kNoDevice);
  EXPECT_EQ(CountOf(*session, log::Anomaly::kForeignFrees), 2u);
  EXPECT_EQ(CountOf(*session, log::Anomaly::kUnmatchedFrees), 0u);
  // A matched free has the fields of its allocation.
  EXPECT_EQ(session->events().layer(3), Layer::kStreamOrdered);
  EXPECT_EQ(session->events().bytes(3), 64u);
  EXPECT_EQ(session->events().device(5), kNoDevice);
}

TEST(LifetimesTest, FreeUnderAnotherCurrentDevice) {
  LogBuilder log;
  log.Alloc(Layer::kLinear, 0x1000, 64, {.device = 0});
  log.Alloc(Layer::kLinear, 0x1000, 65, {.device = 1});
  log.Free(0x1000, {.device = 1});
  log.Free(0x1000, {.device = 1});  // only device 0 is left
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->allocations()[1].death, EventId(2));
  EXPECT_EQ(session->allocations()[0].death, EventId(3));
  EXPECT_TRUE(session->anomalies().empty());
}

TEST(LifetimesTest, UnmatchedAndMissedFrees) {
  LogBuilder log;
  log.Free(0x1000);
  log.Alloc(Layer::kLinear, 0x1000, 64);
  log.Alloc(Layer::kLinear, 0x1000, 128);
  log.Free(Layer::kTensor, 0x1000);  // not a tensor: the driver's memory stays
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(CountOf(*session, log::Anomaly::kUnmatchedFrees), 2u);
  EXPECT_EQ(CountOf(*session, log::Anomaly::kDoubleAllocations), 1u);
  EXPECT_EQ(session->allocations()[0].end_reason, EndReason::kAddressReused);
  EXPECT_EQ(session->allocations()[0].death, session->allocations()[1].birth);
  EXPECT_TRUE(session->allocations()[1].alive());
}

TEST(LifetimesTest, FailedFreeDidNotHappen) {
  LogBuilder log;
  log.Alloc(Layer::kLinear, 0x1000, 64);
  log.Free(0x1000);
  log.Free(0x9000, {.thread = 2});  // an event of another thread in between
  log.Event(Op::kFreeFailed, Layer::kLinear, 0x1000, 0, 0, {.result = 1});
  log.Free(0x5000);                                                         // never existed …
  log.Event(Op::kFreeFailed, Layer::kLinear, 0x5000, 0, 0, {.result = 1});  // … so it failed
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  EXPECT_TRUE(session->allocations()[0].alive());
  EXPECT_FALSE(session->events().allocation(1).valid());
  EXPECT_EQ(session->LiveAfter(EventId(1)).size(), 1u);
  EXPECT_EQ(CountOf(*session, log::Anomaly::kUnmatchedFrees), 1u);
}

TEST(LifetimesTest, ContextDestroyEndsWhatItOwns) {
  LogBuilder log;
  log.Context(1, 0);
  log.Context(2, 0);
  log.Alloc(Layer::kLinear, 0x1000, 64, {.context = 1});
  log.Alloc(Layer::kLinear, 0x2000, 64, {.context = 2});
  log.Alloc(Layer::kPinned, 0x3000, 64, {.context = 1});
  log.Alloc(Layer::kVmmPhysical, 0x1, 64, {.context = 1});       // belongs to the process
  log.Alloc(Layer::kStreamOrdered, 0x4000, 64, {.context = 1});  // belongs to a pool
  log.Event(Op::kContextDestroy, Layer::kUnspecified, 0, 0, 0, {.context = 1});
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->allocations()[0].end_reason, EndReason::kContextDestroyed);
  EXPECT_EQ(session->allocations()[2].end_reason, EndReason::kContextDestroyed);
  EXPECT_EQ(session->allocations()[2].death, EventId(5));
  for (const int alive : {1, 3, 4}) EXPECT_TRUE(session->allocations()[alive].alive()) << alive;
}

TEST(LifetimesTest, DeviceResetEndsTheDevicesMemory) {
  LogBuilder log;
  log.Context(1, 0);
  log.Alloc(Layer::kLinear, 0x1000, 64, {.context = 1});
  log.Alloc(Layer::kLinear, 0x2000, 64);  // context unknown
  log.Alloc(Layer::kLinear, 0x3000, 64, {.device = 1});
  log.Alloc(Layer::kStreamOrdered, 0x4000, 64, {.context = 1});
  log.Event(Op::kDeviceReset, Layer::kUnspecified, 0, 0, 0, {.device = 0});
  log.Free(0x1000);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  for (const int ended : {0, 1, 3})
    EXPECT_EQ(session->allocations()[ended].end_reason, EndReason::kDeviceReset) << ended;
  EXPECT_TRUE(session->allocations()[2].alive());
  EXPECT_EQ(CountOf(*session, log::Anomaly::kUnmatchedFrees), 1u);
}

TEST(LifetimesTest, FrameworkLayersLieInEachOther) {
  LogBuilder log;
  const int weights = log.Tensor("weights", "float32", {16, 4});
  log.Alloc(Layer::kLinear, 0x10000, 0x10000);
  log.Alloc(Layer::kSegment, 0x10000, 0x10000);
  log.Alloc(Layer::kBlock, 0x10400, 0x400, {.aux0 = 1000});
  log.TensorCreate(0x10480, 256, weights);
  // same address on another device: no relation
  log.TensorCreate(0x10480, 256, weights, {.device = 1});
  log.Free(0x10000);                  // cuMemFree while the framework still uses it
  log.Free(Layer::kTensor, 0x10480);  // reported late
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const auto& all = session->allocations();
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[1].parent, AllocationId(0));
  EXPECT_EQ(all[2].parent, AllocationId(1));
  EXPECT_EQ(all[3].parent, AllocationId(2));
  EXPECT_FALSE(all[4].parent.valid());
  EXPECT_EQ(all[2].requested, 1000u);
  EXPECT_EQ(all[2].bytes, 0x400u);
  EXPECT_EQ(session->tensor(all[3].tensor)->name, "weights");
  EXPECT_EQ(session->tensor(all[3].tensor)->shape, (std::vector<std::uint64_t>{16, 4}));
  EXPECT_THAT(session->Children(AllocationId(1)), ::testing::ElementsAre(AllocationId(2)));
  EXPECT_TRUE(session->Children(AllocationId(3)).empty());
  EXPECT_EQ(all[1].end_reason, EndReason::kSegmentFreed);
  EXPECT_EQ(all[2].end_reason, EndReason::kSegmentFreed);
  EXPECT_EQ(all[3].end_reason, EndReason::kFreed);
  EXPECT_EQ(all[3].death, EventId(6));
  EXPECT_TRUE(all[4].alive());
  EXPECT_EQ(CountOf(*session, log::Anomaly::kUnmatchedFrees), 0u);
}

}  // namespace
}  // namespace memprof::analysis
