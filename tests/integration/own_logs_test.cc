// Which logs a run takes for its own, among those of runs beside it.
#include "cli/run/own_logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "cli/run/log_names.h"
#include "proto/run_list.h"
#include "tests/integration/run_command.h"

namespace memprof::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;

class OwnLogs : public ::testing::Test {
 protected:
  OwnLogs() {
    std::filesystem::create_directory(directory_.File("shm"));
    environment_["MEMPROF_SHM"] = directory_.File("shm");
  }
  GuestOptions Options(std::vector<std::string> words, const std::string& rank) const {
    GuestOptions options{
        .preload = false, .standin = false, .output = "", .directory = directory_.path()};
    options.arguments = {"run", "--sim", "-o", directory_.File("%j/%r.mprof")};
    options.arguments.insert(options.arguments.end(), words.begin(), words.end());
    options.environment = environment_;
    options.environment["SLURM_JOB_ID"] = "7";
    options.environment["SLURM_PROCID"] = rank;
    return options;
  }
  GuestResult Run(const std::string& rank, std::vector<std::string> words) const {
    return RunProgram(BuildPath("bin/test_memprof_run"), Options(std::move(words), rank));
  }
  // Runs one that records as long as `meanwhile` takes.
  template <typename Do>
  GuestResult RunBeside(const std::string& rank, Do meanwhile) const {
    RunningGuest other(
        BuildPath("bin/test_memprof_run"),
        Options({"--", "/bin/sh", "-c",
                 GuestPath("guest_runtime_life") +
                     " loop 10 & while [ ! -e go ]; do sleep 0.02; done; kill $!; wait"},
                rank));
    EXPECT_EQ(other.ReadLine(), "done");
    meanwhile();
    std::ofstream(directory_.File("go")).flush();
    return other.Wait();
  }
  static std::vector<std::string> Guest() {
    return {"--", GuestPath("guest_runtime_life"), "exit", "return"};
  }

  TempDirectory directory_;
  std::map<std::string, std::string> environment_;
};

// By the list, and where there is none, by a search: without a folder for it, or a rank.
TEST_F(OwnLogs, AreAllThatARunSays) {
  const std::string shm = environment_["MEMPROF_SHM"];
  for (const auto& [folder, step] :
       {std::pair<std::string, std::string>{shm, "0"}, {directory_.File("none"), "0"}, {shm, ""}}) {
    environment_["MEMPROF_SHM"] = folder;
    environment_["SLURM_STEP_ID"] = step;
    GuestResult inner;
    const GuestResult outer = RunBeside("1", [&] { inner = Run("2", Guest()); });
    EXPECT_EQ(inner.err, "memprof: recorded to 7/2.mprof; next: memprof report 7/2.mprof\n");
    EXPECT_EQ(outer.err, "memprof: recorded to 7/1.mprof; next: memprof report 7/1.mprof\n");
    EXPECT_THAT(directory_.Files("go"), ElementsAre("go")) << "nothing else stays in the folder";
    EXPECT_TRUE(std::filesystem::is_empty(shm));
    std::filesystem::remove_all(directory_.File("7"));
    std::filesystem::remove(directory_.File("go"));
  }
}

TEST_F(OwnLogs, AreAllThatARunUploads) {
  for (const char* step : {"0", ""}) {
    environment_["SLURM_STEP_ID"] = step;
    std::vector<std::string> words = Guest();
    words.insert(words.begin(), {"--upload", "store"});
    GuestResult inner;
    RunBeside("1", [&] { inner = Run("2", words); });
    EXPECT_THAT(inner.err, HasSubstr("uploaded 1 log to store\n"));
    EXPECT_TRUE(std::filesystem::exists(directory_.File("store/7/2.mprof")));
    EXPECT_FALSE(std::filesystem::exists(directory_.File("store/7/1.mprof")));
    for (const char* name : {"7", "store", "go"})
      std::filesystem::remove_all(directory_.File(name));
  }
}

// A log in the run's list whose process was killed is one of those that are finished.
TEST_F(OwnLogs, OfKilledProcessesAreFinished) {
  environment_["SLURM_STEP_ID"] = "0";
  const std::string guest = GuestPath("guest_runtime_life");
  Run("3",
      {"--", "/bin/sh", "-c",
       guest + " loop 1000 >said & while ! grep -q done said; do sleep 0.02; done; kill -9 $!; "
               "wait"});
  EXPECT_TRUE(std::filesystem::is_empty(environment_["MEMPROF_SHM"]));
  EXPECT_EQ(ReadLog(directory_.File("7/3.mprof")).counters.at("ring_recovered"), 1u);
}

TEST_F(OwnLogs, OfManyProcessesAreSaidInTheirOrder) {
  environment_["SLURM_STEP_ID"] = "0";
  const std::string guest = GuestPath("guest_runtime_life") + " exit return; ";
  std::string commands;
  for (const char* rank : {"10", "9", "0", "2"})
    commands += "RANK=" + std::string(rank) + " " + guest;
  EXPECT_EQ(Run("0", {"--", "/bin/sh", "-c", commands + "exit 0"}).err,
            "memprof: recorded 4 processes, 7/0.mprof to 7/10.mprof; next: memprof report "
            "7/*.mprof\n");
}

// Where no search would find them: of a run beside others, nothing looks at the folders.
TEST_F(OwnLogs, AreThoseOfTheList) {
  environment_["SLURM_STEP_ID"] = "0";
  std::vector<std::string> words = Guest();
  words.insert(words.begin() + 1, {"env", "MEMPROF_OUTPUT=" + directory_.File("elsewhere.mprof")});
  EXPECT_THAT(Run("0", words).err, HasSubstr("recorded to elsewhere.mprof;"));
  environment_["SLURM_STEP_ID"] = "";
  words[2] = "MEMPROF_OUTPUT=" + directory_.File("another.mprof");
  EXPECT_THAT(Run("0", words).err, HasSubstr("no log was written")) << "it is searched for";
}

