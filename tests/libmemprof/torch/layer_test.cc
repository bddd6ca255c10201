// What PyTorch's reports become, beside driver calls of a fake driver.
#include "libmemprof/src/torch/layer.h"

#include <limits>
#include <thread>

#include "tests/libmemprof/events/recorded_driver.h"

namespace memprof::recorder {
namespace {

using ::testing::ElementsAre;
using testing::Event;
using ::testing::IsEmpty;
using testing::Log;

constexpr std::uint64_t kMiB = 1 << 20;

// An event in few words.
struct Told {
  log::Op op;
  log::Layer layer;
  std::uint64_t address, bytes;
  bool operator==(const Told&) const = default;
};
void PrintTo(const Told& told, std::ostream* out) {
  *out << log::Op_Name(told.op) << ' ' << log::Layer_Name(told.layer) << ' ' << std::hex
       << told.address << ' ' << std::dec << told.bytes;
}

// PyTorch's side: an allocator with totals.
class TorchLayerTest : public HooksTest {
 protected:
  CUdeviceptr Memory(std::size_t bytes) {
    CUdeviceptr pointer = 0;
    EXPECT_EQ(Call("cuMemAlloc_v2", &pointer, bytes), CUDA_SUCCESS);
    return pointer;
  }
  // The driver memory of a new segment.
  CUdeviceptr Segment(std::size_t bytes) {
    reserved_ += bytes;
    return Memory(bytes);
  }
  void Report(std::uint64_t address, std::int64_t bytes, TorchDevice device = {kTorchCuda, 0}) {
    allocated_ += static_cast<std::uint64_t>(bytes);
    RecordTorchUsage({address, bytes, allocated_, reserved_, true}, device);
  }
  void Old(std::uint64_t address, std::int64_t bytes) {
    RecordTorchUsage({address, bytes, 0, 0, false}, {kTorchCuda, 0});
  }
  void OutOfMemory(std::int64_t asked) {
    RecordTorchOutOfMemory({0, asked, allocated_, reserved_, true}, {kTorchCuda, 0});
  }
  // One page of an expandable segment; what it holds is the allocator's from the next report on.
  Handle Map(CUdeviceptr at, std::size_t bytes) {
    const Handle handle = CreateMemory(bytes);
    Call("cuMemMap", at, bytes, std::size_t{0}, handle, 0ull);
    return handle;
  }
  void Unmap(CUdeviceptr at, std::size_t bytes, CUmemGenericAllocationHandle handle) {
    Call("cuMemUnmap", at, bytes);
    Call("cuMemRelease", handle);
  }
  // The framework's events of the log, and memory below them.
  static std::vector<Told> Events(const Log& log) {
    std::vector<Told> told;
    for (const Event& event : log.events)
      if (event.op == log::OP_ALLOC || event.op == log::OP_FREE)
        told.push_back({event.op, event.layer, event.address, event.bytes});
    return told;
  }
  static std::vector<Told> Framework(const Log& log) {
    std::vector<Told> told = Events(log);
    std::erase_if(told, [](const Told& t) { return t.layer < log::LAYER_SEGMENT; });
    return told;
  }
  static std::uint64_t Differences(const Log& log) {
    const auto found = log.counters.find("framework_totals_differ");
    return found == log.counters.end() ? 0 : found->second;
  }
  static Told Begun(log::Layer layer, std::uint64_t address, std::uint64_t bytes) {
    return {log::OP_ALLOC, layer, address, bytes};
  }
  static Told Ended(log::Layer layer, std::uint64_t address, std::uint64_t bytes) {
    return {log::OP_FREE, layer, address, bytes};
  }

