// Recordings that begin, end and divide in awkward ways: nothing is lost, or the loss is counted;
// and the guest's own output and status are what they are without the recorder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "analysis/log/ring_recovery.h"
#include "tests/integration/guests/exiting.h"
#include "tests/integration/harness.h"

namespace memprof::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;

GuestResult Life(const TempDirectory& directory, std::vector<std::string> arguments) {
  GuestOptions options{.directory = directory.path()};
  options.arguments = std::move(arguments);
  return RunGuest("guest_runtime_life", options);
}

// The log and what its ring still holds, as a reader puts them together.
struct Recovered {
  Log log;
  std::uint64_t from_ring = 0;
  absl::Status status;
};

Recovered ReadKilled(const std::string& path) {
  const Log whole = ReadLog(path);
  Recovered recovered;
  const absl::StatusOr<analysis::RecoveredRing> ring =
      analysis::RecoverRing(whole.header.ring_path(), whole.header.pid(),
                            whole.header.start_time_ns(), std::filesystem::file_size(path));
  recovered.status = ring.status();
  if (!ring.ok()) return recovered;
  recovered.log = ReadLog(path, ring->committed_log_bytes);
  AddDefinitions(ring->definitions, &recovered.log);
  for (const log::Events& columns : ring->events) {
    const std::vector<Event> events = ExpandEvents(columns);
    recovered.from_ring += events.size();
    recovered.log.events.insert(recovered.log.events.end(), events.begin(), events.end());
  }
  return recovered;
}

TEST(Lifecycle, ThousandShortLivedThreadsAreAllThere) {
  TempDirectory directory;
  const GuestResult guest = Life(directory, {"threads", "1000"});
  ASSERT_EQ(guest.status, 0) << guest.err;
  const Log log = ReadLog(directory.File("g.mprof"));
  EXPECT_EQ(log.error, "");
  EXPECT_THAT(log.counters, IsEmpty());
  EXPECT_THAT(RecordedCalls(log.ByTime()), ::testing::ElementsAreArray(PrintedCalls(guest)));
  std::set<std::uint32_t> threads;
  for (const Event& event : log.WithOp(log::OP_ALLOC)) threads.insert(event.thread);
  EXPECT_EQ(threads.size(), 1000u);
  // Slabs go round: a thousand threads do not need a thousand of them.
  EXPECT_LT(log.self.resident_bytes(), 16u << 20);
}

class Killed : public ::testing::TestWithParam<int> {};

TEST_P(Killed, LosesNothing) {
  const int allocations = 200000;
  TempDirectory directory;
  GuestOptions options{.directory = directory.path()};
  options.arguments = {"loop", std::to_string(allocations)};
  RunningGuest guest(GuestPath("guest_runtime_life"), options);
  ASSERT_EQ(guest.ReadLine(), "done");
  kill(guest.pid(), SIGKILL);
  EXPECT_EQ(guest.Wait().status, 128 + SIGKILL);
  const Recovered recovered = ReadKilled(directory.File("g.mprof"));
  ASSERT_TRUE(recovered.status.ok()) << recovered.status;
  const Totals totals = Replay(recovered.log.ByTime());
  EXPECT_EQ(totals.allocations, static_cast<std::uint64_t>(allocations));
  EXPECT_EQ(totals.frees, static_cast<std::uint64_t>(allocations / 2));
  EXPECT_EQ(totals.unmatched, 0u);
  for (const Event& event : recovered.log.WithOp(log::OP_ALLOC))
    ASSERT_TRUE(recovered.log.nodes.count(event.stack));
}

INSTANTIATE_TEST_SUITE_P(Lifecycle, Killed, ::testing::Range(0, 5));

TEST(Lifecycle, KilledInTheMiddleKeepsAPrefixOfEveryThing) {
  TempDirectory directory;
  GuestOptions options{.directory = directory.path()};
  options.arguments = {"loop", "100000000"};
  RunningGuest guest(GuestPath("guest_runtime_life"), options);
  const std::string path = directory.File("g.mprof");
  // Long enough for several batches to be written, however slow the machine.
  for (int i = 0; i < 2000; ++i) {
    std::error_code error;
    if (std::filesystem::file_size(path, error) > 200000 && !error) break;
    usleep(10000);
  }
  kill(guest.pid(), SIGKILL);
  guest.Wait();
  const Recovered recovered = ReadKilled(path);
  ASSERT_TRUE(recovered.status.ok()) << recovered.status;
  ASSERT_GT(recovered.log.events.size(), 10000u);
  // The guest allocates 1, 2, 3, ... bytes: a missing or doubled event would show.
  std::uint64_t expected = 0;
  for (const Event& event : recovered.log.WithOp(log::OP_ALLOC)) ASSERT_EQ(event.bytes, ++expected);
  EXPECT_LE(Replay(recovered.log.events).unmatched, 0u);
}

