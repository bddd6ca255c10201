// Several logs in one session, against the same logs one by one.
#include "analysis/load/internal/merge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "analysis/leaks/clock.h"
#include "analysis/load/load.h"
#include "analysis/peak/peak.h"
#include "analysis/peak/sites.h"
#include "tests/analysis/load/merge_fixture.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::Files;
using testing::LogBuilder;
using testing::RandomLog;
using testing::Sessions;
using testing::SetRun;

constexpr std::uint64_t kOwn = (std::uint64_t{1} << kProcessShift) - 1;

// Three processes on two devices of one host, whose allocators use the same addresses.
void WriteRandom(Files& files, std::uint32_t seed) {
  for (std::uint32_t p = 0; p < 3; ++p) {
    RandomLog log({.seed = seed * 10 + p, .operations = 300});
    SetRun(log.builder(), "node", 100 + p, 0);
    const std::string own = "of process " + std::to_string(p);
    for (auto& text : *log.builder().definitions().mutable_string())
      text.set_value(text.value() + own);
    log.builder().RangePush("range " + own);
    log.builder().Alloc(Layer::kStreamOrdered, 0x55000, 512,
                        {.stream = 9, .aux0 = 0xb00, .api = own});
    log.builder().RangePop();
    files.Add(log.builder());
  }
}

std::string StackText(const Session& session, StackId stack) {
  std::string text;
  for (const FrameId id : session.StackFrames(stack)) {
    const Frame& frame = session.frame(id);
    text += std::string(session.string(frame.function)) + ":" + std::to_string(frame.line) + ";";
  }
  return text;
}

// All fields of an allocation except rows, which differ.
std::string Describe(const Session& session, const Allocation& a) {
  const TensorInfo* tensor = session.tensor(a.tensor);
  std::string text;
  for (const std::uint64_t number :
       {std::uint64_t(a.layer), std::uint64_t(a.end_reason), std::uint64_t(a.device), a.birth_time,
        a.death_time, a.address & kOwn, a.bytes, a.requested, a.stream & kOwn, a.pool & kOwn})
    text += std::to_string(number) + " ";
  if (a.parent.valid()) text += std::to_string(session.allocation(a.parent).address & kOwn);
  return text + (tensor == nullptr ? "" : tensor->name) + " " + StackText(session, a.stack);
}

// The same for an event.
std::string Describe(const Session& session, const Event& e) {
  std::string text;
  for (const std::uint64_t number :
       {std::uint64_t(e.op), std::uint64_t(e.layer), std::uint64_t(e.device), e.time,
        e.address & kOwn, e.bytes, e.stream & kOwn, e.aux0 & kOwn, e.aux1 & kOwn})
    text += std::to_string(number) + " ";
  const TensorInfo* tensor = session.tensor(TensorId(e.label));
  if (e.layer == Layer::kTensor)
    text += tensor == nullptr ? "" : tensor->name;
  else
    text += session.string(StringId(e.label));
  return text + " " + std::string(session.string(e.api)) + " " + StackText(session, e.stack) +
         std::to_string(session.threads()[e.thread].tid);
}

TEST(SessionMergeTest, EachProcessIsAsItIsAlone) {
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    Files files;
    WriteRandom(files, seed);
    const auto together = files.Together();
    ASSERT_NE(together, nullptr);
    const Sessions alone = files.Alone();
    std::vector<std::vector<std::string>> expected(alone.size()), got(alone.size());
    std::size_t events = 0;
    for (std::size_t p = 0; p < alone.size(); ++p) {
      events += alone[p]->events().size();
      for (std::size_t e = 0; e < alone[p]->events().size(); ++e)
        expected[p].push_back(Describe(*alone[p], alone[p]->events()[e]));
      for (const Allocation& a : alone[p]->allocations())
        expected[p].push_back(Describe(*alone[p], a));
    }
    for (std::uint32_t e = 0; e < together->events().size(); ++e)
      got[together->ProcessOf(EventId(e))].push_back(Describe(*together, together->events()[e]));
    for (const Allocation& a : together->allocations()) {
      const std::uint32_t process = together->ProcessOf(a.birth);
      ASSERT_LT(process, alone.size());
      EXPECT_EQ(a.address >> kProcessShift, process);
      got[process].push_back(Describe(*together, a));
    }
    EXPECT_EQ(got, expected);
    EXPECT_EQ(together->events().size(), events);
    ASSERT_EQ(together->processes().size(), 3u);
    EXPECT_EQ(together->processes()[2].run.pid, 102u);
    for (std::size_t i = 1; i < events; ++i)
      ASSERT_LE(together->events().time(i - 1), together->events().time(i));
  }
}

