// `memprof run` on guests: what it forwards, and which files it leaves.
#include "cli/run/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>

#include "analysis/load/load.h"
#include "analysis/store/session.h"
#include "analysis/testing/column.h"
#include "cli/run/sim.h"
#include "tests/integration/harness.h"
#include "tests/integration/run_command.h"

namespace memprof::testing {
namespace {

using analysis::testing::Column;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(RunVerb, RecordsOnTheStandIn) {
  TempDirectory directory;
  const GuestResult run =
      MemprofRun(directory, {"run", "-o", "a.mprof", "--sim=memory=3GiB", "--",
                             GuestPath("guest_runtime_life"), "exit", "return"});
  EXPECT_EQ(run.status, 7);
  EXPECT_EQ(run.err, "memprof: recorded to a.mprof; next: memprof report a.mprof\n");
  const Log log = ReadLog(directory.File("a.mprof"));
  EXPECT_TRUE(log.has_trailer);
  EXPECT_EQ(log.devices.at(0).capacity_bytes(), 3ull << 30);
  EXPECT_THAT(RecordedCalls(log.events), ::testing::ElementsAreArray(PrintedCalls(run)));
}

// Processes of one run share capacity, and memory of a killed process is free again. Two runs are
// independent.
TEST(RunVerb, ProcessesOfARunShareTheDevices) {
  TempDirectory directory;
  const std::string greedy = GuestPath("guest_sharing");
  const std::string together = greedy +
                               " hold 700 & wait_for=$!; while [ ! -e held ]; do sleep "
                               "0.05; done; " +
                               greedy + " take 700; " + greedy +
                               " take 200; kill -KILL $wait_for; wait $wait_for; " + greedy +
                               " take 700";
  const GuestResult run = MemprofRun(
      directory, {"run", "--sim=memory=1GiB,overhead=0", "--", "/bin/sh", "-c", together});
  EXPECT_EQ(run.out, "no room, 324 MiB free\ntaken, 324 MiB free\ntaken, 1024 MiB free\n")
      << run.err;
  const GuestResult alone =
      MemprofRun(directory, {"run", "--sim=memory=1GiB,overhead=0", "--", greedy, "take", "700"});
  EXPECT_EQ(alone.out, "taken, 1024 MiB free\n");
}

TEST(RunVerb, DefaultNameHasTheProcessId) {
  TempDirectory directory;
  const GuestResult run =
      MemprofRun(directory, {"run", "--sim", GuestPath("guest_runtime_life"), "exit", "return"});
  EXPECT_EQ(run.status, 7);
  ASSERT_EQ(directory.Files(".mprof").size(), 1u);
  EXPECT_THAT(directory.Files(".mprof")[0], ::testing::MatchesRegex("memprof\\.[0-9]+\\.mprof"));
}

TEST(RunVerb, PutsTheAgentIntoEveryPython) {
  TempDirectory directory;
  const std::vector<std::string> print = {"--", "/bin/sh", "-c",
                                          "echo \"$PYTHONPATH $MEMPROF_AGENT\""};
  std::vector<std::string> words = {"run", "--torch"};
  words.insert(words.end(), print.begin(), print.end());
  EXPECT_THAT(MemprofRun(directory, words).out,
              ::testing::MatchesRegex("/.*/lib/memprof/inject(:.*)? torch\n"));
  words[1] = "--verbose";
  EXPECT_THAT(MemprofRun(directory, words).out, ::testing::Not(::testing::HasSubstr("inject")));
}

TEST(RunVerb, PassesStatusAndSignalsOn) {
  TempDirectory directory;
  EXPECT_EQ(MemprofRun(directory, {"run", "--", "/bin/sh", "-c", "exit 42"}).status, 42);
  EXPECT_EQ(MemprofRun(directory, {"run", "--", "/bin/sh", "-c", "kill -KILL $$"}).status,
            128 + SIGKILL);
}

TEST(RunVerb, ForwardsTermination) {
  TempDirectory directory;
  GuestOptions options{
      .preload = false, .standin = false, .output = "", .directory = directory.path()};
  options.arguments = {"run",  "--sim", "-o", "a.mprof", "--", GuestPath("guest_runtime_life"),
                       "loop", "10"};
  RunningGuest run(BuildPath("bin/test_memprof_run"), options);
  ASSERT_EQ(run.ReadLine(), "done");
  kill(run.pid(), SIGTERM);
  EXPECT_EQ(run.Wait().status, 128 + SIGTERM);
  EXPECT_FALSE(ReadLog(directory.File("a.mprof")).has_trailer);
}

TEST(RunVerb, PutsWhatAKilledProgramLeftIntoTheLog) {
  TempDirectory directory;
  GuestOptions options{
      .preload = false, .standin = false, .output = "", .directory = directory.path()};
  options.arguments = {
      "run", "--sim",   "-o", "a.mprof",
      "--",  "/bin/sh", "-c", "echo $$; exec " + GuestPath("guest_runtime_life") + " loop 50000"};
  RunningGuest run(BuildPath("bin/test_memprof_run"), options);
  const pid_t guest = std::stoi(run.ReadLine());
  ASSERT_EQ(run.ReadLine(), "done");
  kill(guest, SIGKILL);
  EXPECT_EQ(run.Wait().status, 128 + SIGKILL);
  EXPECT_THAT(directory.Files(".ring"), IsEmpty());
  const auto session = analysis::LoadLogs({directory.File("a.mprof")}, {.find_steps = false});
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ(std::ranges::count(Column((*session)->events(), &analysis::EventTable::op),
                               analysis::Op::kAlloc),
            50000);
  EXPECT_EQ(std::ranges::count(Column((*session)->events(), &analysis::EventTable::op),
                               analysis::Op::kFree),
            25000);
  EXPECT_FALSE((*session)->run().complete);
  ASSERT_EQ((*session)->anomalies().size(), 1u);
  EXPECT_EQ((*session)->anomalies()[0].anomaly, log::Anomaly::kRingRecovered);
  EXPECT_EQ((*session)->anomalies()[0].count, 1u);
}

TEST(RunVerb, ReplacesALogAndNothingElse) {
  TempDirectory directory;
  std::ofstream(directory.File("notes.txt")) << "precious";
  const GuestResult refused = MemprofRun(
      directory,
      {"run", "--sim", "-o", "notes.txt", "--", GuestPath("guest_runtime_life"), "exit", "return"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("notes.txt exists and is not a log of memprof"));
  EXPECT_EQ(refused.out, "");
  for (int round = 0; round < 2; ++round) {
    const GuestResult run = MemprofRun(
        directory,
        {"run", "--sim", "-o", "a.mprof", "--", GuestPath("guest_runtime_life"), "exit", "return"});
    EXPECT_EQ(run.status, 7);
    EXPECT_THAT(directory.Files(".mprof"), ElementsAre("a.mprof"));
  }
  const GuestResult nowhere =
      MemprofRun(directory, {"run", "-o", "missing/a.mprof", "--", "/bin/true"});
  EXPECT_EQ(nowhere.status, 1);
  EXPECT_THAT(nowhere.err, HasSubstr("cannot write to"));
}

TEST(RunVerb, SeveralProcessesWriteSeveralLogs) {
  TempDirectory directory;
  const std::string guest = GuestPath("guest_runtime_life");
  const GuestResult run =
      MemprofRun(directory, {"run", "--sim", "-o", "a.mprof", "--", "/bin/sh", "-c",
                             guest + " exit return; " + guest + " exit return; exit 0"});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(directory.Files(".mprof").size(), 2u);
  EXPECT_THAT(run.err, HasSubstr("recorded 2 processes"));
  EXPECT_THAT(run.err, HasSubstr("next: memprof report a*.mprof\n"));
}

TEST(RunVerb, ASignalBeginsWhatStartedPaused) {
  TempDirectory directory;
  const GuestResult run =
      MemprofRun(directory, {"run", "--sim", "--start-paused", "--signal", "USR2", "-o", "a.mprof",
                             "--", GuestPath("guest_hardship"), "toggle", "plain"});
  EXPECT_EQ(run.status, 0) << run.out;
  EXPECT_EQ(ReadLog(directory.File("a.mprof")).WithOp(log::OP_ALLOC).size(), 2u);
}

}  // namespace
}  // namespace memprof::testing
