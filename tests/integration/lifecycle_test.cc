// Starts and ends of recorded programs: threads, exits, destructors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "tests/integration/guests/exiting.h"
#include "tests/integration/harness.h"
#include "tests/integration/life_guest.h"

namespace memprof::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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
  // Slabs are reused: a thousand threads do not need a thousand slabs.
  EXPECT_LT(log.self.resident_bytes(), 16u << 20);
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
  ASSERT_EQ(PrintedCalls(guest).size(), 1u) << "the guest could use CUDA at its end";
  EXPECT_THAT(directory.Files(""), ElementsAre("g.mprof")) << "the ring is deleted";
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
    // The process may end during the very last write; then the ring still has all events.
    if (const Recovered killed = ReadKilled(path); !log.has_trailer && killed.status.ok())
      log = killed.log;
    std::map<std::uint64_t, std::uint64_t> recorded;
    for (const Event& event : log.WithOp(log::OP_ALLOC)) ++recorded[event.bytes];
    for (int caller = 0; caller < exiting::kCallers; ++caller) {
      const std::uint64_t count = done.done[caller];
      // The last call of a thread may have been recorded without returning.
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

}  // namespace
}  // namespace memprof::testing