TEST(SessionMergeTest, LiveSetsAndPeaksAreSumsOverProcesses) {
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    Files files;
    WriteRandom(files, seed);
    const auto together = files.Together();
    ASSERT_NE(together, nullptr);
    const Sessions alone = files.Alone();
    std::map<int, std::uint64_t> peaks;
    for (std::size_t i = 0; i < together->events().size(); ++i) {
      const TimeNs time = together->events().time(i);
      std::map<int, std::uint64_t> expected, got;
      for (const AllocationId id :
           together->LiveAfter(EventId(static_cast<std::uint32_t>(i)), kDeviceLayers))
        got[together->record(id).device] += together->record(id).bytes;
      for (const auto& [device, bytes] : got) peaks[device] = std::max(peaks[device], bytes);
      if (i + 1 < together->events().size() && together->events().time(i + 1) == time) continue;
      for (const auto& session : alone)
        for (const AllocationId id : session->LiveAt(time, kDeviceLayers))
          expected[session->record(id).device] += session->record(id).bytes;
      ASSERT_EQ(got, expected) << i;
    }
    for (const Peak& peak : FindPeaks(*together)) EXPECT_EQ(peak.bytes, peaks[peak.device]);
  }
}

TEST(SessionMergeTest, SitesOfTheSameCodeAreOne) {
  Files files;
  for (std::uint32_t p = 0; p < 2; ++p) {
    LogBuilder log;
    SetRun(log, "node", 100 + p, 0);
    if (p == 1) log.Stack({"main (other.cc:1)"});  // so that ids differ
    log.Alloc(Layer::kLinear, 0x1000, 4096,
              {.stack = log.Stack({"main (a.cc:1)", "Train (a.cc:9)"})});
    files.Add(log);
  }
  const auto session = files.Together();
  ASSERT_NE(session, nullptr);
  const std::vector<Site> sites = FindSites(*session, {.metric = Metric::kAllocatedBytes});
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_EQ(sites[0].bytes, 8192u);
}

// A module of 4096 bytes loaded at `bias`, and an allocation by code at offset 0x10.
void WriteModule(Files& files, std::uint32_t pid, std::uint64_t bias, const std::string& build_id) {
  LogBuilder log;
  SetRun(log, "node", pid, 0);
  auto* module = log.definitions().add_module();
  module->set_id(1);
  module->set_path("/bin/train");
  module->set_build_id(build_id);
  module->set_load_bias(bias);
  module->set_first_address(bias);
  module->set_end_address(bias + 4096);
  auto* trie = log.definitions().mutable_trie();
  trie->set_first_id(1);
  trie->add_parent(0);
  trie->add_address_delta(static_cast<std::int64_t>(bias + 0x10));
  trie->add_module(1);
  trie->add_kind(0);
  log.Alloc(Layer::kLinear, 0x1000, 4096, {.stack = 1});
  files.Add(log);
}

TEST(SessionMergeTest, CodeIsOneWhereverItWasLoaded) {
  Files files;
  WriteModule(files, 1, 0x550000000000, "one");
  WriteModule(files, 2, 0x560000000000, "one");
  WriteModule(files, 3, 0x560000000000, "two");
  const auto session = files.Together();
  ASSERT_NE(session, nullptr);
  ASSERT_EQ(session->modules().size(), 2u);
  const auto frame = [&](std::uint32_t row) {
    return session->frame(session->StackFrame(session->record(AllocationId(row)).stack));
  };
  EXPECT_EQ(session->record(AllocationId(0)).stack, session->record(AllocationId(1)).stack);
  EXPECT_NE(session->record(AllocationId(0)).stack, session->record(AllocationId(2)).stack);
  EXPECT_EQ(frame(1).address, 0x550000000010u);
  EXPECT_EQ(frame(2).address, 0x560000000010u);
}

TEST(SessionMergeTest, RefusesWhatIsNoJob) {
  Files files;
  LogBuilder log;
  SetRun(log, "node", 5, 7);
  log.Alloc(Layer::kLinear, 0x1000, 1);
  files.Add(log);
  files.Add(log);
  const auto twice = LoadLogs(files.paths());
  EXPECT_EQ(twice.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(twice.status().message().find("is the same run as"), absl::string_view::npos);
  EXPECT_FALSE(LoadLogs({}).ok());
  EXPECT_FALSE(LoadLogs(std::vector<std::string>(256, files.paths()[0])).ok());
  const auto missing = LoadLogs({files.paths()[0], "/nonexistent.mprof"});
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  const auto one = LoadLogs({files.paths()[0]}, {.find_steps = false});
  ASSERT_TRUE(one.ok());
  EXPECT_EQ((*one)->allocations()[0].address, 0x1000u);
  EXPECT_EQ((*one)->processes().size(), 1u);
}

TEST(RankOfTest, IsWhatTheLauncherSaid) {
  RunInfo run;
  EXPECT_EQ(RankOf(run), -1);
  run.environment = {"PATH=/bin", "SLURM_PROCID=4"};
  EXPECT_EQ(RankOf(run), 4);
  run.environment.push_back("RANK=7");
  EXPECT_EQ(RankOf(run), 7);
  run.environment = {"RANK=seven", "RANK=", "RANK=-1", "RANKS=2"};
  EXPECT_EQ(RankOf(run), -1);
}

}  // namespace
}  // namespace memprof::analysis
