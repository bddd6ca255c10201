// Recordings that stay within a budget, of programs that run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/integration/harness.h"
#include "tests/integration/life_guest.h"
#include "tests/integration/run_command.h"

namespace memprof::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint64_t kBudget = 65536;

GuestResult Serve(const TempDirectory& directory, const char* budget, const char* how,
                  const char* seconds = "3.5") {
  GuestOptions options{.directory = directory.path()};
  options.arguments = {seconds, how};
  options.environment = {{"MEMPROF_ALWAYS_ON", budget}};
  return RunGuest("guest_served", options);
}

int Printed(const GuestResult& guest, const std::string& what) {
  for (const std::string& line : guest.lines())
    if (line.rfind(what + " ", 0) == 0) return std::stoi(line.substr(what.size() + 1));
  return -1;
}

// Addresses that are alive at the log's end and were leaked.
std::set<std::uint64_t> Leaked(const Log& log) {
  std::set<std::uint64_t> leaked;
  std::map<std::uint32_t, bool> known;
  const auto is_leak = [&](std::uint32_t stack) {
    const auto [found, is_new] = known.try_emplace(stack, false);
    if (is_new) found->second = StackHas(log, stack, "LeakHere");
    return found->second;
  };
  for (const Event& event : log.ByTime()) {
    if (event.op == log::OP_FREE) leaked.erase(event.address);
    if (event.op == log::OP_ALLOC && event.weight == 0 && is_leak(event.stack))
      leaked.insert(event.address);
  }
  return leaked;
}

