// Programs that are hard to record: unlimited names and stacks, threads that are killed, signals, a
// custom allocator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "tests/integration/hardship_guest.h"
#include "tests/integration/harness.h"
#include "tests/integration/run_command.h"

namespace memprof::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Hardship, ThreadsThatDoNothingButAllocateLoseNothing) {
  TempDirectory directory;
  // A ring for a tenth of a second: it is full nearly all the time.
  const GuestResult guest =
      Hardship(directory, {"flood", "8", "20000"}, {{"MEMPROF_RING_EVENTS", "20000"}});
  ASSERT_EQ(guest.status, 0) << guest.err;
  EXPECT_EQ(guest.out, "pairs 160000\n");
  const Log log = ReadLog(directory.File("g.mprof"));
  EXPECT_EQ(log.error, "");
  EXPECT_THAT(log.counters, IsEmpty());
  const Totals totals = Replay(log.ByTime());
  EXPECT_EQ(totals.allocations, 160000u);
  EXPECT_EQ(totals.frees, 160000u);
  EXPECT_EQ(totals.unmatched, 0u);
}

TEST(Hardship, NamesAndStacksWithoutEndAreBoundedAndCounted) {
  TempDirectory directory;
  const GuestResult guest = Hardship(directory, {"endless"});
  ASSERT_EQ(guest.status, 0) << guest.err;
  EXPECT_EQ(guest.out, "ended\n");
  EXPECT_EQ(guest.err, "");
  const Log log = ReadLog(directory.File("g.mprof"));
  EXPECT_EQ(log.error, "");
  EXPECT_LT(log.self.resident_bytes(), 256u << 20);
  // All events are recorded; only names exceeded the limit.
  EXPECT_EQ(log.counters.count("events_lost"), 0u);
  EXPECT_GT(log.counters.at("definitions_lost"), 10000u);
  EXPECT_EQ(log.WithOp(log::OP_ALLOC).size(), 1u << 17);
  EXPECT_EQ(log.WithOp(log::OP_RANGE_PUSH).size(), 40000u);
  std::set<std::uint32_t> stacks;
  for (const Event& event : log.WithOp(log::OP_ALLOC)) stacks.insert(event.stack);
  EXPECT_EQ(stacks.size(), 1u << 17);
}

// The memory figures that guest_greedy prints, in bytes.
struct Memory {
  std::uint64_t allocations = 0, peak = 0, ring_mapped = 0, ring_file = 0;
};

Memory RunGreedy(const TempDirectory& directory, bool recorded) {
  GuestOptions options{.preload = recorded, .output = "", .directory = directory.path()};
  options.arguments = {"17", "131072", "600", "3000"};
  options.environment["MEMPROF_OUTPUT"] = directory.File("g.mprof");
  options.environment["MEMPROF_MEMORY_MIB"] = "40";
  const GuestResult guest = RunGuest("guest_greedy", options);
  EXPECT_EQ(guest.status, 0) << guest.err;
  EXPECT_EQ(guest.err, "");
  Memory memory;
  std::string word;
  std::istringstream(guest.out) >> word >> memory.allocations >> word >> memory.peak >> word >>
      memory.ring_mapped >> word >> memory.ring_file;
  return memory;
}

TEST(Hardship, TheProcessIsNeverLargerByMoreThanTheLimit) {
  if (MEMPROF_IS_SANITIZED) GTEST_SKIP() << "sanitizers hold memory of their own";
  TempDirectory directory;
  const Memory bare = RunGreedy(directory, false);
  const Memory recorded = RunGreedy(directory, true);
  EXPECT_EQ(recorded.allocations, bare.allocations);
  ASSERT_GT(bare.peak, 0u);
  ASSERT_GT(recorded.ring_file, 0u);
  // The whole file of the ring counts, mapped or not.
  const std::uint64_t more = recorded.peak - bare.peak - recorded.ring_mapped +
                             std::max(recorded.ring_mapped, recorded.ring_file);
  EXPECT_LT(more, 40u << 20);
  // At least its tables are full; how much of the ring was needed depends on the machine.
  EXPECT_GT(more, 8u << 20);
  const Log log = ReadLog(directory.File("g.mprof"));
  EXPECT_EQ(log.error, "");
  EXPECT_TRUE(log.has_trailer);
  EXPECT_LT(log.self.resident_bytes(), 40u << 20);
  // All limits were exceeded, and this was counted.
  for (const char* counter :
       {"memory_refused", "definitions_lost", "thread_slots_exhausted", "blocks_not_followed"})
    EXPECT_GT(log.counters.count(counter), 0u) << counter;
  // Every allocation was recorded, or belongs to a thread for which there was no memory.
  const std::uint64_t seen = log.WithOp(log::OP_ALLOC).size();
  EXPECT_GE(seen, (1u << 17) + 131072u);
  EXPECT_LT(seen, recorded.allocations);
  EXPECT_GE(seen + log.counters.at("thread_slots_exhausted"), recorded.allocations);
}

