// Devices and addresses of several processes in one session.
#include <gtest/gtest.h>

#include "analysis/leaks/leaks.h"
#include "analysis/peak/peak.h"
#include "analysis/timeline/device_rest.h"
#include "analysis/timeline/ledger.h"
#include "analysis/timeline/timeline.h"
#include "tests/analysis/load/merge_fixture.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::Files;
using testing::LogBuilder;
using testing::SetRun;

// One log for each pair of ordinal and UUID, in which its device has an allocation.
std::vector<int> DevicesOf(
    const std::vector<std::tuple<std::string, int, std::string>>& processes) {
  Files files;
  std::uint32_t pid = 0;
  for (const auto& [host, ordinal, uuid] : processes) {
    LogBuilder log;
    SetRun(log, host, ++pid, 0);
    log.Device(ordinal, 1 << 30);
    if (!uuid.empty()) log.definitions().mutable_device(0)->set_uuid(uuid);
    log.Alloc(Layer::kLinear, 0x1000, pid, {.device = ordinal});
    files.Add(log);
  }
  const auto session = files.Together();
  std::vector<int> devices(processes.size(), -2);
  if (session == nullptr) return devices;
  for (const Allocation& a : session->allocations()) devices[a.bytes - 1] = a.device;
  EXPECT_EQ(session->devices().size(), std::set<int>(devices.begin(), devices.end()).size());
  return devices;
}

TEST(SessionMergeTest, DevicesAreTheSameByUuidOnOneHost) {
  // CUDA_VISIBLE_DEVICES gives each rank its own device 0.
  EXPECT_EQ(DevicesOf({{"a", 0, "first"}, {"a", 0, "second"}, {"a", 1, "first"}}),
            (std::vector<int>{0, 1, 0}));
  EXPECT_EQ(DevicesOf({{"a", 0, ""}, {"a", 0, ""}, {"b", 0, ""}}), (std::vector<int>{0, 0, 1}));
  EXPECT_EQ(DevicesOf({{"a", 3, "x"}, {"b", 3, "x"}}), (std::vector<int>{3, 0}));
  // A process that only touched a device knows only its ordinal.
  EXPECT_EQ(DevicesOf({{"a", 0, ""}, {"a", 0, "first"}, {"a", 1, "second"}}),
            (std::vector<int>{0, 0, 1}));
  EXPECT_EQ(DevicesOf({{"a", 0, "first"}, {"a", 1, ""}}), (std::vector<int>{0, 1}));
}

TEST(SessionMergeTest, SharedMemoryIsCountedWhereItWasMade) {
  Files files;
  LogBuilder owner, user;
  SetRun(owner, "node", 1, 0);
  SetRun(user, "node", 2, 0);
  owner.Alloc(Layer::kLinear, 0x7000, 4096);
  user.SetTime(100'000);
  user.Alloc(Layer::kImported, 0x9000, 4096,
             {.aux1 = static_cast<std::uint64_t>(ImportKind::kIpc)});
  files.Add(owner);
  files.Add(user);
  const auto session = files.Together();
  ASSERT_NE(session, nullptr);
  const std::vector<Peak> peaks = FindPeaks(*session);
  ASSERT_EQ(peaks.size(), 1u);
  EXPECT_EQ(peaks[0].bytes, 4096u);
}

// Each process has a handle 0x10 that it released while its memory is mapped at 0xa000.
TEST(SessionMergeTest, HandlesAndAddressesOfProcessesStayApart) {
  Files files;
  for (std::uint32_t p = 0; p < 2; ++p) {
    LogBuilder log;
    SetRun(log, "node", 100 + p, 0);
    log.AdvanceTime(p);
    const std::uint64_t bytes = p == 0 ? 4096 : 8192;
    log.Alloc(Layer::kVmmPhysical, 0x10, bytes);
    log.Event(Op::kMap, Layer::kVmmAddress, 0xa000, bytes, 0, {.aux0 = 0x10});
    log.Free(Layer::kVmmPhysical, 0x10);
    if (p == 0) log.Event(Op::kUnmap, Layer::kVmmAddress, 0xa000, bytes, 0);
    files.Add(log);
  }
  const auto session = files.Together();
  ASSERT_NE(session, nullptr);
  const std::vector<DeviceTimeline> timelines = BuildTimelines(*session);
  EXPECT_EQ(timelines[0].reserved.At(session->run().end_time), 8192u);
}

// Two processes with `bytes` each, on a device of 100,000 of which 40,000 are free. A sample of
// each `samples` says that `others` belong to other processes.
std::shared_ptr<const Session> TwoProcesses(std::uint64_t bytes, std::uint64_t others,
                                            std::vector<bool> samples) {
  Files files;
  for (std::uint32_t p = 0; p < 2; ++p) {
    LogBuilder log;
    SetRun(log, "node", 100 + p, 0);
    log.Device(0, 100'000);
    log.Alloc(Layer::kLinear, 0x1000, bytes);
    log.SetTime(50'000 + p);
    if (samples[p])
      log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, 40'000, 0,
                {.aux0 = 100'000, .aux1 = others + 1});
    log.SetTime(60'000);
    log.Event(Op::kSync, Layer::kUnspecified, 0, 0, 0);
    files.Add(log);
  }
  return files.Together();
}

std::optional<LedgerEntry> LastEntry(const Session& session) {
  const MemorySamples samples(session);
  const std::vector<DeviceTimeline> timelines = BuildTimelines(session);
  return BuildLedger(session, samples.Of(0), timelines[0], {}).last;
}

TEST(SessionMergeTest, TheLedgerTakesWhatItKnowsOffOtherProcesses) {
  const auto session = TwoProcesses(10'000, 30'000, {false, true});
  ASSERT_NE(session, nullptr);
  const auto last = LastEntry(*session);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->sample.others_bytes, 20'000u);
  EXPECT_EQ(last->known_bytes(), 40'000u);
  EXPECT_EQ(last->untracked_bytes, 20'000u);
}

// Each has a context of 20,000 bytes, too, and 10,000 belong to a process that is not recorded.
TEST(SessionMergeTest, ContextsOfRecordedProcessesAreNoOtherProcesses) {
  const auto session = TwoProcesses(5'000, 35'000, {true, true});
  ASSERT_NE(session, nullptr);
  const auto last = LastEntry(*session);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->sample.others_bytes, 10'000u);
  EXPECT_EQ(last->untracked_bytes, 40'000u);
  EXPECT_EQ(RestsOf(*session)->at(0).changes.back().others, 10'000u);
  EXPECT_EQ(RestsOf(*session)->at(0).changes.back().untracked, 40'000u);
}

}  // namespace
}  // namespace memprof::analysis
