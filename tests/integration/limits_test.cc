// Programs that leave few resources to the recorder: descriptors, address space, system calls,
// folders.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/integration/hardship_guest.h"
#include "tests/integration/harness.h"

namespace memprof::testing {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Hardship, AllDescriptorsClosedAtOnce) {
  TempDirectory directory;
  ExpectNothingLost(directory, Hardship(directory, {"closeall"}));
}

TEST(Hardship, DescriptorsClosedAndDirectoryChangedWithARelativeOutput) {
  TempDirectory directory;
  ExpectNothingLost(directory, Hardship(directory, {"chdir"}, {{"MEMPROF_OUTPUT", "g.mprof"}}));
}

TEST(Hardship, FewDescriptorsAreEnough) {
  if (MEMPROF_IS_SANITIZED) GTEST_SKIP() << "sanitizers need descriptors themselves";
  for (const char* when : {"early", "late"}) {
    TempDirectory directory;
    const Log log = ExpectNothingLost(directory, Hardship(directory, {"descriptors", "12", when}));
    EXPECT_THAT(log.counters, IsEmpty()) << when;
    EXPECT_FALSE(std::filesystem::exists(log.header.ring_path()));
  }
}

TEST(Hardship, ASingleDescriptorIsForTheLogAndTheRingIsPrivate) {
  if (MEMPROF_IS_SANITIZED) GTEST_SKIP() << "sanitizers need descriptors themselves";
  TempDirectory directory;
  const Log log = ExpectNothingLost(directory, Hardship(directory, {"descriptors", "4", "early"}));
  EXPECT_EQ(log.counters.at("ring_not_shared"), 1u);
}

TEST(Hardship, NoNewDescriptorAfterTheStartLosesNothing) {
  if (MEMPROF_IS_SANITIZED) GTEST_SKIP() << "sanitizers need descriptors themselves";
  TempDirectory directory;
  ExpectNothingLost(directory, Hardship(directory, {"descriptors", "3", "late"}));
}

// The signal of a file that is too large would end the program. The message goes to a file too.
TEST(Hardship, SmallFilesDoNotEndTheProgram) {
  for (const char* when : {"early", "late"})
    for (const char* bytes : {"0", "1", "100", "1000", "5000", "300000", "100000000"})
      for (const char* budget : {"", "1MB/1h"}) {
        SCOPED_TRACE(std::string(when) + " " + bytes + " " + budget);
        TempDirectory directory;
        std::map<std::string, std::string> environment;
        if (*budget != '\0') environment["MEMPROF_ALWAYS_ON"] = budget;
        const GuestResult guest = Hardship(directory, {"filesize", bytes, when}, environment);
        EXPECT_EQ(guest.status, 0) << guest.err;
        EXPECT_LE(std::count(guest.err.begin(), guest.err.end(), '\n'), 1) << guest.err;
        const bool enough = std::atoi(bytes) >= 300000, is_late = std::string(when) == "late";
        if (std::atoi(bytes) >= 1000 && !enough && !is_late)
          EXPECT_THAT(guest.err, HasSubstr("File too large"));
        if (!enough || *budget != '\0') continue;
        const Log log = ReadLog(directory.File("g.mprof"));
        EXPECT_TRUE(log.has_trailer);
        EXPECT_EQ(RecordedCalls(log.ByTime()).size(), is_late ? 602u : 600u);
      }
}

// Where the end of the log still fits, it has the number; else `memprof run` appends the ring,
// which may have the number of what was lost before.
TEST(Hardship, WhatAFullFileDidNotTakeIsCountedOrRecovered) {
  for (const char* bytes : {"0", "1000"})
    for (const char* budget : {"", "--always-on=1MB/1h"}) {
      SCOPED_TRACE(std::string(bytes) + " " + budget);
      TempDirectory directory;
      GuestOptions options{.preload = false, .output = "", .directory = directory.path()};
      options.arguments = {
          "run", "-o",  directory.File("g.mprof"), "--", GuestPath("guest_hardship"), "filesize",
          bytes, "late"};
      if (*budget != '\0') options.arguments.insert(options.arguments.begin() + 1, budget);
      const GuestResult run = RunProgram(BuildPath("bin/memprof"), options);
      EXPECT_EQ(run.status, 0) << run.err;
      const Log log = ReadLog(directory.File("g.mprof"));
      EXPECT_EQ(log.error, "");
      EXPECT_EQ(log.counters.count("write_errors"), 1u);
      EXPECT_TRUE(log.counters.contains("events_lost") || log.counters.contains("ring_recovered"));
      EXPECT_THAT(directory.Files("ring"), IsEmpty());
    }
}

