// Several logs as one session, against the same logs one by one.
#include "analysis/load/internal/merge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "analysis/leaks/clock.h"
#include "analysis/leaks/leaks.h"
#include "analysis/load/internal/merge_steps.h"
#include "analysis/load/load.h"
#include "analysis/peak/peak.h"
#include "analysis/peak/sites.h"
#include "analysis/timeline/ledger.h"
#include "analysis/timeline/timeline.h"
#include "tests/support/random_log.h"
#include "tests/support/temp_file.h"

namespace memprof::analysis {
namespace {

using testing::LogBuilder;
using testing::RandomLog;
using testing::TempDirectory;
using Sessions = std::vector<std::shared_ptr<const Session>>;

constexpr std::uint64_t kOwn = (std::uint64_t{1} << kProcessShift) - 1;
constexpr std::uint64_t kSecond = 1'000'000'000;

// A log's run: the wall clock said 10^18 when the host's monotonic clock was zero.
void SetRun(LogBuilder& log, const std::string& host, std::uint32_t pid, std::uint64_t start,
            std::uint64_t zero = 1'000'000'000 * kSecond) {
  log.header().set_hostname(host);
  log.header().set_pid(pid);
  log.header().set_start_time_ns(start);
  log.header().set_start_unix_ns(zero + start);
}

class Files {
 public:
  std::string Add(const LogBuilder& log) {
    const std::string path =
        directory_.Write(std::to_string(paths_.size()) + ".mprof", log.Bytes());
    paths_.push_back(path);
    return path;
  }
  std::shared_ptr<const Session> Together() const {
    auto session = LoadLogs(paths_, {.find_steps = false});
    EXPECT_TRUE(session.ok()) << session.status();
    return session.ok() ? *session : nullptr;
  }
  Sessions Alone() const {
    Sessions sessions;
    for (const std::string& path : paths_)
      sessions.push_back(*LoadLogs({path}, {.find_steps = false}));
    return sessions;
  }
  const std::vector<std::string>& paths() const { return paths_; }

 private:
  TempDirectory directory_;
  std::vector<std::string> paths_;
};

// Three processes on two devices of one host, whose allocators hand out the same addresses.
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

// Everything that an allocation says of itself, but for rows, which differ.
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

// Likewise of an event.
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

// A module of 4096 bytes that is loaded at `bias`, and an allocation from 0x10 bytes into it.
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
  // A process that only touched a device knows nothing but its ordinal.
  EXPECT_EQ(DevicesOf({{"a", 0, ""}, {"a", 0, "first"}, {"a", 1, "second"}}),
            (std::vector<int>{0, 0, 1}));
  EXPECT_EQ(DevicesOf({{"a", 0, "first"}, {"a", 1, ""}}), (std::vector<int>{0, 1}));
}

TEST(SessionMergeTest, ClocksOfHostsAreAlignedByWallClock) {
  struct Case {
    std::string host;
    std::uint64_t zero, shift;
  };
  const std::uint64_t zero = 1'000'000'000 * kSecond;
  const std::vector<Case> cases = {{"early", zero, 0},
                                   {"early", zero + kSecond, 0},  // slewed
                                   {"other", zero + 2 * kSecond, 2 * kSecond},
                                   {"late", zero + 500 * kSecond, 500 * kSecond},  // booted later
                                   {"early", zero + 3600 * kSecond, 3600 * kSecond}};  // and again
  Files files;
  std::uint32_t pid = 0;
  for (const Case& c : cases) {
    LogBuilder log;
    SetRun(log, c.host, ++pid, 10 * kSecond, c.zero);
    log.SetTime(11 * kSecond);
    log.Alloc(Layer::kLinear, 0x1000, pid);
    files.Add(log);
  }
  const auto session = files.Together();
  ASSERT_NE(session, nullptr);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(session->processes()[i].clock_shift_ns, cases[i].shift) << i;
    const Allocation a = session->allocation(AllocationId(static_cast<std::uint32_t>(i)));
    EXPECT_EQ(a.bytes, i + 1);
    EXPECT_EQ(a.birth_time, 11 * kSecond + cases[i].shift);
  }
  EXPECT_EQ(session->run().start_time, 10 * kSecond);
  EXPECT_EQ(session->run().end_time, 3611 * kSecond + 1000);  // the trailer's
}

