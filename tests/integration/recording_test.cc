// A log contains exactly what a guest did: every call with address, bytes and stack.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/integration/harness.h"

namespace memprof::testing {
namespace {

using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;

TEST(Recording, DriverReachedByDlsymAndGetProcAddress) {
  TempDirectory directory;
  const GuestResult guest = RunGuest("guest_driver_dlsym", {.directory = directory.path()});
  ASSERT_EQ(guest.status, 0) << guest.err;
  const Log log = ReadLog(directory.File("g.mprof"));
  ASSERT_EQ(log.error, "");
  EXPECT_TRUE(log.has_trailer);
  std::vector<PrintedCall> expected = PrintedCalls(guest);
  ASSERT_EQ(expected.size(), 12u);
  // A second free of the same pointer fails.
  expected.push_back(expected[6]);
  EXPECT_THAT(RecordedCalls(log.events), ElementsAreArray(expected));
  EXPECT_EQ(log.WithOp(log::OP_FREE_FAILED).size(), 1u);
  const std::vector<Event> failed = log.WithOp(log::OP_ALLOC_FAILED);
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed[0].bytes, 1ull << 50);
  EXPECT_EQ(failed[0].result, 2u);
  EXPECT_GT(failed[0].aux0, 0u);
  EXPECT_GE(failed[0].aux1, failed[0].aux0);
  EXPECT_EQ(log.Text(failed[0].api), "cuMemAlloc_v2");
}

TEST(Recording, StacksNameTheCallersFunctionAndNoFrameOfOurs) {
  TempDirectory directory;
  const GuestResult guest = RunGuest("guest_driver_dlsym", {.directory = directory.path()});
  ASSERT_EQ(guest.status, 0) << guest.err;
  const Log log = ReadLog(directory.File("g.mprof"));
  const std::vector<Event> allocations = log.WithOp(log::OP_ALLOC);
  ASSERT_FALSE(allocations.empty());
  const std::vector<StackNode> stack = log.Stack(allocations[0].stack);
  ASSERT_GE(stack.size(), 2u);
  EXPECT_EQ(FunctionAt(log, stack[0]), "AllocateHere");
  EXPECT_EQ(FunctionAt(log, stack[1]), "main");
  for (const auto& [id, node] : log.nodes) {
    ASSERT_TRUE(log.modules.count(node.module)) << "node " << id;
    EXPECT_THAT(log.modules.at(node.module).path(),
                ::testing::Not(::testing::HasSubstr("libmemprof")));
  }
}

TEST(Recording, HeaderAndDefinitionsDescribeTheProcess) {
  TempDirectory directory;
  GuestOptions options{.directory = directory.path()};
  options.environment["SIMCUDA"] = "memory=4GiB";
  options.environment["MEMPROF_SECRET_TOKEN"] = "";
  options.environment["API_KEY"] = "hush";
  const GuestResult guest = RunGuest("guest_driver_dlsym", options);
  ASSERT_EQ(guest.status, 0) << guest.err;
  const Log log = ReadLog(directory.File("g.mprof"));
  EXPECT_EQ(log.header.format_version(), 1u);
  EXPECT_EQ(log.header.pid(), static_cast<std::uint32_t>(guest.pid));
  EXPECT_EQ(log.header.executable(), GuestPath("guest_driver_dlsym"));
  EXPECT_EQ(log.header.working_directory(), directory.path());
  EXPECT_GT(log.header.start_unix_ns(), 1'600'000'000'000'000'000u);
  for (const std::string& variable : log.header.environment())
    EXPECT_THAT(variable, ::testing::Not(::testing::HasSubstr("hush")));
  ASSERT_EQ(log.devices.size(), 1u);
  EXPECT_EQ(log.devices.at(0).capacity_bytes(), 4ull << 30);
  EXPECT_TRUE(log.devices.at(0).simulated());
  ASSERT_EQ(log.contexts.size(), 1u);
  EXPECT_TRUE(log.contexts.begin()->second.primary());
  ASSERT_FALSE(log.modules.empty());
  EXPECT_EQ(log.modules.begin()->second.path(), GuestPath("guest_driver_dlsym"));
  EXPECT_EQ(log.modules.begin()->second.build_id().size(), 20u);
  ASSERT_EQ(log.sources.size(), 1u);
  EXPECT_EQ(log.sources[0].name(), "driver");
  EXPECT_EQ(log.sources[0].state(), log::SOURCE_ON);
}

struct RandomRun {
  const char* guest;
  int threads;
  int operations;
  bool async;
};

class RandomTraffic : public ::testing::TestWithParam<RandomRun> {};

TEST_P(RandomTraffic, IsRecordedToTheCallAndToTheByte) {
  const RandomRun run = GetParam();
  TempDirectory directory;
  GuestOptions options{.directory = directory.path()};
  options.arguments = {std::to_string(run.threads), std::to_string(run.operations), "42"};
  if (run.async) options.arguments.push_back("async");
  const GuestResult guest = RunGuest(run.guest, options);
  ASSERT_EQ(guest.status, 0) << guest.err;
  const Log log = ReadLog(directory.File("g.mprof"));
  ASSERT_EQ(log.error, "");
  ASSERT_TRUE(log.has_trailer);
  EXPECT_EQ(log.counters.count("events_lost"), 0u);
  EXPECT_EQ(log.trailer.events(), log.events.size());
  std::vector<PrintedCall> expected = PrintedCalls(guest);
  ASSERT_EQ(expected.size(), static_cast<std::size_t>(run.threads) * run.operations);
  std::vector<PrintedCall> recorded = RecordedCalls(log.events);
  std::sort(expected.begin(), expected.end());
  std::sort(recorded.begin(), recorded.end());
  EXPECT_TRUE(expected == recorded);
  // In order of time, every free finds its allocation.
  const Totals totals = Replay(log.ByTime());
  EXPECT_EQ(totals.unmatched, 0u);
  std::uint64_t printed_live = 0, printed_allocations = 0;
  for (const PrintedCall& call : expected) printed_allocations += call.op == "alloc";
  EXPECT_EQ(totals.allocations, printed_allocations);
  EXPECT_EQ(totals.live_blocks, 2 * printed_allocations - expected.size());
  (void)printed_live;
}

INSTANTIATE_TEST_SUITE_P(Recording, RandomTraffic,
                         ::testing::Values(RandomRun{"guest_runtime_random12", 1, 3000, false},
                                           RandomRun{"guest_runtime_random13", 1, 3000, true},
                                           RandomRun{"guest_runtime_random12", 8, 5000, true},
                                           RandomRun{"guest_runtime_random13", 8, 5000, true}));

}  // namespace
}  // namespace memprof::testing
