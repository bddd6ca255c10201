// Children of recorded programs, by fork and by other means.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/integration/harness.h"
#include "tests/integration/life_guest.h"

namespace memprof::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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
  // The writer's thread, which has just been started, may be within the sanitizer's malloc at the
  // fork: the child's first malloc then waits for ever.
  if (MEMPROF_IS_SANITIZED) GTEST_SKIP() << "sanitizers hold locks over a fork";
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
  // The child's first malloc may wait for a lock of the sanitizer that another thread held at the
  // fork.
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
  // A fork by system call leaves the sanitizer's state inconsistent.
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
  EXPECT_EQ(of_bytes[78], 1) << "the parent continues to record";
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

}  // namespace
}  // namespace memprof::testing