TEST(SessionMergeTest, StepsBeginWithTheFirstRankAndNoneBeginsTwice) {
  Files files;
  for (std::uint32_t p = 0; p < 2; ++p) {
    LogBuilder log;
    SetRun(log, "node", 100 + p, 0);
    for (std::uint64_t step = 0; step < 4; ++step) {
      log.SetTime(1000 + step * 1000 + (p == 1 ? 1200 : 0));  // lags behind by more than a step
      log.Step(step);
    }
    files.Add(log);
  }
  const auto session = files.Together();
  ASSERT_NE(session, nullptr);
  std::vector<std::pair<std::int64_t, TimeNs>> steps;
  for (const StepInfo& step : session->steps()) steps.emplace_back(step.number, step.begin);
  EXPECT_EQ(steps, (std::vector<std::pair<std::int64_t, TimeNs>>{
                       {0, 1000}, {1, 2000}, {2, 3000}, {3, 4000}}));
}

FoundSteps Found(std::vector<TimeNs> begins, double confidence) {
  FoundSteps found{.origin = {StepSource::kPattern, confidence, 1, "because"}};
  for (std::size_t i = 0; i < begins.size(); ++i)
    found.steps.push_back({static_cast<std::int64_t>(i), begins[i], 0,
                           EventId(static_cast<std::uint32_t>(begins[i] / 10))});
  return found;
}

TEST(SessionMergeTest, FoundStepsBeginWithTheFirstOfTheRanksThatAgree) {
  const std::vector<RunSpan> logs(4, RunSpan{0, 1000});
  const std::vector<std::uint32_t> runs(4, 0);
  const MergedSteps all = MergeSteps(
      {Found({100, 210, 290}, 0.9), {}, Found({110, 200, 300}, 0.85), Found({10, 20}, 1)}, logs,
      runs);
  const FoundSteps& merged = all.job;
  ASSERT_EQ(merged.steps.size(), 3u);
  const TimeNs begins[] = {100, 200, 290}, ends[] = {200, 290, 1000};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(merged.steps[i].number, static_cast<std::int64_t>(i));
    EXPECT_EQ(merged.steps[i].begin, begins[i]);
    EXPECT_EQ(merged.steps[i].end, ends[i]);
    EXPECT_EQ(merged.steps[i].event.value, begins[i] / 10);
  }
  EXPECT_EQ(merged.origin.confidence, 0.85);
  EXPECT_EQ(merged.origin.why, "In 2 of the 4 logs, each by itself: because");
  ASSERT_EQ(all.of_log.size(), 4u);
  EXPECT_EQ(all.of_log[0].steps[1].begin, 210u) << "its own";
  EXPECT_EQ(all.of_log[0].origin.why, "because");
  EXPECT_EQ(all.of_log[1].steps[1].begin, 200u) << "it has none, and goes by those of its run";
  EXPECT_EQ(all.of_log[3].steps.size(), 2u);
  const MergedSteps none = MergeSteps({{}, {}}, std::span(logs).first(2), std::span(runs).first(2));
  EXPECT_TRUE(none.job.steps.empty());
}

TEST(SessionMergeTest, LogsThatDoNotOverlapAreRunsOfTheirOwn) {
  const auto numbers = [](std::vector<RunSpan> logs) { return NumberRuns(logs); };
  EXPECT_EQ(numbers({{0, 10}, {5, 20}, {15, 30}}), (std::vector<std::uint32_t>{0, 0, 0}));
  EXPECT_EQ(numbers({{20, 30}, {0, 10}, {9, 12}}), (std::vector<std::uint32_t>{1, 0, 0}));
  EXPECT_EQ(numbers({{0, 100}, {5, 20}, {30, 40}}), (std::vector<std::uint32_t>{0, 0, 0}));
  EXPECT_EQ(numbers({{0, 1}, {2, 3}, {4, 5}}), (std::vector<std::uint32_t>{0, 1, 2}));
}

