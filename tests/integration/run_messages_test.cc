// Messages of `memprof run` about programs that cannot be recorded as requested.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "analysis/load/load.h"
#include "analysis/store/session.h"
#include "analysis/testing/column.h"
#include "cli/run/run.h"
#include "cli/run/sim.h"
#include "tests/integration/harness.h"
#include "tests/integration/run_command.h"

namespace memprof::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(RunVerb, TheStandInIsTheGpuThatIsNamed) {
  TempDirectory directory;
  const GuestResult run =
      MemprofRun(directory, {"run", "-o", "a.mprof", "--sim=gpu=RTX3060-12GB", "--",
                             GuestPath("guest_runtime_life"), "exit", "return"});
  EXPECT_EQ(run.status, 7);
  const Log log = ReadLog(directory.File("a.mprof"));
  EXPECT_EQ(log.devices.at(0).capacity_bytes(), 12037ull << 20);
  EXPECT_EQ(log.devices.at(0).name(), "NVIDIA GeForce RTX 3060");
  EXPECT_TRUE(log.devices.at(0).simulated());
  const GuestResult wrong = MemprofRun(directory, {"run", "--sim=gpu=RTX3061", "/bin/true"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.err, ::testing::MatchesRegex("memprof run: --sim: there is no GPU model "
                                                 "RTX3061; there are H100-80GB, .*\n"));
}

// It fails on the stand-in, and must not be reported as a program without a GPU.
TEST(RunVerb, ReportsTheStaticRuntime) {
  TempDirectory directory;
  const std::string guest = GuestPath("guest_sharing");
  for (const std::vector<std::string>& started :
       {std::vector<std::string>{guest, "static"},
        std::vector<std::string>{"/bin/sh", "-c", guest + " static; exit 0"}}) {
    std::vector<std::string> words = {"run", "--sim", "--"};
    words.insert(words.end(), started.begin(), started.end());
    const GuestResult run = MemprofRun(directory, words);
    EXPECT_THAT(run.err, HasSubstr("guest_sharing carries NVIDIA's static CUDA runtime"));
    EXPECT_THAT(run.err, HasSubstr("nvcc -cudart shared"));
    EXPECT_THAT(run.err, ::testing::Not(HasSubstr("used no GPU")));
  }
}

// Programs that would end at once with the recorder preloaded, also behind scripts and launchers.
std::vector<std::vector<std::string>> WouldBreak(const TempDirectory& directory) {
  const std::string old = GuestPath("guest_of_old_glibc");
  const std::string script = directory.File("script"), outer = directory.File("outer");
  std::ofstream(script) << "#! " << old << " -x\necho started\n";
  std::ofstream(outer) << "#!/usr/bin/env -S " << script << "\n";
  EXPECT_EQ(chmod(script.c_str(), 0755) | chmod(outer.c_str(), 0755), 0);
  return {{old}, {script}, {outer}, {"nice", "-n", "1", "timeout", "-k9", "60", "env", "A=1", old}};
}

TEST(RunVerb, StartsWithoutTheRecorderWhatItWouldBreak) {
  TempDirectory directory;
  const auto expect_alone = [&](const std::vector<std::string>& command, const std::string& why) {
    std::vector<std::string> words = {"run", "--"};
    words.insert(words.end(), command.begin(), command.end());
    const GuestResult run = MemprofRun(directory, words);
    EXPECT_EQ(run.status, 5) << run.err;
    EXPECT_EQ(run.out, "alone\n");
    EXPECT_THAT(run.err, ::testing::MatchesRegex("memprof: [^\n]*" + why +
                                                 "[^\n]*: it runs, but is not recorded; [^\n]*\n"));
  };
  for (const auto& command : WouldBreak(directory))
    expect_alone(
        command,
        "guest_of_old_glibc uses glibc 2\\.31 .*/old_glibc/libc\\.so\\.6.*needs 2\\.[0-9]+");
  expect_alone({GuestPath("guest_of_musl")}, "guest_of_musl uses musl");
  // Also if an outer memprof run has preloaded it.
  GuestOptions options{.standin = false, .output = "", .directory = directory.path()};
  options.arguments = {"run", "--", GuestPath("guest_of_musl")};
  const GuestResult inner = RunProgram(BuildPath("bin/test_memprof_run"), options);
  EXPECT_EQ(inner.out, "alone\n") << inner.err;
}

// Here the loader would really end the program.
TEST(RunVerb, ARecorderForANewerLibraryIsNotPreloaded) {
  TempDirectory directory;
  std::filesystem::create_directory(directory.File("bin"));
  std::filesystem::create_directory(directory.File("lib"));
  const std::string recorder = directory.File("lib/libmemprof.so");
  std::filesystem::copy_file(GuestPath("later_glibc/lib/libmemprof.so"), recorder);
  std::filesystem::copy_file(BuildPath("bin/test_memprof_run"), directory.File("bin/memprof"));
  GuestOptions options{
      .preload = false, .standin = false, .output = "", .directory = directory.path()};
  options.environment["LD_PRELOAD"] = recorder;
  EXPECT_EQ(RunProgram(GuestPath("guest_plain"), options).status, 1) << "nothing is tested here";
  options.environment.clear();
  options.arguments = {"run", "--", GuestPath("guest_plain")};
  const GuestResult run = RunProgram(directory.File("bin/memprof"), options);
  EXPECT_EQ(run.status, 5);
  EXPECT_EQ(run.out, "alone\n");
  EXPECT_THAT(run.err, ::testing::MatchesRegex(
                           "memprof: [^\n]* uses glibc 2\\.[0-9]+ \\(/[^\n]*/libc\\.so\\.6\\), and "
                           "the recorder needs 9\\.9: it runs, but is not recorded; [^\n]*\n"));
}

TEST(RunVerb, StopsBeforeWhatCannotBeRecordedIfAsked) {
  TempDirectory directory;
  std::ofstream(directory.File("a.mprof")).flush();  // a log that would be replaced
  std::vector<std::vector<std::string>> commands = WouldBreak(directory);
  commands.push_back({GuestPath("guest_of_musl")});
  commands.push_back({GuestPath("guest_static")});
  for (const auto& command : commands) {
    std::vector<std::string> words = {"run", "-o", "a.mprof", "--unrecorded", "stop", "--"};
    words.insert(words.end(), command.begin(), command.end());
    const GuestResult run = MemprofRun(directory, words);
    EXPECT_EQ(run.status, 1);
    EXPECT_EQ(run.out, "");
    EXPECT_THAT(run.err,
                ::testing::MatchesRegex("memprof run: [^\n]*: it was not started; [^\n]*\n"));
    EXPECT_TRUE(std::filesystem::exists(directory.File("a.mprof")));
  }
  EXPECT_EQ(MemprofRun(directory, {"run", "--unrecorded=stop", "--", "/bin/true"}).status, 0);
  EXPECT_EQ(MemprofRun(directory, {"run", "--unrecorded=ask", "--", "/bin/true"}).status, 2);
}

TEST(RunVerb, SaysThatAProgramRunsUnrecorded) {
  TempDirectory directory;
  const auto expect_run = [&](const std::string& program, const std::string& why, int status) {
    const GuestResult run = MemprofRun(directory, {"run", "--", program});
    if (status != 0) {
      EXPECT_EQ(run.status, status) << run.err;
      EXPECT_EQ(run.out, "preloaded\n") << "what it starts may be recorded";
    }
    EXPECT_THAT(run.err, ::testing::StartsWith("memprof: " + program + " " + why));
    return run.err;
  };
  const std::string said =
      expect_run(GuestPath("guest_static"), "is linked statically, so nothing can be preloaded", 5);
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << "it may have used a GPU: " << said;
  const std::string other = directory.File("other");
  std::filesystem::copy_file(GuestPath("guest_plain"), other);
  {
    std::fstream file(other, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(18);       // e_machine
    file.put(22).put(0);  // s390
  }
  // the program may be a script for a shell
  expect_run(other, "is for another kind of processor", 0);
  if (geteuid() == 0) {
    const std::string own = directory.File("own");
    std::filesystem::copy_file(GuestPath("guest_plain"), own);
    ASSERT_EQ(chown(own.c_str(), 65534, 65534) | chmod(own.c_str(), 04755), 0);
    const GuestResult run = MemprofRun(directory, {"run", "--", own});
    EXPECT_EQ(run.status, 5);
    EXPECT_THAT(run.err, HasSubstr(own + " is set-uid"));
    EXPECT_EQ(run.out, "alone\n") << "the loader removes LD_PRELOAD";
  }
}

// For Python programs memprof chooses libraries itself; a program that a shell starts may need
// those of another PyTorch.
TEST(RunVerb, SaysWhatAPyTorchNeeds) {
  TempDirectory directory;
  const std::string shell = directory.File("bash");
  const std::string other = directory.File("ruby");
  ASSERT_EQ(0, symlink("/bin/false", shell.c_str()));
  ASSERT_EQ(0, symlink("/bin/false", other.c_str()));
  const auto hint = ::testing::HasSubstr("scripts/torch-sim --python PYTHON");
  const GuestResult simulated = MemprofRun(directory, {"run", "--sim", "--", shell});
  EXPECT_EQ(simulated.status, 1);
  EXPECT_THAT(simulated.err, hint);
  EXPECT_THAT(MemprofRun(directory, {"run", "--", shell}).err, ::testing::Not(hint));
  EXPECT_THAT(MemprofRun(directory, {"run", "--sim", "--", other}).err, ::testing::Not(hint));
}

TEST(RunVerb, SaysWhenThereWasNoCuda) {
  TempDirectory directory;
  const GuestResult run = MemprofRun(directory, {"run", "--", "/bin/echo", "-o", "hello"});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.out, "-o hello\n");
  EXPECT_EQ(run.err, "memprof: the program used no GPU; no log was written\n");
}

TEST(RunVerb, SaysThatNoGpuWasUsedOnlyWhereThatWasSeen) {
  TempDirectory directory;
  std::filesystem::create_directory(directory.File("sub"));
  const std::string guest = GuestPath("guest_runtime_life") + " exit return";
  const GuestResult failed = MemprofRun(directory, {"run", "--sim", "-o", "sub/a.mprof", "--",
                                                    "/bin/sh", "-c", "rmdir sub; exec " + guest});
  EXPECT_EQ(failed.status, 7);
  EXPECT_THAT(failed.err, HasSubstr("cannot record to "));
  EXPECT_THAT(failed.err, HasSubstr("no log was written, for the reason above\n"));
  EXPECT_THAT(failed.err, ::testing::Not(HasSubstr("used no GPU")));
  const GuestResult early = MemprofRun(
      directory, {"run", "--", "/bin/sh", "-c", "sleep 5 </dev/null >/dev/null 2>&1 & echo $!"});
  EXPECT_EQ(early.err, "memprof: no log was written so far; process " +
                           early.out.substr(0, early.out.find('\n')) +
                           ", which the program started, still runs\n");
}

// Its runtime stops a program in which another library comes first.
TEST(RunVerb, ProgramsWithAddressSanitizerStart) {
  if (MEMPROF_IS_SANITIZED) GTEST_SKIP();
  TempDirectory directory;
  const GuestResult run =
      MemprofRun(directory, {"run", "--sim", "-o", "a.mprof", "--", GuestPath("guest_with_asan")});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, "ended\n");
  EXPECT_EQ(ReadLog(directory.File("a.mprof")).WithOp(log::OP_ALLOC).size(), 1u);
}