TEST(AlwaysOn, SegmentsStayWithinTheBudgetAndKeepWhatIsLeaked) {
  TempDirectory directory;
  const GuestResult guest = Serve(directory, "64KiB/1s,keep=2", "exit");
  ASSERT_EQ(guest.status, 0) << guest.err;
  EXPECT_EQ(guest.err, "");
  ASSERT_THAT(directory.Files(".mprof"),
              ElementsAre("g.mprof", HasSubstr("segment-"), HasSubstr("segment-")))
      << "older segments are gone";
  std::set<std::uint32_t> numbers;
  for (const std::string& name : directory.Files(".mprof")) {
    EXPECT_LE(std::filesystem::file_size(directory.File(name)), kBudget) << name;
    const Log log = ReadLog(directory.File(name));
    EXPECT_EQ(log.error, "");
    EXPECT_TRUE(log.has_trailer);
    EXPECT_EQ(log.header.always_on().budget_bytes(), kBudget);
    EXPECT_EQ(log.header.always_on().period_ns(), 1'000'000'000u);
    numbers.insert(log.header.always_on().segment());
    // On a machine that is very slow, the budget is enough for all; and the last one may be short.
    EXPECT_TRUE(!log.WithOp(log::OP_THINNED).empty() || Printed(guest, "steps") < 400 ||
                name == "g.mprof");
    EXPECT_EQ(Replay(log.ByTime()).unmatched, 0u);
    EXPECT_LE(log.self.resident_bytes(), 64u << 20);
    EXPECT_EQ(log.counters.count("definitions_lost"), 0u);
    EXPECT_FALSE(Leaked(log).empty()) << "with its line, in each segment";
  }
  EXPECT_EQ(numbers.size(), 3u);
  // A segment may begin at any moment: between the last step and the failure, or after it.
  std::vector<Event> failed;
  std::uint64_t last_step = 0;
  for (const std::string& name : directory.Files(".mprof")) {
    const Log log = ReadLog(directory.File(name));
    for (const Event& step : log.WithOp(log::OP_STEP)) last_step = std::max(last_step, step.aux0);
    const std::vector<Event> failed_here = log.WithOp(log::OP_ALLOC_FAILED);
    if (failed_here.empty()) continue;
    failed.insert(failed.end(), failed_here.begin(), failed_here.end());
    EXPECT_EQ(static_cast<int>(Leaked(log).size()), Printed(guest, "leaked"));
  }
  EXPECT_EQ(failed.size(), 1u);
  EXPECT_EQ(static_cast<int>(last_step), Printed(guest, "steps") - 1);
}

// 4 KiB in every tenth step, judged from one segment alone, the last that has its whole period.
TEST(AlwaysOn, TheGrowthOfALeakIsWhatItIs) {
  TempDirectory directory;
  ASSERT_EQ(Serve(directory, "64KiB/1s,keep=2", "exit").status, 0);
  GuestOptions options{
      .preload = false, .standin = false, .output = "", .directory = directory.path()};
  options.arguments = {"leaks", "--json", directory.Files(".mprof").back()};
  const GuestResult leaks = RunProgram(BuildPath("bin/memprof"), options);
  const auto report = nlohmann::json::parse(leaks.out, nullptr, false);
  ASSERT_FALSE(report.is_discarded()) << leaks.err;
  ASSERT_EQ(report["leaks"].size(), 1u) << leaks.out;
  EXPECT_THAT(report["leaks"][0]["site"].get<std::string>(), HasSubstr("LeakHere"));
  EXPECT_NEAR(report["leaks"][0]["bytes_per_step"].get<double>(), 409.6, 60);
}

TEST(AlwaysOn, AKilledProcessLeavesItsSegments) {
  TempDirectory directory;
  const GuestResult guest = Serve(directory, "100KB/1s,keep=1", "kill");
  ASSERT_EQ(guest.status, 128 + SIGKILL);
  ASSERT_THAT(directory.Files(".mprof"), ElementsAre("g.mprof", HasSubstr("segment-")));
  const Recovered recovered = ReadKilled(directory.File("g.mprof"));
  ASSERT_TRUE(recovered.status.ok()) << recovered.status;
  EXPECT_EQ(recovered.log.error, "");
  EXPECT_FALSE(Leaked(recovered.log).empty());
  EXPECT_EQ(recovered.log.header.pid(), static_cast<std::uint32_t>(guest.pid));
}

// A program that ends over and over, as one under a supervisor does.
TEST(AlwaysOn, ARestartKeepsTheLastLogsAsSegments) {
  TempDirectory directory;
  const std::vector<std::string> words = {"run",     "--sim", "--always-on=64KiB/1h,keep=2", "-o",
                                          "a.mprof", "--",    GuestPath("guest_served"),     "0.05",
                                          "exit"};
  std::ofstream(directory.File("a.segment-4.mprof")) << "no log";
  for (int i = 0; i < 5; ++i) ASSERT_EQ(MemprofRun(directory, words).status, 0);
  EXPECT_THAT(directory.Files(".mprof"), ElementsAre("a.mprof", "a.segment-4.mprof",
                                                     "a.segment-7.mprof", "a.segment-8.mprof"));
  EXPECT_EQ(ReadLog(directory.File("a.segment-8.mprof")).WithOp(log::OP_ALLOC_FAILED).size(), 1u);
}

TEST(AlwaysOn, NoStretchBeginsBeforeTheLog) {
  TempDirectory directory;
  ASSERT_EQ(Serve(directory, "64KiB/1h", "unmarked", "1.2").status, 0);
  const Log log = ReadLog(directory.File("g.mprof"));
  const std::vector<Event> stretches = log.WithOp(log::OP_THINNED);
  ASSERT_FALSE(stretches.empty());
  EXPECT_GE(stretches[0].aux0, log.header.start_time_ns());
}

TEST(AlwaysOn, ABudgetThatIsNoneIsSaidAndAllIsRecorded) {
  TempDirectory directory;
  GuestOptions options{.directory = directory.path()};
  options.arguments = {"0.1", "exit"};
  options.environment = {{"MEMPROF_ALWAYS_ON", "much"}};
  const GuestResult guest = RunGuest("guest_served", options);
  EXPECT_THAT(guest.err, HasSubstr("MEMPROF_ALWAYS_ON=much is no budget"));
  const Log log = ReadLog(directory.File("g.mprof"));
  EXPECT_FALSE(log.header.has_always_on());
  EXPECT_EQ(static_cast<int>(log.WithOp(log::OP_STEP).size()), Printed(guest, "steps"));
}

}  // namespace
}  // namespace memprof::testing
