// Logs that cannot be written as requested: existing descriptors, files and folders, full disks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/integration/harness.h"
#include "tests/integration/life_guest.h"

namespace memprof::testing {
namespace {

using ::testing::HasSubstr;

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
  EXPECT_EQ(log.header.ring_path(), "");  // no file that large can be created
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