TEST(RunVerb, WrongUsageIsTwoAndAMissingProgram127) {
  TempDirectory directory;
  EXPECT_EQ(MemprofRun(directory, {"run"}).status, 2);
  EXPECT_EQ(MemprofRun(directory, {"run", "--nonsense", "--", "/bin/true"}).status, 2);
  const GuestResult missing = MemprofRun(directory, {"run", "--", "no-such-program"});
  EXPECT_EQ(missing.status, 127);
  EXPECT_EQ(missing.err, "memprof run: no-such-program: No such file or directory\n");
  const GuestResult folder = MemprofRun(directory, {"run", "--", directory.path()});
  EXPECT_EQ(folder.status, 126);
  const GuestResult help = MemprofRun(directory, {"run", "--help"});
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.out, HasSubstr("--start-paused"));
  EXPECT_THAT(help.out, HasSubstr("torchrun"));
}

TEST(RunVerb, StartPausedSaysWhyThereIsNoLog) {
  TempDirectory directory;
  const GuestResult run =
      MemprofRun(directory, {"run", "--sim", "--start-paused", "-o", "a.mprof", "--",
                             GuestPath("guest_runtime_life"), "exit", "return"});
  EXPECT_EQ(run.status, 7);
  EXPECT_THAT(run.err, HasSubstr("memprof_start()"));
  EXPECT_THAT(directory.Files(""), IsEmpty());
}

}  // namespace
}  // namespace memprof::testing