TEST(Hardship, LittleAddressSpaceToBeginWith) {
  if (MEMPROF_IS_SANITIZED) GTEST_SKIP() << "sanitizers need address space themselves";
  int recorded = 0;
  // From nothing to enough: whatever is refused, the guest continues and prints the same.
  for (const char* mib : {"0", "2", "8", "60", "120", "200", "800"}) {
    TempDirectory directory;
    GuestOptions options{.directory = directory.path()};
    options.arguments = {"little", mib};
    options.environment = {{"MEMPROF_START", "paused"}, {"MEMPROF_SIGNAL", "USR2"}};
    options.longest_s = 30;  // takes 0.02 s; if each call waited for a failed start: 120 s
    const GuestResult guest = RunGuest("guest_hardship", options);
    EXPECT_EQ(guest.status, 0) << mib << ": " << guest.out << guest.err;
    std::vector<PrintedCall> calls = PrintedCalls(guest);
    ASSERT_EQ(calls.size(), 602u) << mib;
    EXPECT_LE(std::count(guest.err.begin(), guest.err.end(), '\n'), 1) << mib << guest.err;
    if (directory.Files("g.mprof").empty()) {
      EXPECT_THAT(guest.err, HasSubstr("the program runs on without")) << mib;
      continue;
    }
    calls.erase(calls.begin(), calls.begin() + 2);  // before the signal
    const Log log = ReadLog(directory.File("g.mprof"));
    if (log.events.empty()) {
      EXPECT_NE(guest.err, "") << mib;
      continue;
    }
    EXPECT_EQ(log.error, "") << mib;
    EXPECT_THAT(RecordedCalls(log.ByTime()), ElementsAreArray(calls)) << mib;
    ++recorded;
  }
  EXPECT_GE(recorded, 1);
}

TEST(Hardship, AddressSpaceThatEndsDuringTheRun) {
  if (MEMPROF_IS_SANITIZED) GTEST_SKIP() << "sanitizers need address space themselves";
  TempDirectory directory;
  ExpectNothingLost(directory, Hardship(directory, {"address", "1", "late"}));
}

class Seccomp : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(Seccomp, ForbiddenCallsLoseNothing) {
  TempDirectory directory;
  const auto [error, when] = GetParam();
  const GuestResult guest = Hardship(directory, {"seccomp", error, when});
  ASSERT_NE(guest.status, 6) << "filters are not available";
  const Log log = ExpectNothingLost(directory, guest);
  // If the filter exists before the start, there is no ftruncate and so no shared ring, which is
  // counted.
  EXPECT_EQ(log.counters.count("ring_not_shared"), std::string(when) == "early" ? 1u : 0u);
}

INSTANTIATE_TEST_SUITE_P(Hardship, Seccomp,
                         ::testing::Combine(::testing::Values("EPERM", "ENOSYS"),
                                            ::testing::Values("early", "late")));

TEST(Hardship, AVanishedFolderIsSaidAndChangesNothing) {
  TempDirectory directory;
  const std::string folder = directory.File("sub");
  std::filesystem::create_directory(folder);
  const GuestResult guest =
      Hardship(directory, {"vanish", folder}, {{"MEMPROF_OUTPUT", folder + "/g.mprof"}});
  EXPECT_EQ(guest.status, 0);
  EXPECT_EQ(PrintedCalls(guest).size(), 602u);
  EXPECT_THAT(guest.err, HasSubstr("was removed while it was being written"));
  EXPECT_EQ(std::count(guest.err.begin(), guest.err.end(), '\n'), 1);
  EXPECT_THAT(directory.Files(""), IsEmpty()) << "neither log nor ring is left";
}

TEST(Hardship, AFolderThatTakesNoFilesCostsOneLine) {
  TempDirectory directory;
  const GuestResult guest =
      Hardship(directory, {"malloc"}, {{"MEMPROF_OUTPUT", "/proc/self/g.mprof"}});
  EXPECT_EQ(guest.status, 0);
  EXPECT_EQ(PrintedCalls(guest).size(), 600u);
  EXPECT_THAT(guest.err, HasSubstr("cannot record to /proc/self/g.mprof"));
  EXPECT_EQ(std::count(guest.err.begin(), guest.err.end(), '\n'), 1);
}

}  // namespace
}  // namespace memprof::testing
