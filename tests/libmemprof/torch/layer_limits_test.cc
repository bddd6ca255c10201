// Reports of PyTorch that are late, wrong, of other devices, or missing.
#include <limits>
#include <thread>

#include "libmemprof/src/torch/layer.h"
#include "tests/libmemprof/events/recorded_driver.h"
#include "tests/libmemprof/torch/layer_fixture.h"

namespace memprof::recorder {
namespace {

using ::testing::ElementsAre;
using testing::Event;
using ::testing::IsEmpty;
using testing::Log;

TEST_F(TorchLayerTest, MemoryFromBeforeTheRecordingIsCountedOnceAndFoundWhenItIsUsed) {
  Start();
  memprof_stop();
  const CUdeviceptr early = Segment(8 * kMiB);
  Report(early, 4096);
  const CUdeviceptr other = Segment(8 * kMiB);
  memprof_start();
  driver_.range_bytes = 8 * kMiB;
  Report(early + 4096, 512);
  Report(early, -4096);
  Report(other, 512);
  const CUdeviceptr late = Segment(2 * kMiB);
  Report(late, 512);
  const Log log = Finish();
  EXPECT_THAT(
      Framework(log),
      ElementsAre(Begun(log::LAYER_SEGMENT, early + 4096, 8 * kMiB),
                  Begun(log::LAYER_BLOCK, early + 4096, 512), Ended(log::LAYER_BLOCK, early, 4096),
                  Begun(log::LAYER_SEGMENT, other, 8 * kMiB), Begun(log::LAYER_BLOCK, other, 512),
                  Begun(log::LAYER_SEGMENT, late, 2 * kMiB), Begun(log::LAYER_BLOCK, late, 512)));
  EXPECT_EQ(Differences(log), 1u);
}

TEST_F(TorchLayerTest, WhatHappensDuringAPauseIsADifferenceAndNothingMore) {
  Start();
  const CUdeviceptr base = Segment(2 * kMiB);
  Report(base, 512);
  memprof_stop();
  Report(base, -512);
  Call("cuMemFree_v2", base);
  reserved_ = 0;
  memprof_start();
  driver_.next = base;  // the same address again
  const CUdeviceptr again = Segment(4 * kMiB);
  ASSERT_EQ(again, base);
  Report(again, 1024);
  Report(again, -1024);
  const Log log = Finish();
  EXPECT_EQ(Differences(log), 1u) << "in both totals, and only at the first report";
  const std::vector<ShortEvent> events = Framework(log);
  EXPECT_THAT(events, ::testing::Contains(Begun(log::LAYER_SEGMENT, again, 4 * kMiB)));
}

TEST_F(TorchLayerTest, EveryWrongTotalIsCounted) {
  Start();
  const CUdeviceptr base = Segment(2 * kMiB);
  Report(base, 512);
  allocated_ += 100;
  Report(base + 512, 512);
  reserved_ += 100;
  Report(base + 1024, 512);
  Report(base + 1536, 512);
  allocated_ -= 100;
  OutOfMemory(5);
  reserved_ -= 100;
  Report(base + 2048, 512);
  Report(base + 2560, 512);
  const Log log = Finish();
  EXPECT_EQ(Differences(log), 4u);
}

TEST_F(TorchLayerTest, OtherDevicesThanCudaOnesAndNonsenseAreLeftOut) {
  Start();
  Report(0x1000, 512, {0, -1});  // the host
  Report(0x1000, 512, {12, 0});
  Report(0, 512);
  Report(0x1000, 0);
  Report(0x1000, 512, {kTorchCuda, 64});
  Report(0x1000, 512, {kTorchCuda, 127});
  EXPECT_THAT(Framework(Finish()), IsEmpty());
}

TEST_F(TorchLayerTest, ADeviceWithoutNumberIsTheCurrentOne) {
  Start();
  driver_.current = driver_.primary[1];
  driver_.device = 1;
  const CUdeviceptr base = Segment(2 * kMiB);
  Report(base, 512, {kTorchCuda, -1});
  const Log log = Finish();
  for (const Event& event : log.WithOp(log::OP_ALLOC)) EXPECT_EQ(event.device, 1);
  EXPECT_EQ(log.WithOp(log::OP_ALLOC).size(), 3u);
}

TEST_F(TorchLayerTest, HostileNumbersHarmNothing) {
  Start();
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  for (const std::uint64_t address : {std::uint64_t{1}, ~std::uint64_t{0}, std::uint64_t{1} << 63})
    for (const std::int64_t bytes : {kMin, kMax, std::int64_t{-1}, std::int64_t{1}})
      for (const std::uint64_t total : {std::uint64_t{0}, ~std::uint64_t{0}}) {
        RecordTorchUsage({address, bytes, total, ~total, true}, {kTorchCuda, 0});
        RecordTorchOutOfMemory({0, bytes, total, ~total, true}, {kTorchCuda, 0});
      }
  const CUdeviceptr base = Segment(2 * kMiB);
  Report(base, 512);
  Report(base, 512);              // twice
  Report(base + 4096, -1 << 20);  // never allocated
  const Log log = Finish();
  EXPECT_EQ(log.error, "");
  EXPECT_EQ(Framework(log).back(), Ended(log::LAYER_BLOCK, base + 4096, 1 << 20));
  EXPECT_GT(Differences(log), 20u);
}

TEST_F(TorchLayerTest, NothingIsRecordedWithoutRecording) {
  Report(0x1000, 512);
  OutOfMemory(5);
  Start();
  memprof_stop();
  Report(0x2000, 512);
  OutOfMemory(6);
  const Log log = Finish();
  EXPECT_THAT(Framework(log), IsEmpty());
  EXPECT_THAT(log.WithOp(log::OP_FRAMEWORK_OOM), IsEmpty());
  EXPECT_THAT(
      log.sources,
      ::testing::Not(::testing::Contains(::testing::Property(&log::Source::name, "torch"))));
}

TEST_F(TorchLayerTest, ThreadsOfSeveralDevicesDoNotMeet) {
  Start();
  constexpr int kRounds = 2000;
  std::vector<std::thread> threads;
  for (std::int8_t device = 0; device < 4; ++device)
    threads.emplace_back([device] {
      std::uint64_t allocated = 0;
      for (int i = 0; i < kRounds; ++i) {
        const std::uint64_t at = 0x10000u * (device + 1u) + (i % 8) * 512u;
        allocated += 512;
        RecordTorchUsage({at, 512, allocated, 0, true}, {kTorchCuda, device});
        allocated -= 512;
        RecordTorchUsage({at, -512, allocated, 0, true}, {kTorchCuda, device});
      }
    });
  for (std::thread& thread : threads) thread.join();
  const Log log = Finish();
  EXPECT_EQ(log.WithOp(log::OP_FREE).size(), 4u * kRounds);
  EXPECT_EQ(Differences(log), 0u);
}

std::vector<std::string> TorchStates(const Log& log) {
  std::vector<std::string> states;
  for (const log::Source& source : log.sources)
    if (source.name() == "torch")
      states.push_back((source.state() == log::SOURCE_ON ? "on " : "off ") +
                       source.detail().substr(0, source.detail().find(':')));
  return states;
}

TEST_F(TorchLayerTest, TheSourceIsTheCachingAllocatorFromItsFirstBlockOn) {
  Start();
  Old(Memory(kMiB), 512);
  Old(Memory(kMiB), 512);
  TheTorchLayer()->ReportSource(true, true, true);
  EXPECT_THAT(TorchStates(Finish()), ElementsAre("on caching"));
}

TEST_F(TorchLayerTest, WithoutBlocksTensorsAreAllocationsOfTheDriver) {
  Start();
  TorchLayer* torch = TheTorchLayer();
  torch->ReportSource(true, false, false);  // loaded
  torch->ReportSource(true, true, false);   // an allocation; its block may be reported soon
  EXPECT_THAT(TorchStates(testing::ReadLog((memprof_flush(), path_))), IsEmpty());
  for (int i = 0; i < 5; ++i) torch->ReportSource(true, true, false);
  torch->ReportSource(true, true, true);
  EXPECT_THAT(TorchStates(Finish()), ElementsAre("on direct"));
}

TEST_F(TorchLayerTest, LoadedAndNeverUsedIsSaidAtTheEnd) {
  Start();
  TorchLayer* torch = TheTorchLayer();
  torch->ReportSource(false, false, true);
  torch->ReportSource(true, false, true);
  torch->ReportSource(true, false, true);
  EXPECT_THAT(TorchStates(Finish()), ElementsAre("off not seen"));
}

}  // namespace
}  // namespace memprof::recorder