TEST(Hardship, ThreadsMayDieInAnyWayWhileOthersAllocate) {
  if (MEMPROF_IS_SANITIZED) GTEST_SKIP() << "sanitizers lose count of threads that end rudely";
  TempDirectory directory;
  const GuestResult guest = Hardship(directory, {"dying", "60"});
  ASSERT_EQ(guest.status, 0) << guest.out << guest.err;
  const Log log = ReadLog(directory.File("g.mprof"));
  EXPECT_EQ(log.error, "");
  EXPECT_TRUE(log.has_trailer);
  EXPECT_THAT(log.counters, IsEmpty());
  std::vector<PrintedCall> kept;
  for (const PrintedCall& call : RecordedCalls(log.ByTime()))
    if (call.op == "alloc" && call.bytes >= 1000) kept.push_back(call);
  EXPECT_THAT(kept, ElementsAreArray(PrintedCalls(guest)));
  EXPECT_EQ(kept.size(), 60u);
}

GuestResult RunEnding(const TempDirectory& directory, std::vector<std::string> arguments,
                      bool recorded = true) {
  GuestOptions options{.preload = recorded, .standin = false, .directory = directory.path()};
  options.arguments = std::move(arguments);
  options.environment["LD_LIBRARY_PATH"] = GuestPath("null_driver");
  options.longest_s = 40;
  return RunGuest("guest_ending", options);
}

TEST(Hardship, ThreadsMayBeCancelledInTheMiddleOfAnAllocation) {
  if (MEMPROF_IS_SANITIZED) GTEST_SKIP() << "sanitizers are not to be cancelled anywhere";
  for (const char* how : {"deferred", "async"}) {
    TempDirectory directory;
    const GuestResult guest = RunEnding(directory, {"cancel", how});
    ASSERT_EQ(guest.status, 0) << how << guest.err;
    EXPECT_EQ(guest.out, "went on\n");
    EXPECT_EQ(guest.err, "");
    const Log log = ReadLog(directory.File("g.mprof"));
    EXPECT_EQ(log.error, "");
    EXPECT_TRUE(log.has_trailer);
    std::vector<std::uint64_t> of_main;
    for (const Event& event : log.WithOp(log::OP_ALLOC))
      if (event.bytes == 100 || event.bytes == 1 << 10) of_main.push_back(event.bytes);
    EXPECT_EQ(std::count(of_main.begin(), of_main.end(), 100u), 20);
    // Each thread completed its call before it was cancelled.
    const std::size_t all = how == std::string("deferred") ? 220 : 20;
    EXPECT_EQ(of_main.size(), all);
  }
}

// The stand-in's driver has locks and waits, at which a thread may be cancelled.
TEST(Hardship, ThreadsMayBeCancelledWithinACallOfTheStandIn) {
  if (MEMPROF_IS_SANITIZED) GTEST_SKIP() << "sanitizers are not to be cancelled anywhere";
  TempDirectory directory;
  const GuestResult guest = MemprofRun(
      directory,
      {"run", "--sim", "-o", "g.mprof", "--", GuestPath("guest_ending"), "cancel", "deferred"});
  ASSERT_EQ(guest.status, 0) << guest.err;
  EXPECT_EQ(guest.out, "went on\n");
  EXPECT_EQ(ReadLog(directory.File("g.mprof")).WithOp(log::OP_FREE).size(), 220u);
}

TEST(Hardship, AMainThreadThatLeavesFirstEndsTheProcessWithTheLastThread) {
  for (const char* who : {"before", "after"}) {
    TempDirectory directory;
    EXPECT_EQ(RunEnding(directory, {"first", who}, false).out, "exit handler\n");
    const GuestResult guest = RunEnding(directory, {"first", who});
    ASSERT_EQ(guest.status, 0) << who << guest.err;
    EXPECT_EQ(guest.out, "exit handler\n");
    EXPECT_EQ(guest.err, "");
    const Log log = ReadLog(directory.File("g.mprof"));
    EXPECT_EQ(log.error, "");
    EXPECT_TRUE(log.has_trailer);
    EXPECT_THAT(log.counters, IsEmpty());
    std::vector<std::uint64_t> bytes;
    for (const Event& event : log.ByTime())
      if (event.op == log::OP_ALLOC) bytes.push_back(event.bytes);
    EXPECT_THAT(bytes, ElementsAre(1000u, 2000u, 3000u));
    EXPECT_EQ(log.WithOp(log::OP_FREE).size(), 3u);
  }
}