// Both marked steps 0 to 3, one run after the other: as alone.
TEST(SessionMergeTest, StepsOfTwoRunsAreThoseOfEach) {
  Files files;
  for (const std::uint64_t p : {1, 0}) {  // the later one is named first
    LogBuilder log;
    SetRun(log, "node", static_cast<std::uint32_t>(100 + p), 1000 + p * 100'000);
    log.SetTime(1000 + p * 100'000);
    log.Alloc(Layer::kLinear, 0x1000, 512);
    for (std::uint64_t step = 0; step < 4; ++step) {
      log.AdvanceTime(1000);
      log.Step(step);
      log.Alloc(Layer::kLinear, 0x10000 * (step + 1), 512 * (p + 1));
    }
    files.Add(log);
  }
  const auto session = files.Together();
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->processes()[0].run_number, 1u);
  EXPECT_EQ(session->processes()[1].run_number, 0u);
  const Sessions alone = files.Alone();
  for (std::uint32_t p = 0; p < 2; ++p) {
    const auto steps = session->StepsOf(p), own = alone[p]->steps();
    ASSERT_EQ(steps.size(), 4u);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(steps[i].number, own[i].number);
      EXPECT_EQ(steps[i].begin, own[i].begin);
      EXPECT_EQ(steps[i].end, own[i].end);
      EXPECT_EQ(session->StepAt(own[i].begin, p), own[i].number);
    }
    EXPECT_EQ(session->StepOriginOf(p).source, StepSource::kMarks);
  }
  std::vector<std::vector<std::int64_t>> births(2);
  for (const Allocation& a : session->allocations())
    births[session->ProcessOf(a.birth)].push_back(a.birth_step);
  EXPECT_EQ(births[0], (std::vector<std::int64_t>{-1, 0, 1, 2, 3}));
  EXPECT_EQ(births[1], (std::vector<std::int64_t>{-1, 0, 1, 2, 3}));
  EXPECT_EQ(session->steps().size(), 8u) << "one after the other";
}

// A run takes what it holds with it, to the next one and to nobody's leaks.
TEST(SessionMergeTest, WhatARunStillHeldIsGoneAsTheNextBegins) {
  Files files;
  constexpr std::uint64_t kKept = 1 << 20;
  for (std::uint64_t p = 0; p < 3; ++p) {  // the last two are ranks of one run
    LogBuilder log;
    log.Device(0, kSecond);
    SetRun(log, "node", static_cast<std::uint32_t>(100 + p), p == 0 ? 1000 : 10'000'000 + p);
    log.SetTime(p == 0 ? 1000 : 10'000'000 + p);
    const int stack = log.Stack({"main (train.cc:1)", "Keep (train.cc:2)"});
    for (std::uint64_t step = 0; step < 40; ++step) {
      log.AdvanceTime(1000);
      log.Step(step);
      log.Alloc(Layer::kLinear, 0x10000000 + kKept * step, kKept, {.stack = stack});
    }
    files.Add(log);
  }
  const auto session = files.Together();
  ASSERT_NE(session, nullptr);
  const std::vector<Peak> peaks = FindPeaks(*session);
  ASSERT_EQ(peaks.size(), 1u);
  EXPECT_EQ(peaks[0].bytes, 2 * 40 * kKept) << "of the two ranks, not of the run before";
  std::size_t ended = 0;
  for (const AllocationRecord& a : session->records()) {
    ended += !a.alive();
    EXPECT_EQ(a.alive(), session->ProcessOf(a.birth) != 0);
    EXPECT_TRUE(AliveAtExit(*session, a));
  }
  EXPECT_EQ(ended, 40u);
  const LeakReport together = FindLeaks(*session);
  ASSERT_EQ(together.leaks.size(), 3u) << "each process leaks as it does alone";
  for (const auto& alone : files.Alone()) {
    const LeakReport own = FindLeaks(*alone);
    ASSERT_EQ(own.leaks.size(), 1u);
    for (const Leak& leak : together.leaks) {
      EXPECT_EQ(leak.bytes, own.leaks[0].bytes);
      EXPECT_EQ(leak.why, own.leaks[0].why);
      EXPECT_EQ(leak.bytes_per_step, own.leaks[0].bytes_per_step);
    }
  }
}

