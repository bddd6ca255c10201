// The ledger of a device: adds up at every sample, against a model of live memory.
#include "analysis/timeline/ledger.h"

#include <gtest/gtest.h>

#include "analysis/report/report.h"
#include "tests/analysis/timeline/ledger_fixture.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::ExpectCloses;
using testing::kTotal;
using testing::LedgersOf;
using testing::LoadLog;
using testing::LogBuilder;
using testing::Sample;

std::uint64_t Of(const LedgerEntry& entry, Layer layer) {
  return entry.by_layer[static_cast<std::size_t>(layer)];
}

TEST(LedgerTest, EveryKindHasItsPlace) {
  LogBuilder log;
  log.Device(0, kTotal);
  log.Alloc(Layer::kLinear, 0x1000, 3000);
  log.Event(Op::kModuleLoad, Layer::kModule, 0x77, 900, 0, {.aux0 = 700});
  log.Alloc(Layer::kGraph, 0x3000, 400, {.aux0 = 0xec});
  log.Event(Op::kPoolSample, Layer::kGraph, 0, 1000, 0, {.aux0 = 400});
  log.Alloc(Layer::kImported, 0x9000, 50'000, {.aux1 = 1});
  log.Alloc(Layer::kPinned, 0x5000, 60'000, {.device = kNoDevice});
  Sample(log, kTotal - 9000, {.aux1 = 1 + 2500});
  const DeviceLedger ledger = LedgersOf(log).at(0);
  ASSERT_TRUE(ledger.last && ledger.highest);
  EXPECT_EQ(Of(*ledger.last, Layer::kLinear), 3000u);
  // the memory that it took, not the size of its image
  EXPECT_EQ(Of(*ledger.last, Layer::kModule), 700u);
  EXPECT_EQ(Of(*ledger.last, Layer::kGraph), 400u);
  EXPECT_EQ(ledger.last->pools_bytes, 600u);
  EXPECT_EQ(ledger.last->sample.others_bytes, 2500u);
  EXPECT_EQ(Of(*ledger.last, Layer::kImported), 0u);
  EXPECT_EQ(Of(*ledger.last, Layer::kPinned), 0u);
  EXPECT_EQ(ledger.last->untracked_bytes, 9000u - 3000 - 700 - 1000 - 2500);
  ExpectCloses(*ledger.last);
}

TEST(LedgerTest, KnownAndNotOnTheDeviceIsElsewhere) {
  LogBuilder log;
  log.Device(0, kTotal);
  log.Alloc(Layer::kManaged, 0x1000, 5000);
  Sample(log, kTotal - 1200);
  const DeviceLedger ledger = LedgersOf(log).at(0);
  ASSERT_TRUE(ledger.last);
  EXPECT_EQ(ledger.last->elsewhere_bytes, 3800u);
  EXPECT_EQ(ledger.last->untracked_bytes, 0u);
  ExpectCloses(*ledger.last);
}

TEST(LedgerTest, WithoutAQueryOthersAreUnknownNotNone) {
  LogBuilder log;
  log.Device(0, kTotal);
  Sample(log, 10);
  EXPECT_EQ(LedgersOf(log).at(0).last->sample.others_bytes, std::nullopt);
  Sample(log, 10, {.aux1 = 1});
  EXPECT_EQ(LedgersOf(log).at(0).last->sample.others_bytes, 0u);
}

TEST(LedgerTest, FailedAllocationIsASample) {
  LogBuilder log;
  log.Device(0, kTotal);
  log.Alloc(Layer::kLinear, 0x1000, 3000);
  log.AllocFailed(Layer::kLinear, 1 << 30, {.aux0 = kTotal - 4000, .aux1 = kTotal, .result = 2});
  // A failure of host memory belongs to no device, and a framework's figures have another meaning.
  log.AllocFailed(Layer::kPinned, 1 << 30, {.aux0 = 1, .aux1 = kTotal, .result = 2});
  log.AllocFailed(Layer::kBlock, 1 << 30, {.aux0 = 1, .aux1 = kTotal, .result = 2});
  const DeviceLedger ledger = LedgersOf(log).at(0);
  EXPECT_EQ(ledger.samples, 1u);
  ASSERT_TRUE(ledger.last);
  EXPECT_EQ(ledger.last->untracked_bytes, 1000u);
}

// Memory of others at a failed allocation, if a query at another time, or none, found `others` + 1.
std::optional<std::uint64_t> OthersAtFailure(TimeNs answer_at, TimeNs failure_at) {
  LogBuilder log;
  log.Device(0, kTotal);
  const auto answer = [&] {
    log.SetTime(answer_at);
    Sample(log, 10, {.aux1 = 501});
  };
  if (answer_at < failure_at) answer();
  log.SetTime(failure_at);
  log.AllocFailed(Layer::kLinear, 1 << 30, {.aux0 = 0, .aux1 = kTotal, .result = 2});
  if (answer_at >= failure_at) answer();
  return LedgersOf(log).at(0).highest->sample.others_bytes;
}

TEST(LedgerTest, FailedAllocationTakesTheOthersOfASampleCloseBy) {
  constexpr TimeNs kSecond = 1'000'000'000;
  EXPECT_EQ(OthersAtFailure(5000, 5000 + kSecond), 500u);
  EXPECT_EQ(OthersAtFailure(5000 + kSecond, 5000), 500u);
  EXPECT_EQ(OthersAtFailure(5000, 5001 + kSecond), std::nullopt);
  EXPECT_EQ(OthersAtFailure(5001 + kSecond, 5000), std::nullopt);
}

TEST(LedgerTest, WhatCannotBeIsNoSample) {
  LogBuilder log;
  log.Device(0, kTotal);
  log.Alloc(Layer::kLinear, 0x1000, 3000);
  Sample(log, kTotal + 1);                                       // more free than there is
  log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, 0, 0, {});  // a device without memory
  Sample(log, 10, {.device = kNoDevice});
  const DeviceLedger ledger = LedgersOf(log).at(0);
  EXPECT_EQ(ledger.samples, 0u);
  EXPECT_FALSE(ledger.last);
  EXPECT_FALSE(ledger.highest);
}

TEST(LedgerTest, HighestUseIsComputedBetweenSamples) {
  const auto highest_with = [](std::uint64_t outside_before, std::uint64_t outside_after) {
    LogBuilder log;
    log.Device(0, kTotal);
    log.SetTime(1000);
    Sample(log, kTotal);
    log.SetTime(5000);
    Sample(log, kTotal - outside_before);
    log.SetTime(10'000);
    log.Alloc(Layer::kLinear, 0x1000, 3000);
    log.Free(0x1000);
    Sample(log, kTotal - outside_after);
    log.SetTime(20'000);
    Sample(log, kTotal);
    const auto session = LoadLog(log);
    const DeviceFigures device = BuildReport(*session).devices.at(0);
    EXPECT_EQ(device.ledger.samples, 4u);
    ExpectCloses(*device.ledger.highest);
    EXPECT_EQ(device.ledger.highest->sample.time, 10'000u);
    EXPECT_EQ(Of(*device.ledger.highest, Layer::kLinear), 3000u);
    EXPECT_EQ(device.device_peak_bytes, device.ledger.highest->sample.used_bytes());
    return device.device_peak_bytes;
  };
  // Memory missing in one of the two neighbouring samples may have been allocated or freed in
  // between.
  EXPECT_EQ(highest_with(400, 400), 3400u);
  EXPECT_EQ(highest_with(400, 500), 3400u);
  EXPECT_EQ(highest_with(500, 400), 3400u);
}

TEST(LedgerTest, HighestUseIsNeverBelowThePeakNorAboveTheDevice) {
  LogBuilder log;
  log.Device(0, kTotal);
  Sample(log, kTotal - 90'000);
  log.Alloc(Layer::kLinear, 0x1000, 30'000);
  EXPECT_EQ(BuildReport(*LoadLog(log)).devices.at(0).device_peak_bytes, kTotal);
  log.Alloc(Layer::kManaged, 0x100000, 4 * kTotal);
  EXPECT_EQ(BuildReport(*LoadLog(log)).devices.at(0).device_peak_bytes, 4 * kTotal + 30'000);
}

TEST(LedgerTest, WithoutSamplesTheHighestUseIsWhatTheLogKnows) {
  LogBuilder log;
  log.Device(0, kTotal);
  log.Alloc(Layer::kStreamOrdered, 0x1000, 3000);
  log.Event(Op::kPoolSample, Layer::kStreamOrdered, 0, 7000, 0, {});
  EXPECT_EQ(BuildReport(*LoadLog(log)).devices.at(0).device_peak_bytes, 7000u);
}

TEST(LedgerTest, SmallAllocationsShareTheDriversPages) {
  constexpr std::uint64_t kPage = 2 << 20, kCapacity = 400 * kPage, kContext = 100 * kPage;
  const auto sample = [](LogBuilder& log, std::uint64_t pages) {
    log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, kCapacity - kContext - pages * kPage, 0,
              {.aux0 = kCapacity});
  };
  LogBuilder log;
  log.Device(0, kCapacity);
  log.Alloc(Layer::kLinear, 10 * kPage, 100);
  sample(log, 1);
  log.Alloc(Layer::kLinear, 10 * kPage + 512, 100);       // the same page
  log.Alloc(Layer::kLinear, 11 * kPage, 100);             // another
  log.Alloc(Layer::kPitched, 20 * kPage, 3 * kPage + 1);  // four
  log.Alloc(Layer::kArray, 0x77, kPage - 1);              // one
  log.Free(10 * kPage);                                   // its page is still in use
  const std::uint64_t most = 7;
  log.Free(Layer::kPitched, 20 * kPage);
  log.Free(11 * kPage);
  sample(log, 2);
  const DeviceFigures device = BuildReport(*LoadLog(log)).devices.at(0);
  EXPECT_EQ(device.device_peak_bytes, kContext + most * kPage);
  ExpectCloses(*device.ledger.highest);
}

TEST(LedgerTest, WithoutAllocationsTheHighestUseIsTheFullestSample) {
  LogBuilder log;
  log.Device(0, kTotal);
  for (const std::uint64_t used : {10u, 400u, 30u}) Sample(log, kTotal - used);
  const DeviceLedger ledger = LedgersOf(log).at(0);
  EXPECT_EQ(ledger.highest->sample.used_bytes(), 400u);
  EXPECT_EQ(ledger.last->sample.used_bytes(), 30u);
}

}  // namespace
}  // namespace memprof::analysis