// Of two runs to one file, the later one does not remove what the earlier one still writes.
TEST_F(OwnLogs, AreNotReplacedWhileTheyGrow) {
  const auto to_one_file = [&](const std::string& program) {
    GuestOptions options = Options({}, "0");
    options.arguments = {"run", "--sim", "-o", "a.mprof", "--", "/bin/sh", "-c", program};
    return options;
  };
  const std::string guest = GuestPath("guest_runtime_life");
  RunningGuest first(BuildPath("bin/test_memprof_run"),
                     to_one_file(guest + " loop 10 & while [ ! -e go ]; do sleep 0.02; done; "
                                         "kill $!; wait"));
  ASSERT_EQ(first.ReadLine(), "done");
  const GuestResult second =
      RunProgram(BuildPath("bin/test_memprof_run"), to_one_file("exec " + guest + " exit return"));
  std::ofstream(directory_.File("go")).flush();
  EXPECT_THAT(first.Wait().err, HasSubstr("recorded to a.mprof;"));
  EXPECT_THAT(second.err, ::testing::ContainsRegex("recorded to a\\.[0-9]+\\.mprof;"));
  EXPECT_EQ(directory_.Files(".mprof").size(), 2u);
}

TEST_F(OwnLogs, AListThatMayLackSomeIsNone) {
  const std::string magic(log::kRunListMagic, sizeof log::kRunListMagic);
  const cli::RunList list(directory_.File("shm"));
  const auto write = [&](const std::string& text) {
    std::ofstream(list.path(), std::ios::binary) << text;
    return list.Read();
  };
  EXPECT_THAT(list.Read(), Optional(IsEmpty()));
  EXPECT_THAT(write(magic + std::string("\0a\0\0b\0", 6)), Optional(ElementsAre("a", "b")));
  EXPECT_EQ(write(magic + std::string(log::kFullRunList, 'x')), std::nullopt);
  EXPECT_EQ(write("something else"), std::nullopt);
  std::filesystem::remove(list.path());
  EXPECT_EQ(list.Read(), std::nullopt);
}

TEST_F(OwnLogs, ListsOfKilledRunsAreRemoved) {
  const std::string shm = directory_.File("shm"), mine = std::to_string(getpid());
  for (const std::string& name :
       {std::string("memprof-run-2147483646-1"), "memprof-run-" + mine + "-1",
        std::string("memprof-run-x"), std::string("notes")})
    std::ofstream(shm + "/" + name) << "x";
  { const cli::RunList list(shm); }
  EXPECT_FALSE(std::filesystem::exists(shm + "/memprof-run-2147483646-1"));
  EXPECT_TRUE(std::filesystem::exists(shm + "/memprof-run-" + mine + "-1"));
  EXPECT_TRUE(std::filesystem::exists(shm + "/memprof-run-x"));
  EXPECT_TRUE(std::filesystem::exists(shm + "/notes"));
}

TEST(FilesOfPattern, MatchWhatTheRecorderMayHaveNamed) {
  TempDirectory directory;
  for (const char* name :
       {"a.mprof", "a.12.mprof", "a.12.3.mprof", "a.x.mprof", "ab.mprof", "a.mprof.ring"})
    std::ofstream(directory.File(name)) << "x";
  EXPECT_EQ(cli::FilesOfPattern(directory.File("a.mprof")).size(), 3u);
  EXPECT_EQ(cli::FilesOfPattern(directory.File("a.%p.mprof")).size(), 2u);
}

TEST(FilesOfPattern, AreInFoldersThatVary) {
  TempDirectory directory;
  for (const char* name : {"7", "8", "7/deeper"})
    std::filesystem::create_directory(directory.File(name));
  for (const char* name : {"7/0.mprof", "7/1.99.mprof", "8/0.mprof", "0.mprof", "7/deeper/0.mprof"})
    std::ofstream(directory.File(name)) << "log";
  EXPECT_THAT(
      cli::FilesOfPattern(directory.File("%j/%r.mprof")),
      ::testing::UnorderedElementsAre(directory.File("7/0.mprof"), directory.File("7/1.99.mprof"),
                                      directory.File("8/0.mprof")));
  EXPECT_TRUE(cli::PrepareOutput(directory.File("%j/%r.mprof")).ok());
  EXPECT_FALSE(cli::PrepareOutput(directory.File("none/%j/%r.mprof")).ok());
}

TEST(FindLogs, SkipsOldLogsAndThoseOfOtherRuns) {
  TempDirectory directory;
  GuestOptions options{.output = "a.mprof", .directory = directory.path()};
  options.arguments = {"exit", "return"};
  options.environment["MEMPROF_RUN"] = "/nowhere/this-run";
  RunGuest("guest_runtime_life", options);
  const std::string log = directory.File("a.mprof");
  EXPECT_THAT(cli::FindLogs(log, 0, "/nowhere/this-run"), ElementsAre(log));
  EXPECT_THAT(cli::FindLogs(log, 0, "/nowhere/that-run"), IsEmpty());
  EXPECT_THAT(cli::FindLogs(log, std::int64_t{1} << 62, "/nowhere/this-run"), IsEmpty());
  std::ofstream(log) << "no log";
  EXPECT_THAT(cli::FindLogs(log, 0, "/nowhere/this-run"), IsEmpty());
}

}  // namespace
}  // namespace memprof::testing