// A rank is always half a step behind: what it makes is of its own steps.
TEST(SessionMergeTest, StepsOfARankThatLagsAreItsOwn) {
  Files files;
  for (std::uint64_t p = 0; p < 2; ++p) {
    LogBuilder log;
    SetRun(log, "node", static_cast<std::uint32_t>(100 + p), 1);
    for (std::uint64_t step = 0; step < 4; ++step) {
      log.SetTime(1000 + step * 1000 + p * 500);
      log.Step(step);
      log.AdvanceTime(600);
      log.Alloc(Layer::kLinear, 0x10000 * (step + 1), step + 1);
    }
    files.Add(log);
  }
  const auto session = files.Together();
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->steps().size(), 4u);
  for (const Allocation& a : session->allocations())
    EXPECT_EQ(a.birth_step, static_cast<std::int64_t>(a.bytes) - 1);
}

TEST(SessionMergeTest, StepsAreFoundInEachLog) {
  Files files;
  for (std::uint32_t p = 0; p < 2; ++p) {
    LogBuilder log;
    SetRun(log, "node", 100 + p, 0);
    for (std::uint64_t i = 0; i < 5; ++i) {
      log.SetTime(1000 + i * 1000 + p * 100);
      log.Alloc(Layer::kLinear, 0x1000 * (i + 1), 512);
    }
    files.Add(log);
  }
  std::size_t asked = 0;
  const auto finder = [&](const Session& session) {  // every event begins one
    FoundSteps found{.origin = {StepSource::kPattern, 1, 0, "so"}};
    asked += session.processes().size();
    for (std::uint32_t i = 0; i < session.events().size(); ++i)
      found.steps.push_back({i, session.events().time(i), 0, EventId(i)});
    return found;
  };
  std::vector<std::shared_ptr<const Session>> parts;
  for (const std::string& path : files.paths())
    parts.push_back(*LoadLogs({path}, {.find_steps = false}));
  const auto session = MergeSessions(parts, finder);
  EXPECT_EQ(asked, 2u) << "and not in all events together";
  ASSERT_EQ(session->steps().size(), 5u);
  EXPECT_EQ(session->step_origin().source, StepSource::kPattern);
  for (std::uint32_t i = 0; i < 5; ++i) {
    const StepInfo& step = session->steps()[i];
    EXPECT_EQ(step.begin, 1000u + i * 1000);
    EXPECT_EQ(session->events().time(step.event.value), step.begin);
    EXPECT_EQ(session->StepOf(EventId(2 * i + 1)), i) << "the other rank's event";
  }
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

// Both have a handle 0x10 that they released while it is mapped at 0xa000.
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

TEST(SessionMergeTest, TheLedgerTakesWhatItKnowsOffOtherProcesses) {
  Files files;
  for (std::uint32_t p = 0; p < 2; ++p) {
    LogBuilder log;
    SetRun(log, "node", 100 + p, 0);
    log.Device(0, 100'000);
    log.Alloc(Layer::kLinear, 0x1000, 10'000);
    log.SetTime(50'000 + p);
    // 40,000 are free; 30,000 are of other processes.
    log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, 40'000, 0,
              {.aux0 = 100'000, .aux1 = 30'001});
    files.Add(log);
  }
  const auto session = files.Together();
  ASSERT_NE(session, nullptr);
  const MemorySamples samples(*session);
  const std::vector<DeviceTimeline> timelines = BuildTimelines(*session);
  const DeviceLedger ledger = BuildLedger(*session, samples.Of(0), timelines[0], {});
  ASSERT_TRUE(ledger.last);
  EXPECT_EQ(ledger.last->sample.others_bytes, 20'000u);
  EXPECT_EQ(ledger.last->known_bytes(), 40'000u);
  EXPECT_EQ(ledger.last->untracked_bytes, 20'000u);
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