TEST(Lifecycle, ARunningProcessIsNotRecoveredFrom) {
  TempDirectory directory;
  GuestOptions options{.directory = directory.path()};
  options.arguments = {"loop", "10"};
  options.environment["MEMPROF_SHM"] = "";  // where it is by default
  RunningGuest guest(GuestPath("guest_runtime_life"), options);
  ASSERT_EQ(guest.ReadLine(), "done");
  EXPECT_EQ(ReadKilled(directory.File("g.mprof")).status.code(),
            absl::StatusCode::kFailedPrecondition);
  const Log log = ReadLog(directory.File("g.mprof"));
  const auto permissions = std::filesystem::status(log.header.ring_path()).permissions();
  EXPECT_EQ(permissions & std::filesystem::perms::all,
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_THAT(log.header.ring_path(), ::testing::StartsWith("/dev/shm/memprof-"));
  kill(guest.pid(), SIGKILL);
  guest.Wait();
  std::filesystem::remove(log.header.ring_path());
}

struct Ending {
  const char* how;
  int status;
  bool clean;
};
class Endings : public ::testing::TestWithParam<Ending> {};

TEST_P(Endings, KeepTheLastAllocation) {
  TempDirectory directory;
  const GuestResult guest = Life(directory, {"exit", GetParam().how});
  EXPECT_EQ(guest.status, GetParam().status);
  EXPECT_EQ(guest.err, "");
  const std::string path = directory.File("g.mprof");
  Log log = ReadLog(path);
  EXPECT_EQ(log.has_trailer, GetParam().clean);
  if (!GetParam().clean) {
    const Recovered recovered = ReadKilled(path);
    ASSERT_TRUE(recovered.status.ok()) << recovered.status;
    log = recovered.log;
  } else {
    EXPECT_FALSE(std::filesystem::exists(log.header.ring_path()));
    // The index lists every chunk but itself and the trailer.
    ASSERT_GE(log.chunks.size(), 2u);
    EXPECT_EQ(log.trailer.index_offset(), log.chunks[log.chunks.size() - 2].offset);
    log.chunks.resize(log.chunks.size() - 2);
    EXPECT_TRUE(log.Indexed() == log.chunks);
    EXPECT_EQ(log.trailer.reason(), "exit");
  }
  EXPECT_THAT(RecordedCalls(log.events), ::testing::ElementsAreArray(PrintedCalls(guest)));
}

INSTANTIATE_TEST_SUITE_P(Lifecycle, Endings,
                         ::testing::Values(Ending{"return", 7, true}, Ending{"exit", 7, true},
                                           Ending{"quick_exit", 7, true}, Ending{"_exit", 7, false},
                                           Ending{"abort", 128 + SIGABRT, false}),
                         [](const auto& instance) {
                           std::string name = instance.param.how;
                           std::replace(name.begin(), name.end(), '_', 'X');
                           return name;
                         });

TEST(Lifecycle, CallsInDestructorsAreRecorded) {
  TempDirectory directory;
  const GuestResult guest = Life(directory, {"late"});
  ASSERT_EQ(guest.status, 0) << guest.err;
  const Log log = ReadLog(directory.File("g.mprof"));
  EXPECT_EQ(log.error, "");
  EXPECT_TRUE(log.has_trailer);
  EXPECT_EQ(log.trailer.events(), log.events.size());
  EXPECT_THAT(RecordedCalls(log.ByTime()), ::testing::ElementsAreArray(PrintedCalls(guest)));
}

TEST(Lifecycle, RecordingThatBeginsInTheLastDestructorIsComplete) {
  TempDirectory directory;
  const GuestResult guest = RunGuest("guest_late_main", {.directory = directory.path()});
  ASSERT_EQ(guest.status, 0) << guest.err;
  ASSERT_EQ(PrintedCalls(guest).size(), 1u) << "the guest could use CUDA so late";
  EXPECT_THAT(directory.Files(""), ElementsAre("g.mprof")) << "the ring is gone";
  const Log log = ReadLog(directory.File("g.mprof"));
  EXPECT_EQ(log.error, "");
  EXPECT_TRUE(log.has_trailer);
  EXPECT_EQ(log.trailer.events(), log.events.size());
  EXPECT_THAT(RecordedCalls(log.events), ::testing::ElementsAreArray(PrintedCalls(guest)));
}

class RunningOn : public ::testing::TestWithParam<int> {};

TEST_P(RunningOn, ThreadsDoNotCutTheLog) {
  TempDirectory directory;
  const GuestResult guest = Life(directory, {"daemons"});
  ASSERT_EQ(guest.status, 0) << guest.err;
  EXPECT_THAT(directory.Files(""), ElementsAre("g.mprof"));
  const Log log = ReadLog(directory.File("g.mprof"));
  EXPECT_EQ(log.error, "");
  ASSERT_TRUE(log.has_trailer);
  EXPECT_EQ(log.trailer.events(), log.events.size());
  EXPECT_GE(log.events.size(), 800u);
  EXPECT_EQ(Replay(log.ByTime()).unmatched, 0u);
}

INSTANTIATE_TEST_SUITE_P(Lifecycle, RunningOn, ::testing::Range(0, 4));

class Exiting : public ::testing::TestWithParam<const char*> {};

TEST_P(Exiting, ThreadsAndLateCodeThatAllocateAreRecordedToTheEnd) {
  const std::string how = GetParam();
  const int rounds = MEMPROF_IS_SANITIZED ? 3 : 17;
  for (int round = 0; round < rounds; ++round) {
    TempDirectory directory;
    GuestOptions options{.directory = directory.path()};
    options.arguments = {how, directory.File("counts")};
    const GuestResult guest = RunGuest("guest_exiting", options);
    ASSERT_EQ(guest.status, 7) << guest.err;
    ASSERT_EQ(guest.out, "ends by " + how + "\n");
    ASSERT_EQ(guest.err, "");
    exiting::Counts done;
    std::ifstream(directory.File("counts"), std::ios::binary)
        .read(reinterpret_cast<char*>(&done), sizeof done);
    const std::string path = directory.File("g.mprof");
    Log log = ReadLog(path);
    // The process may end in the middle of the very last write; then the ring has it all.
    if (const Recovered killed = ReadKilled(path); !log.has_trailer && killed.status.ok())
      log = killed.log;
    std::map<std::uint64_t, std::uint64_t> recorded;
    for (const Event& event : log.WithOp(log::OP_ALLOC)) ++recorded[event.bytes];
    for (int caller = 0; caller < exiting::kCallers; ++caller) {
      const std::uint64_t count = done.done[caller];
      // The last one of a thread may have been recorded and not returned.
      EXPECT_GE(recorded[1000 + caller], count) << caller;
      EXPECT_LE(recorded[1000 + caller], count + (caller < exiting::kDaemons ? 1 : 0)) << caller;
      // quick_exit runs no destructors.
      const bool runs =
          how != "quick_exit" || caller < exiting::kTlsOfMain || caller == exiting::kAtExit;
      EXPECT_EQ(count > 0, runs) << caller;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Lifecycle, Exiting, ::testing::Values("return", "exit", "quick_exit"));

TEST(Lifecycle, AForkedChildLeavesItsParentsLogAlone) {
  TempDirectory directory;
  const GuestResult guest = Life(directory, {"fork"});
  ASSERT_EQ(guest.status, 0) << guest.err;
  EXPECT_THAT(directory.Files(""), ElementsAre("g.mprof"));
  const Log log = ReadLog(directory.File("g.mprof"));
  EXPECT_EQ(log.error, "");
  EXPECT_TRUE(log.has_trailer);
  std::vector<std::uint64_t> bytes;
  for (const Event& event : log.WithOp(log::OP_ALLOC)) bytes.push_back(event.bytes);
  EXPECT_THAT(bytes, ElementsAre(1000, 3000));
  EXPECT_EQ(log.counters.at("forked_children"), 1u);
  EXPECT_EQ(log.WithOp(log::OP_FORK).size(), 1u);
}

TEST(Lifecycle, AForkedChildThatInitialisesCudaWritesItsOwnLog) {
  TempDirectory directory;
  GuestOptions options{.output = "g.%p.mprof", .directory = directory.path()};
  options.arguments = {"fork"};
  const GuestResult guest = RunGuest("guest_api_linked", options);
  ASSERT_EQ(guest.status, 0) << guest.err;
  ASSERT_THAT(guest.lines(), ElementsAre("child 0", HasSubstr("pid ")));
  const std::string child = guest.lines()[1].substr(4);
  const Log of_parent = ReadLog(directory.File("g." + std::to_string(guest.pid) + ".mprof"));
  const Log of_child = ReadLog(directory.File("g." + child + ".mprof"));
  EXPECT_EQ(of_parent.WithOp(log::OP_STEP).size(), 2u);
  EXPECT_TRUE(of_parent.has_trailer);
  ASSERT_EQ(of_child.WithOp(log::OP_ALLOC).size(), 1u);
  EXPECT_EQ(of_child.WithOp(log::OP_ALLOC)[0].bytes, 2000u);
  EXPECT_TRUE(of_child.has_trailer);
  EXPECT_EQ(of_child.header.parent_pid(), of_parent.header.pid());
}

TEST(Lifecycle, ForkingWhileThreadsAllocateHangsNoChild) {
  // The child's first malloc may wait for a lock of the sanitizer's own that another thread held.
  if (MEMPROF_IS_SANITIZED) GTEST_SKIP() << "sanitizers hold locks over a fork";
  TempDirectory directory;
  const GuestResult guest = Life(directory, {"forks", "200"});
  EXPECT_EQ(guest.status, 0) << guest.err;
  const Log log = ReadLog(directory.File("g.mprof"));
  EXPECT_EQ(log.error, "");
  EXPECT_EQ(log.counters.at("forked_children"), 200u);
  EXPECT_EQ(log.WithOp(log::OP_FORK).size(), 200u);
  EXPECT_EQ(Replay(log.ByTime()).unmatched, 0u);
}

TEST(Lifecycle, ChildrenByOtherMeansThanForkChangeNothing) {
  // A bare fork leaves the sanitizer's own state as another thread had it.
  if (MEMPROF_IS_SANITIZED) GTEST_SKIP() << "sanitizers rely on fork's handlers";
  TempDirectory directory;
  const GuestResult guest = Life(directory, {"spawns", "20"});
  ASSERT_EQ(guest.status, 0) << guest.out << guest.err;
  EXPECT_EQ(guest.err, "");
  EXPECT_EQ(guest.lines().back(), "failed 0");
  EXPECT_THAT(directory.Files(""), ElementsAre("g.mprof")) << "no log or ring of a child";
  const Log log = ReadLog(directory.File("g.mprof"));
  EXPECT_EQ(log.error, "");
  EXPECT_TRUE(log.has_trailer);
  EXPECT_EQ(log.trailer.events(), log.events.size());
  EXPECT_EQ(Replay(log.ByTime()).unmatched, 0u);
  std::map<std::uint64_t, int> of_bytes;
  for (const Event& event : log.WithOp(log::OP_ALLOC)) ++of_bytes[event.bytes];
  EXPECT_EQ(of_bytes[77], 1);
  EXPECT_EQ(of_bytes[78], 1) << "the parent records on";
  EXPECT_EQ(of_bytes[5000], 0) << "the child's";
  EXPECT_GT(of_bytes[64], 0);
  EXPECT_EQ(log.counters.count("events_lost"), 0u);
}

TEST(Lifecycle, ExecBeginsASecondLogAndKeepsTheFirst) {
  TempDirectory directory;
  const GuestResult guest = Life(directory, {"exec"});
  ASSERT_EQ(guest.status, 0) << guest.err;
  const std::string second = "g." + std::to_string(guest.pid) + ".mprof";
  ASSERT_THAT(directory.Files(".mprof"), ::testing::UnorderedElementsAre("g.mprof", second));
  const Recovered before = ReadKilled(directory.File("g.mprof"));
  ASSERT_TRUE(before.status.ok()) << before.status;
  std::vector<PrintedCall> recorded = RecordedCalls(before.log.events);
  const Log after = ReadLog(directory.File(second));
  for (const PrintedCall& call : RecordedCalls(after.events)) recorded.push_back(call);
  EXPECT_THAT(recorded, ::testing::ElementsAreArray(PrintedCalls(guest)));
}

TEST(Lifecycle, AProgramWithoutCudaLeavesNothing) {
  TempDirectory directory;
  const GuestResult guest = Life(directory, {"nothing"});
  EXPECT_EQ(guest.out, "nothing\n");
  EXPECT_EQ(guest.err, "");
  EXPECT_THAT(directory.Files(""), IsEmpty());
}

TEST(Lifecycle, AFailedFreeIsTakenBack) {
  TempDirectory directory;
  const GuestResult guest = Life(directory, {"badfree"});
  ASSERT_EQ(guest.status, 0);
  EXPECT_THAT(guest.out, HasSubstr("result 1\n"));
  const Log log = ReadLog(directory.File("g.mprof"));
  const std::vector<Event> failed = log.WithOp(log::OP_FREE_FAILED);
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed[0].address, 0x1230u);
  EXPECT_EQ(failed[0].result, 1u);
}

TEST(Lifecycle, ClosedAndReusedDescriptorsAreNotWrittenTo) {
  TempDirectory directory;
  const GuestResult guest = Life(directory, {"closefds", directory.path()});
  ASSERT_EQ(guest.status, 0) << guest.err;
  const Log log = ReadLog(directory.File("g.mprof"));
  EXPECT_EQ(log.error, "");
  EXPECT_TRUE(log.has_trailer);
  EXPECT_THAT(RecordedCalls(log.events), ::testing::ElementsAreArray(PrintedCalls(guest)));
  for (const std::string& file : directory.Files("")) {
    if (file.rfind("victim", 0) == 0) {
      ASSERT_EQ(std::filesystem::file_size(directory.File(file)), 0u) << file;
    }
  }
}

TEST(Lifecycle, AnExistingFileIsNeverOverwritten) {
  TempDirectory directory;
  std::ofstream(directory.File("g.mprof")) << "precious";
  const GuestResult guest = Life(directory, {"exit", "return"});
  EXPECT_EQ(guest.status, 7);
  std::string text;
  std::ifstream(directory.File("g.mprof")) >> text;
  EXPECT_EQ(text, "precious");
  const Log log = ReadLog(directory.File("g." + std::to_string(guest.pid) + ".mprof"));
  EXPECT_TRUE(log.has_trailer);
}

TEST(Lifecycle, AnImpossibleFolderCostsOneLineAndNothingElse) {
  TempDirectory directory;
  GuestOptions options{.output = "missing/g.mprof", .directory = directory.path()};
  options.arguments = {"exit", "return"};
  const GuestResult guest = RunGuest("guest_runtime_life", options);
  EXPECT_EQ(guest.status, 7);
  EXPECT_EQ(PrintedCalls(guest).size(), 1u);
  EXPECT_THAT(guest.err, HasSubstr("No such file or directory"));
  EXPECT_EQ(std::count(guest.err.begin(), guest.err.end(), '\n'), 1);
}

TEST(Lifecycle, ADiskThatFillsUpStopsTheRecordingOnly) {
  TempDirectory directory;
  GuestOptions options{.directory = directory.path()};
  options.arguments = {"-c", "ulimit -f 300; exec \"$0\" 1 60000 7",
                       GuestPath("guest_runtime_random13")};
  RunningGuest running("/bin/bash", options);  // its own output goes through a pipe
  const GuestResult guest = running.Wait();
  EXPECT_EQ(guest.status, 0) << guest.err;
  EXPECT_EQ(PrintedCalls(guest).size(), 60000u);
  EXPECT_THAT(guest.err, HasSubstr("File too large"));
  EXPECT_EQ(std::count(guest.err.begin(), guest.err.end(), '\n'), 1);
  const Log log = ReadLog(directory.File("g.mprof"));
  EXPECT_EQ(log.error, "");
  EXPECT_GT(log.events.size(), 0u);
  EXPECT_EQ(log.header.ring_path(), "");  // no file that large is allowed
  EXPECT_THAT(log.trailer.reason(), HasSubstr("File too large"));
  EXPECT_EQ(log.counters.at("write_errors"), 1u);
  EXPECT_EQ(log.counters.at("ring_not_shared"), 1u);
}

TEST(Lifecycle, WithoutSharedMemoryTheRingLiesBesideTheLog) {
  TempDirectory directory;
  GuestOptions options{.directory = directory.path()};
  options.arguments = {"loop", "100"};
  options.environment["MEMPROF_SHM"] = directory.File("missing");
  RunningGuest guest(GuestPath("guest_runtime_life"), options);
  ASSERT_EQ(guest.ReadLine(), "done");
  kill(guest.pid(), SIGKILL);
  guest.Wait();
  const Log log = ReadLog(directory.File("g.mprof"));
  EXPECT_THAT(log.header.ring_path(), ::testing::StartsWith(directory.File("g.mprof-")));
  const Recovered recovered = ReadKilled(directory.File("g.mprof"));
  ASSERT_TRUE(recovered.status.ok()) << recovered.status;
  EXPECT_EQ(recovered.log.WithOp(log::OP_ALLOC).size(), 100u);
}

}  // namespace
}  // namespace memprof::testing