TEST(Hardship, TheStatusOfALastThreadThatEndsRudelyIsTheProcesss) {
  if (MEMPROF_IS_SANITIZED) GTEST_SKIP() << "sanitizers have a thread of their own";
  for (const std::string how : {"raw", "killed", "other"}) {
    TempDirectory directory;
    const int status = RunEnding(directory, {"alone", how}, false).status;
    if (how == "other")  // older kernels have that of the main thread
      EXPECT_TRUE(status == 5 || status == 38) << status;
    else
      EXPECT_EQ(status, how == "raw" ? 38 : 128 + SIGSYS);
    EXPECT_EQ(RunEnding(directory, {"alone", how}).status, status) << how;
    const Log log = ReadLog(directory.File("g.mprof"));
    EXPECT_EQ(log.error, "");
    EXPECT_TRUE(log.has_trailer);
    EXPECT_EQ(log.WithOp(log::OP_FREE).size(), 1u);
  }
}

TEST(Hardship, HandlersMayLeaveByAJumpOrAnExitWhereverTheyCome) {
  if (MEMPROF_IS_SANITIZED) GTEST_SKIP() << "sanitizers are not to be left anywhere";
  TempDirectory directory;
  const GuestResult guest = RunEnding(directory, {"leave", "jump"});
  ASSERT_EQ(guest.status, 0) << guest.err;
  EXPECT_EQ(guest.out, "went on\n");
  EXPECT_EQ(guest.err, "");
  const Log log = ReadLog(directory.File("g.mprof"));
  EXPECT_EQ(log.error, "");
  EXPECT_TRUE(log.has_trailer);
  EXPECT_THAT(log.counters, IsEmpty());
  for (int round = 0; round < 20; ++round) {
    TempDirectory fresh;
    EXPECT_EQ(RunEnding(fresh, {"leave", "exit"}).status, 3);
  }
}

TEST(Hardship, SignalHandlersAndMasksOfTheProgramAreItsOwn) {
  TempDirectory directory;
  const GuestResult guest = Hardship(directory, {"signals"});
  ExpectNothingLost(directory, guest);
  EXPECT_THAT(guest.out, HasSubstr(" elsewhere 0\n"));
  GuestOptions plain{.preload = false, .output = "", .directory = directory.path()};
  plain.arguments = {"signals"};
  EXPECT_EQ(guest.lines().back(), RunGuest("guest_hardship", plain).lines().back());
}

TEST(Hardship, StacksOfUnloadedLibrariesKeepTheirModule) {
  TempDirectory directory;
  const GuestResult guest = Hardship(directory, {"plugin", GuestPath("libguest_plugin.so")});
  const Log log = ExpectNothingLost(directory, guest);
  int within = 0;
  for (const Event& event : log.WithOp(log::OP_ALLOC)) {
    bool plugin = false;
    for (std::uint32_t node = event.stack; node != 0; node = log.nodes.at(node).parent)
      if (const auto module = log.modules.find(log.nodes.at(node).module);
          module != log.modules.end())
        plugin |= module->second.path().find("libguest_plugin.so") != std::string::npos;
    EXPECT_EQ(plugin, event.bytes >= 1000) << event.bytes;
    within += plugin;
  }
  EXPECT_EQ(within, 3);
}

TEST(Hardship, APreloadedAllocatorServesTheProgramAndStaysOutOfOurs) {
  if (MEMPROF_IS_SANITIZED) GTEST_SKIP() << "sanitizers bring an allocator";
  const std::string ours = BuildPath("lib/libmemprof.so");
  const std::string allocator = GuestPath("libguest_tiny_malloc.so");
  for (const std::string& preload : {ours + ":" + allocator, allocator + ":" + ours}) {
    TempDirectory directory;
    const GuestResult guest = Hardship(directory, {"malloc"}, {{"LD_PRELOAD", preload}});
    ExpectNothingLost(directory, guest);
    EXPECT_EQ(guest.lines().back(), "malloc used");
  }
}

}  // namespace
}  // namespace memprof::testing
