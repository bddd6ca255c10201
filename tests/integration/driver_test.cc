// All families of driver memory, in a program that links libcuda; and how the injected library
// behaves with the loader.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/integration/harness.h"

namespace memprof::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

struct DriverRun {
  GuestResult guest;
  Log log;
};

DriverRun RunOnDriver(const std::string& what,
                      std::map<std::string, std::string> environment = {}) {
  TempDirectory directory;
  GuestOptions options{.environment = std::move(environment), .directory = directory.path()};
  options.arguments = {what};
  DriverRun run;
  run.guest = RunGuest("guest_driver_linked", options);
  EXPECT_EQ(run.guest.status, 0) << run.guest.err;
  run.log = ReadLog(directory.File("g.mprof"));
  EXPECT_EQ(run.log.error, "");
  return run;
}

TEST(Driver, PhysicalMemoryLivesUntilItsLastReference) {
  const DriverRun run = RunOnDriver("vmm");
  EXPECT_THAT(RecordedCalls(run.log.events), ElementsAreArray(PrintedCalls(run.guest)));
  const std::vector<Event> maps = run.log.WithOp(log::OP_MAP);
  ASSERT_EQ(maps.size(), 2u);
  EXPECT_EQ(maps[0].aux0, run.log.WithOp(log::OP_ALLOC)[0].address);
  EXPECT_EQ(maps[1].address, maps[0].address + maps[0].bytes);
  EXPECT_EQ(run.log.WithOp(log::OP_UNMAP).size(), 2u);
}

TEST(Driver, PoolsAndTheirSamples) {
  const DriverRun run = RunOnDriver("pools");
  EXPECT_THAT(RecordedCalls(run.log.events), ElementsAreArray(PrintedCalls(run.guest)));
  const std::vector<Event> allocations = run.log.WithOp(log::OP_ALLOC);
  ASSERT_EQ(allocations.size(), 2u);
  EXPECT_EQ(allocations[0].aux0, run.log.WithOp(log::OP_POOL_CREATE)[0].address);
  EXPECT_NE(allocations[1].aux0, allocations[0].aux0);
  EXPECT_NE(allocations[0].stream, 0u);
  EXPECT_EQ(run.log.pools.size(), 2u);
  EXPECT_TRUE(run.log.pools.at(allocations[1].aux0).is_default());
  EXPECT_FALSE(run.log.pools.at(allocations[0].aux0).is_default());
  EXPECT_EQ(run.log.WithOp(log::OP_POOL_TRIM).size(), 1u);
  EXPECT_EQ(run.log.WithOp(log::OP_POOL_DESTROY).size(), 1u);
  EXPECT_GE(run.log.WithOp(log::OP_POOL_SAMPLE).size(), 1u);
}

TEST(Driver, ArraysCountTheirElements) {
  const DriverRun run = RunOnDriver("arrays");
  EXPECT_THAT(RecordedCalls(run.log.events), ElementsAreArray(PrintedCalls(run.guest)));
}

TEST(Driver, ContextsHaveABeginningAndAnEnd) {
  const DriverRun run = RunOnDriver("contexts");
  EXPECT_EQ(run.log.contexts.size(), 2u);
  ASSERT_EQ(run.log.WithOp(log::OP_CONTEXT_CREATE).size(), 2u);
  const std::vector<Event> ended = run.log.WithOp(log::OP_CONTEXT_DESTROY);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].context, run.log.WithOp(log::OP_ALLOC)[0].context);
  EXPECT_FALSE(run.log.contexts.at(ended[0].context).primary());
}

TEST(Driver, CuptiAsOnlySourceLeavesAllocationsToIt) {
  // If the CUPTI source is not available, the log says so and the program continues.
  const DriverRun run = RunOnDriver("pools", {{"MEMPROF_SOURCE", "cupti"}});
  EXPECT_THAT(run.log.WithOp(log::OP_POOL_CREATE).size(), ::testing::Le(1u));
  bool driver_off = false;
  for (const log::Source& source : run.log.sources)
    driver_off |= source.name() == "driver" && source.state() == log::SOURCE_OFF;
  EXPECT_TRUE(driver_off);
}

TEST(Loader, NextStillMeansTheNextLibraryOfTheCaller) {
  for (const bool preload : {false, true}) {
    TempDirectory directory;
    const GuestResult guest =
        RunGuest("guest_next_main", {.preload = preload, .directory = directory.path()});
    EXPECT_EQ(guest.out, "321\n") << "preload " << preload;
  }
}

TEST(Loader, ChainsWithAnotherDlsymHookInEitherOrder) {
  // If the foreign hook is instrumented, it crashes when the sanitizer starts.
  if (MEMPROF_IS_SANITIZED) GTEST_SKIP();
  const std::string ours = BuildPath("lib/libmemprof.so"),
                    other = GuestPath("libguest_other_hook.so");
  for (const std::string& order : {ours + ":" + other, other + ":" + ours}) {
    TempDirectory directory;
    GuestOptions options{.directory = directory.path()};
    options.environment["LD_PRELOAD"] = order;
    const GuestResult guest = RunGuest("guest_driver_dlsym", options);
    ASSERT_EQ(guest.status, 0) << guest.err;
    EXPECT_THAT(guest.err, HasSubstr("other hook saw calls")) << order;
    EXPECT_GE(RecordedCalls(ReadLog(directory.File("g.mprof")).events).size(), 12u);
  }
}

TEST(Loader, LoadsWithAllSymbolsBoundAtOnce) {
  TempDirectory directory;
  GuestOptions options{.environment = {{"LD_BIND_NOW", "1"}}, .directory = directory.path()};
  EXPECT_EQ(RunProgram("/bin/true", options).status, 0);
}

TEST(Loader, WithoutCudaAWrapperSaysSo) {
  // Without the stand-in on the path and without a driver, the program sees the same error as
  // without memprof.
  TempDirectory directory;
  GuestOptions options{.standin = false, .directory = directory.path()};
  options.environment["LD_LIBRARY_PATH"] = directory.path();
  const GuestResult guest = RunGuest("guest_driver_dlsym", options);
  if (guest.status == 0) GTEST_SKIP() << "this machine has a CUDA driver";
  EXPECT_EQ(guest.status, 4);
  EXPECT_THAT(directory.Files(""), ::testing::IsEmpty());
}

}  // namespace
}  // namespace memprof::testing
