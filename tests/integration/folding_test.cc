// Rings that are kept: while children of the killed process are alive, and after the log was moved.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>

#include "analysis/load/load.h"
#include "analysis/log/ring_fold.h"
#include "analysis/store/session.h"
#include "analysis/testing/column.h"
#include "tests/integration/harness.h"
#include "tests/libmemprof/recording/sanitized.h"

namespace memprof::testing {
namespace {

using analysis::FoldResult;
using analysis::testing::Column;
using ::testing::IsEmpty;

std::int64_t UnixNow() { return std::int64_t{std::time(nullptr)} * 1'000'000'000; }

std::ptrdiff_t CountOf(const std::string& log, analysis::Op op) {
  const auto session = analysis::LoadLogs({log}, {.find_steps = false});
  EXPECT_TRUE(session.ok()) << session.status();
  return session.ok()
             ? std::ranges::count(Column((*session)->events(), &analysis::EventTable::op), op)
             : -1;
}

// Waits for the end of a process without reaping it.
void AwaitEnd(pid_t pid) {
  siginfo_t info;
  EXPECT_EQ(waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
}

TEST(Folding, AForkedChildThatLivesOnKeepsItsOwnRing) {
  if (recorder::kSanitized)
    GTEST_SKIP() << "a child of fork may find the lock of Clang's own malloc held for ever";
  // makes orphaned children of the guest children of this process
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  TempDirectory directory;
  GuestOptions options{.output = "g.%p.mprof", .directory = directory.path()};
  options.arguments = {"forklive"};
  RunningGuest guest(GuestPath("guest_api_linked"), options);
  const std::string said = guest.ReadLine();
  ASSERT_EQ(said.rfind("child ", 0), 0u) << said;
  const pid_t child = std::stoi(said.substr(6));
  ASSERT_EQ(guest.ReadLine(), "stepped");
  kill(guest.pid(), SIGKILL);
  AwaitEnd(guest.pid());
  const std::string of_parent = directory.File("g." + std::to_string(guest.pid()) + ".mprof");
  const std::string of_child = directory.File("g." + std::to_string(child) + ".mprof");

  const auto folded = analysis::FoldRing(of_parent);
  ASSERT_TRUE(folded.ok()) << folded.status();
  EXPECT_EQ(*folded, FoldResult::kFolded);
  EXPECT_EQ(CountOf(of_parent, analysis::Op::kStep), 1000);
  EXPECT_EQ(directory.Files(".ring").size(), 1u) << "the child's";
  EXPECT_TRUE(absl::IsFailedPrecondition(analysis::FoldRing(of_child).status()));
  EXPECT_EQ(analysis::RemoveOrphanedRings(directory.path(), UnixNow()), 0);
  EXPECT_EQ(directory.Files(".ring").size(), 1u);

  // the child continues to allocate after its parent's ring was appended to the log
  kill(child, SIGUSR1);
  ASSERT_EQ(guest.ReadLine(), "went on");
  kill(child, SIGKILL);
  AwaitEnd(child);
  const auto last = analysis::FoldRing(of_child);
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_EQ(*last, FoldResult::kFolded);
  EXPECT_EQ(CountOf(of_child, analysis::Op::kAlloc), 501);
  EXPECT_THAT(directory.Files(".ring"), IsEmpty());
  waitpid(child, nullptr, 0);
}

// The log of a guest that was killed after 100 allocations, before all of them were written. On a
// loaded machine this may take several attempts.
Log KillBeforeItIsWritten(const TempDirectory& directory, const std::string& shared = "") {
  for (;;) {
    std::filesystem::remove(directory.File("g.mprof"));
    GuestOptions options{.directory = directory.path()};
    if (!shared.empty()) options.environment["MEMPROF_SHM"] = shared;
    options.arguments = {"loop", "100"};
    RunningGuest guest(GuestPath("guest_runtime_life"), options);
    EXPECT_EQ(guest.ReadLine(), "done");
    kill(guest.pid(), SIGKILL);
    guest.Wait();
    Log log = ReadLog(directory.File("g.mprof"));
    if (log.WithOp(log::OP_ALLOC).size() < 100 || ::testing::Test::HasFailure()) return log;
    std::filesystem::remove(log.header.ring_path());
  }
}

TEST(Folding, ALogThatWasMovedAfterTheKillFindsItsRing) {
  TempDirectory directory;
  const Log log = KillBeforeItIsWritten(directory);
  ASSERT_TRUE(std::filesystem::exists(log.header.ring_path()));
  const std::string moved = directory.File("archive.mprof");
  std::filesystem::rename(directory.File("g.mprof"), moved);
  // The next `memprof run` cleans up.
  GuestOptions run{.preload = false, .standin = false, .output = "", .directory = directory.path()};
  run.arguments = {"run", "-o", "next.mprof", "--", "/bin/true"};
  EXPECT_EQ(RunProgram(BuildPath("bin/test_memprof_run"), run).status, 0);
  EXPECT_TRUE(std::filesystem::exists(log.header.ring_path()));
  EXPECT_EQ(CountOf(moved, analysis::Op::kAlloc), 100);
  // FoldRing finds the ring of the moved log as well.
  const auto folded = analysis::FoldRing(moved);
  ASSERT_TRUE(folded.ok()) << folded.status();
  EXPECT_EQ(*folded, FoldResult::kFolded);
  EXPECT_EQ(CountOf(moved, analysis::Op::kAlloc), 100);
  EXPECT_FALSE(std::filesystem::exists(log.header.ring_path()));
}

// Of ranks that a scheduler started without `memprof run`.
TEST(Folding, RingsOfDeadLogsInAPlaceAreFolded) {
  TempDirectory directory, shared;
  const std::string ring = KillBeforeItIsWritten(directory, shared.path()).header.ring_path();
  const std::string log = directory.File("g.mprof");
  const auto fold = [&](const std::string& place) {
    return analysis::FoldOrphanedRings(shared.path(), {place});
  };
  EXPECT_EQ(fold(log.substr(0, log.size() - 1)), 0);
  EXPECT_EQ(fold(directory.path().substr(0, directory.path().size() - 1)), 0);
  EXPECT_TRUE(std::filesystem::exists(ring));
  EXPECT_EQ(fold(log), 1);
  EXPECT_EQ(fold(log), 0);
  EXPECT_FALSE(std::filesystem::exists(ring));
  EXPECT_EQ(CountOf(log, analysis::Op::kAlloc), 100);
}

TEST(Folding, TheMapOfAFleetFoldsWhatIsInItsFolders) {
  TempDirectory directory, other, shared;
  for (const TempDirectory* folder : {&directory, &other})
    KillBeforeItIsWritten(*folder, shared.path());
  GuestOptions map{.preload = false, .standin = false, .output = "", .directory = other.path()};
  map.environment = {{"MEMPROF_SHM", shared.path()}, {"MEMPROF_PYTHON", "/bin/true"}};
  map.arguments = {"fleet", "map", directory.path() + "/", "s3://bucket/logs", "none", "-o", "t"};
  EXPECT_EQ(RunProgram(BuildPath("bin/memprof"), map).status, 0);
  EXPECT_EQ(ReadLog(directory.File("g.mprof")).counters.at("ring_recovered"), 1u);
  EXPECT_EQ(ReadLog(other.File("g.mprof")).counters.count("ring_recovered"), 0u);
  EXPECT_EQ(shared.Files(".ring").size(), 1u);
}

// While it runs, and while it is a zombie.
TEST(Folding, WhatStillRecordsIsLeftAlone) {
  TempDirectory directory, shared;
  GuestOptions options{.directory = directory.path()};
  options.environment["MEMPROF_SHM"] = shared.path();
  options.arguments = {"loop", "100"};
  RunningGuest guest(GuestPath("guest_runtime_life"), options);
  ASSERT_EQ(guest.ReadLine(), "done");
  EXPECT_EQ(analysis::FoldOrphanedRings(shared.path(), {directory.path()}), 0);
  kill(guest.pid(), SIGKILL);
  AwaitEnd(guest.pid());
  EXPECT_EQ(analysis::FoldOrphanedRings(shared.path(), {directory.path()}), 1);
  guest.Wait();
  EXPECT_EQ(CountOf(directory.File("g.mprof"), analysis::Op::kAlloc), 100);
}

}  // namespace
}  // namespace memprof::testing