  std::uint64_t allocated_ = 0, reserved_ = 0;
};

TEST_F(TorchLayerTest, ABlockMakesTheMemoryBelowItASegment) {
  Start();
  const CUdeviceptr other = Memory(5 * kMiB);  // of another library
  const CUdeviceptr base = Segment(2 * kMiB);
  Report(base, 512);
  Report(base + 512, 1024);
  Report(base, -512);
  Report(base + 512, -1024);
  Call("cuMemFree_v2", base);
  Call("cuMemFree_v2", other);
  const Log log = Finish();
  EXPECT_THAT(
      Events(log),
      ElementsAre(
          Begun(log::LAYER_LINEAR, other, 5 * kMiB), Begun(log::LAYER_LINEAR, base, 2 * kMiB),
          Begun(log::LAYER_SEGMENT, base, 2 * kMiB), Begun(log::LAYER_BLOCK, base, 512),
          Begun(log::LAYER_BLOCK, base + 512, 1024), Ended(log::LAYER_BLOCK, base, 512),
          Ended(log::LAYER_BLOCK, base + 512, 1024), Ended(log::LAYER_SEGMENT, base, 2 * kMiB),
          Ended(log::LAYER_LINEAR, base, 0), Ended(log::LAYER_LINEAR, other, 0)));
  EXPECT_EQ(Differences(log), 0u);
}

TEST_F(TorchLayerTest, ASegmentHasTimeStackAndNameOfTheCallThatMadeIt) {
  Start();
  driver_.free_bytes = 0;
  const CUdeviceptr base = Segment(2 * kMiB);
  Report(base, 512);
  const Log log = Finish();
  const std::vector<Event> begun = log.WithOp(log::OP_ALLOC);
  ASSERT_EQ(begun.size(), 3u);
  EXPECT_EQ(begun[1].layer, log::LAYER_SEGMENT);
  EXPECT_EQ(begun[1].stack != 0, kTestStacks);
  EXPECT_EQ(begun[2].stack != 0, kTestStacks);
  EXPECT_EQ(begun[1].stack, begun[0].stack);
  EXPECT_EQ(begun[1].api, begun[0].api);
  EXPECT_GE(begun[1].time_ns, begun[0].time_ns);
  EXPECT_LE(begun[1].time_ns, begun[2].time_ns);
  EXPECT_EQ(begun[1].device, 0);
  EXPECT_EQ(begun[2].device, 0);
  EXPECT_EQ(begun[2].aux0, 0u) << "what was asked for is not known";
}

TEST_F(TorchLayerTest, PagesOfAnExpandableSegmentAreSegments) {
  Start();
  constexpr CUdeviceptr kBase = 0x7e0000000000;
  std::vector<CUmemGenericAllocationHandle> handles;
  for (int i = 0; i < 3; ++i) handles.push_back(Map(kBase + i * 2 * kMiB, 2 * kMiB));
  reserved_ = 4 * kMiB;
  Report(kBase,
         static_cast<std::int64_t>(3 * kMiB));  // two pages of the three: the third is not its
  EXPECT_EQ(Framework(testing::ReadLog((memprof_flush(), path_))).size(), 3u);
  reserved_ = 6 * kMiB;
  Report(kBase + 4 * kMiB, 512);
  Report(kBase + 4 * kMiB, -512);
  Unmap(kBase + 4 * kMiB, 2 * kMiB, handles[2]);
  reserved_ = 4 * kMiB;
  Report(kBase, -static_cast<std::int64_t>(3 * kMiB));
  Unmap(kBase, 4 * kMiB, handles[0]);
  const Log log = Finish();
  std::uint64_t live = 0, most = 0;
  for (const Told& told : Framework(log)) {
    if (told.layer != log::LAYER_SEGMENT) continue;
    live += told.op == log::OP_ALLOC ? told.bytes : 0 - told.bytes;
    most = std::max(most, live);
  }
  EXPECT_EQ(most, 6 * kMiB);
  EXPECT_EQ(live, 0u);
  EXPECT_EQ(Differences(log), 0u);
}

TEST_F(TorchLayerTest, PagesMappedInVainStayWithTheAllocator) {
  Start();
  constexpr CUdeviceptr kBase = 0x7e0000000000;
  Map(0x7d0000000000, 64 * kMiB);  // somebody else's
  Map(kBase, 2 * kMiB);
  Map(kBase + 2 * kMiB, 2 * kMiB);
  reserved_ = 4 * kMiB;  // mapped for a block that then did not fit
  OutOfMemory(1 << 30);
  Report(kBase, 512);
  const Log log = Finish();
  EXPECT_THAT(Framework(log),
              ::testing::UnorderedElementsAre(Begun(log::LAYER_SEGMENT, kBase, 2 * kMiB),
                                              Begun(log::LAYER_SEGMENT, kBase + 2 * kMiB, 2 * kMiB),
                                              Begun(log::LAYER_BLOCK, kBase, 512)));
  const std::vector<Event> failed = log.WithOp(log::OP_FRAMEWORK_OOM);
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed[0].bytes, 1u << 30);
  EXPECT_EQ(failed[0].aux0, 0u);
  EXPECT_EQ(failed[0].aux1, 4 * kMiB);
  EXPECT_EQ(failed[0].device, 0);
  EXPECT_EQ(Differences(log), 0u);
}

TEST_F(TorchLayerTest, OldVersionsTellNoTotalsAndTheirSegmentsAreFoundAllTheSame) {
  Start();
  const CUdeviceptr first = Memory(2 * kMiB);
  Old(first, 512);
  const CUdeviceptr second = Memory(20 * kMiB);
  Old(second, 1024);
  Old(first + 512, 512);
  Old(second, -1024);
  Call("cuMemFree_v2", second);
  const Log log = Finish();
  EXPECT_THAT(
      Framework(log),
      ElementsAre(Begun(log::LAYER_SEGMENT, first, 2 * kMiB), Begun(log::LAYER_BLOCK, first, 512),
                  Begun(log::LAYER_SEGMENT, second, 20 * kMiB),
                  Begun(log::LAYER_BLOCK, second, 1024), Begun(log::LAYER_BLOCK, first + 512, 512),
                  Ended(log::LAYER_BLOCK, second, 1024),
                  Ended(log::LAYER_SEGMENT, second, 20 * kMiB)));
  EXPECT_EQ(Differences(log), 0u);
}

TEST_F(TorchLayerTest, APoolThatUsesAPartOfItsMemoryHasASegmentOfThatPart) {
  Start();
  const CUdeviceptr base = Memory(32 * kMiB);
  reserved_ = 20 * kMiB;
  Report(base, static_cast<std::int64_t>(20 * kMiB));
  const Log log = Finish();
  EXPECT_THAT(Framework(log), ElementsAre(Begun(log::LAYER_SEGMENT, base, 20 * kMiB),
                                          Begun(log::LAYER_BLOCK, base, 20 * kMiB)));
  EXPECT_EQ(Differences(log), 0u);
}

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
  EXPECT_EQ(Differences(log), 1u) << "of both totals, and only at the first report";
  const std::vector<Told> told = Framework(log);
  EXPECT_THAT(told, ::testing::Contains(Begun(log::LAYER_SEGMENT, again, 4 * kMiB)));
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

TEST_F(TorchLayerTest, ASegmentThatCannotBeFreedLivesOn) {
  Start();
  const CUdeviceptr base = Segment(2 * kMiB);
  Report(base, 512);
  Report(base, -512);
  Answer(CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Call("cuMemFree_v2", base), CUDA_ERROR_INVALID_VALUE);
  Answer(CUDA_SUCCESS);
  Report(base, 512);
  const Log log = Finish();
  EXPECT_THAT(
      Framework(log),
      ElementsAre(Begun(log::LAYER_SEGMENT, base, 2 * kMiB), Begun(log::LAYER_BLOCK, base, 512),
                  Ended(log::LAYER_BLOCK, base, 512), Ended(log::LAYER_SEGMENT, base, 2 * kMiB),
                  Begun(log::LAYER_SEGMENT, base, 2 * kMiB), Begun(log::LAYER_BLOCK, base, 512)));
  EXPECT_EQ(Differences(log), 0u);
}

TEST_F(TorchLayerTest, AResetDeviceBeginsAnew) {
  Start();
  const CUdeviceptr base = Segment(2 * kMiB);
  Report(base, 512);
  Call("cuDevicePrimaryCtxReset_v2", 0);
  allocated_ = reserved_ = 0;
  const CUdeviceptr fresh = Segment(4 * kMiB);
  Report(fresh, 1024);
  const Log log = Finish();
  EXPECT_EQ(Differences(log), 0u);
  EXPECT_EQ(Framework(log).back(), Begun(log::LAYER_BLOCK, fresh, 1024));
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
  Report(base + 4096, -1 << 20);  // never handed out
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
  TheTorchLayer()->TellSource(true, true, true);
  EXPECT_THAT(TorchStates(Finish()), ElementsAre("on caching"));
}

TEST_F(TorchLayerTest, WithoutBlocksTensorsAreAllocationsOfTheDriver) {
  Start();
  TorchLayer* torch = TheTorchLayer();
  torch->TellSource(true, false, false);  // loaded
  torch->TellSource(true, true, false);   // an allocation; the first block may be about to come
  EXPECT_THAT(TorchStates(testing::ReadLog((memprof_flush(), path_))), IsEmpty());
  for (int i = 0; i < 5; ++i) torch->TellSource(true, true, false);
  torch->TellSource(true, true, true);
  EXPECT_THAT(TorchStates(Finish()), ElementsAre("on direct"));
}

TEST_F(TorchLayerTest, LoadedAndNeverUsedIsSaidAtTheEnd) {
  Start();
  TorchLayer* torch = TheTorchLayer();
  torch->TellSource(false, false, true);
  torch->TellSource(true, false, true);
  torch->TellSource(true, false, true);
  EXPECT_THAT(TorchStates(Finish()), ElementsAre("off not seen"));
}

}  // namespace
}  // namespace memprof::recorder
