// memprof run: finds its libraries, starts the program, keeps its status, and says where the log
// is.
#include "cli/run/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "analysis/load/load.h"
#include "analysis/store/session.h"
#include "analysis/testing/column.h"
#include "cli/run/sim.h"
#include "tests/integration/harness.h"

namespace memprof::testing {
namespace {

using analysis::testing::Column;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

GuestResult MemprofRun(const TempDirectory& directory, std::vector<std::string> arguments) {
  GuestOptions options{
      .preload = false, .standin = false, .output = "", .directory = directory.path()};
  options.arguments = std::move(arguments);
  return RunProgram(BuildPath("bin/test_memprof_run"), options);
}

TEST(RunVerb, RecordsOnTheStandIn) {
  TempDirectory directory;
  const GuestResult run =
      MemprofRun(directory, {"run", "-o", "a.mprof", "--sim=memory=3GiB", "--",
                             GuestPath("guest_runtime_life"), "exit", "return"});
  EXPECT_EQ(run.status, 7);
  EXPECT_EQ(run.err, "memprof: recorded to a.mprof; next: memprof report a.mprof\n");
  const Log log = ReadLog(directory.File("a.mprof"));
  EXPECT_TRUE(log.has_trailer);
  EXPECT_EQ(log.devices.at(0).capacity_bytes(), 3ull << 30);
  EXPECT_THAT(RecordedCalls(log.events), ::testing::ElementsAreArray(PrintedCalls(run)));
}

TEST(RunVerb, TheStandInIsTheGpuThatIsNamed) {
  TempDirectory directory;
  const GuestResult run =
      MemprofRun(directory, {"run", "-o", "a.mprof", "--sim=gpu=RTX3060-12GB", "--",
                             GuestPath("guest_runtime_life"), "exit", "return"});
  EXPECT_EQ(run.status, 7);
  const Log log = ReadLog(directory.File("a.mprof"));
  EXPECT_EQ(log.devices.at(0).capacity_bytes(), 12011ull << 20);
  EXPECT_EQ(log.devices.at(0).name(), "NVIDIA GeForce RTX 3060");
  EXPECT_TRUE(log.devices.at(0).simulated());
  const GuestResult wrong = MemprofRun(directory, {"run", "--sim=gpu=RTX3061", "/bin/true"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.err, ::testing::MatchesRegex("memprof run: --sim: there is no GPU model "
                                                 "RTX3061; there are H100-80GB, .*\n"));
}

// What one process uses another one cannot have, and what a killed one used is free again. Two runs
// have nothing to do with each other.
TEST(RunVerb, ProcessesOfARunShareTheDevices) {
  TempDirectory directory;
  const std::string greedy = GuestPath("guest_sharing");
  const std::string together = greedy +
                               " hold 700 & wait_for=$!; while [ ! -e held ]; do sleep "
                               "0.05; done; " +
                               greedy + " take 700; " + greedy +
                               " take 200; kill -KILL $wait_for; wait $wait_for; " + greedy +
                               " take 700";
  const GuestResult run = MemprofRun(
      directory, {"run", "--sim=memory=1GiB,overhead=0", "--", "/bin/sh", "-c", together});
  EXPECT_EQ(run.out, "no room, 324 MiB free\ntaken, 324 MiB free\ntaken, 1024 MiB free\n")
      << run.err;
  const GuestResult alone =
      MemprofRun(directory, {"run", "--sim=memory=1GiB,overhead=0", "--", greedy, "take", "700"});
  EXPECT_EQ(alone.out, "taken, 1024 MiB free\n");
}

// It fails on the stand-in, and must not look like a program without a GPU.
TEST(RunVerb, TellsOfTheStaticRuntime) {
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

TEST(RunVerb, DefaultNameHasTheProcessId) {
  TempDirectory directory;
  const GuestResult run =
      MemprofRun(directory, {"run", "--sim", GuestPath("guest_runtime_life"), "exit", "return"});
  EXPECT_EQ(run.status, 7);
  ASSERT_EQ(directory.Files(".mprof").size(), 1u);
  EXPECT_THAT(directory.Files(".mprof")[0], ::testing::MatchesRegex("memprof\\.[0-9]+\\.mprof"));
}

// Where the recorder would be the program's end, nothing is started.
TEST(RunVerb, SaysThatAProgramWouldNotStart) {
  TempDirectory directory;
  const auto expect_refused = [&](const std::string& program, const std::string& why) {
    const GuestResult run = MemprofRun(directory, {"run", "--", program});
    EXPECT_EQ(run.status, 1);
    EXPECT_THAT(run.err, ::testing::MatchesRegex("memprof run: [^\n]*" + why +
                                                 "[^\n]*it would not start[^\n]*\n"));
  };
  const std::string old = " uses glibc 2\\.31 .*/old_glibc/libc\\.so\\.6.*needs 2\\.[0-9]+";
  expect_refused(GuestPath("guest_of_old_glibc"), "guest_of_old_glibc" + old);
  expect_refused(GuestPath("guest_of_musl"), "guest_of_musl uses musl");
  // By what a script names, also in two steps and by env.
  const std::string script = directory.File("script"), outer = directory.File("outer");
  std::ofstream(script) << "#! " << GuestPath("guest_of_old_glibc") << " -x\necho started\n";
  std::ofstream(outer) << "#!/usr/bin/env -S " << script << "\n";
  ASSERT_EQ(chmod(script.c_str(), 0755) | chmod(outer.c_str(), 0755), 0);
  expect_refused(script, "guest_of_old_glibc" + old);
  expect_refused(outer, "guest_of_old_glibc" + old);
}

TEST(RunVerb, SaysThatAProgramRunsUnrecorded) {
  TempDirectory directory;
  const auto expect_run = [&](const std::string& program, const std::string& why, int status) {
    const GuestResult run = MemprofRun(directory, {"run", "--", program});
    if (status != 0) {
      EXPECT_EQ(run.status, status) << run.err;
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
  expect_run(other, "is for another kind of processor", 0);  // a shell may try it
  if (geteuid() == 0) {
    const std::string own = directory.File("own");
    std::filesystem::copy_file(GuestPath("guest_plain"), own);
    ASSERT_EQ(chown(own.c_str(), 65534, 65534) | chmod(own.c_str(), 04755), 0);
    expect_run(own, "is set-uid", 5);
  }
}

TEST(RunVerb, PutsTheAgentIntoEveryPython) {
  TempDirectory directory;
  const std::vector<std::string> print = {"--", "/bin/sh", "-c",
                                          "echo \"$PYTHONPATH $MEMPROF_AGENT\""};
  std::vector<std::string> words = {"run", "--torch"};
  words.insert(words.end(), print.begin(), print.end());
  EXPECT_THAT(MemprofRun(directory, words).out,
              ::testing::MatchesRegex("/.*/lib/memprof/inject(:.*)? torch\n"));
  words[1] = "--verbose";
  EXPECT_THAT(MemprofRun(directory, words).out, ::testing::Not(::testing::HasSubstr("inject")));
}

// A Python is seen to; what a shell starts may have wanted a PyTorch's other libraries.
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

TEST(RunVerb, PassesStatusAndSignalsOn) {
  TempDirectory directory;
  EXPECT_EQ(MemprofRun(directory, {"run", "--", "/bin/sh", "-c", "exit 42"}).status, 42);
  EXPECT_EQ(MemprofRun(directory, {"run", "--", "/bin/sh", "-c", "kill -KILL $$"}).status,
            128 + SIGKILL);
}

TEST(RunVerb, ForwardsTermination) {
  TempDirectory directory;
  GuestOptions options{
      .preload = false, .standin = false, .output = "", .directory = directory.path()};
  options.arguments = {"run",  "--sim", "-o", "a.mprof", "--", GuestPath("guest_runtime_life"),
                       "loop", "10"};
  RunningGuest run(BuildPath("bin/test_memprof_run"), options);
  ASSERT_EQ(run.ReadLine(), "done");
  kill(run.pid(), SIGTERM);
  EXPECT_EQ(run.Wait().status, 128 + SIGTERM);
  EXPECT_FALSE(ReadLog(directory.File("a.mprof")).has_trailer);
}

TEST(RunVerb, PutsWhatAKilledProgramLeftIntoTheLog) {
  TempDirectory directory;
  GuestOptions options{
      .preload = false, .standin = false, .output = "", .directory = directory.path()};
  options.arguments = {
      "run", "--sim",   "-o", "a.mprof",
      "--",  "/bin/sh", "-c", "echo $$; exec " + GuestPath("guest_runtime_life") + " loop 50000"};
  RunningGuest run(BuildPath("bin/test_memprof_run"), options);
  const pid_t guest = std::stoi(run.ReadLine());
  ASSERT_EQ(run.ReadLine(), "done");
  kill(guest, SIGKILL);
  EXPECT_EQ(run.Wait().status, 128 + SIGKILL);
  EXPECT_THAT(directory.Files(".ring"), IsEmpty());
  const auto session = analysis::LoadLogs({directory.File("a.mprof")}, {.find_steps = false});
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ(std::ranges::count(Column((*session)->events(), &analysis::EventTable::op),
                               analysis::Op::kAlloc),
            50000);
  EXPECT_EQ(std::ranges::count(Column((*session)->events(), &analysis::EventTable::op),
                               analysis::Op::kFree),
            25000);
  EXPECT_FALSE((*session)->run().complete);
  ASSERT_EQ((*session)->anomalies().size(), 1u);
  EXPECT_EQ((*session)->anomalies()[0].anomaly, log::Anomaly::kRingRecovered);
  EXPECT_EQ((*session)->anomalies()[0].count, 1u);
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

TEST(RunVerb, ReplacesALogAndNothingElse) {
  TempDirectory directory;
  std::ofstream(directory.File("notes.txt")) << "precious";
  const GuestResult refused = MemprofRun(
      directory,
      {"run", "--sim", "-o", "notes.txt", "--", GuestPath("guest_runtime_life"), "exit", "return"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("notes.txt exists and is not a log of memprof"));
  EXPECT_EQ(refused.out, "");
  for (int round = 0; round < 2; ++round) {
    const GuestResult run = MemprofRun(
        directory,
        {"run", "--sim", "-o", "a.mprof", "--", GuestPath("guest_runtime_life"), "exit", "return"});
    EXPECT_EQ(run.status, 7);
    EXPECT_THAT(directory.Files(".mprof"), ElementsAre("a.mprof"));
  }
  const GuestResult nowhere =
      MemprofRun(directory, {"run", "-o", "missing/a.mprof", "--", "/bin/true"});
  EXPECT_EQ(nowhere.status, 1);
  EXPECT_THAT(nowhere.err, HasSubstr("cannot write to"));
}

TEST(RunVerb, SeveralProcessesWriteSeveralLogs) {
  TempDirectory directory;
  const std::string guest = GuestPath("guest_runtime_life");
  const GuestResult run =
      MemprofRun(directory, {"run", "--sim", "-o", "a.mprof", "--", "/bin/sh", "-c",
                             guest + " exit return; " + guest + " exit return; exit 0"});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(directory.Files(".mprof").size(), 2u);
  EXPECT_THAT(run.err, HasSubstr("recorded 2 processes"));
  EXPECT_THAT(run.err, HasSubstr("next: memprof report a*.mprof\n"));
}

TEST(RunVerb, ASignalBeginsWhatStartedPaused) {
  TempDirectory directory;
  const GuestResult run =
      MemprofRun(directory, {"run", "--sim", "--start-paused", "--signal", "USR2", "-o", "a.mprof",
                             "--", GuestPath("guest_hardship"), "toggle", "plain"});
  EXPECT_EQ(run.status, 0) << run.out;
  EXPECT_EQ(ReadLog(directory.File("a.mprof")).WithOp(log::OP_ALLOC).size(), 2u);
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

TEST(ProgramIndex, EndsOptionsAtTheProgram) {
  const auto index = [](std::vector<std::string> words) {
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    return cli::ProgramIndex(static_cast<int>(words.size()), argv.data());
  };
  EXPECT_EQ(index({"run", "prog", "--x"}), 1);
  EXPECT_EQ(index({"run", "--", "--x"}), 2);
  EXPECT_EQ(index({"run", "-o", "prog", "real"}), 3);
  EXPECT_EQ(index({"run", "--sim", "real"}), 2);
  EXPECT_EQ(index({"run", "--stack-depth=5", "real"}), 2);
  EXPECT_EQ(index({"run", "--sim"}), 2);
}

TEST(PatternOfLogs, IsWhatAShellExpandsToTheLogs) {
  EXPECT_EQ(cli::PatternOfLogs("r/run.%p.mprof"), "r/run.*.mprof");
  EXPECT_EQ(cli::PatternOfLogs("%h-%p.mprof"), "*-*.mprof");
  EXPECT_EQ(cli::PatternOfLogs("run.mprof"), "run*.mprof");
  EXPECT_EQ(cli::PatternOfLogs("a.b/run"), "a.b/run*");
}

class PythonOfTest : public ::testing::Test {
 protected:
  std::string Script(const std::string& name, const std::string& text) {
    std::ofstream(directory_.File(name)) << text;
    std::filesystem::permissions(directory_.File(name), std::filesystem::perms::owner_all);
    return directory_.File(name);
  }
  std::string PythonOf(const std::vector<std::string>& words) const {
    return cli::PythonOf(words, directory_.path() + ":/bin:/usr/bin");
  }
  TempDirectory directory_;
};

TEST_F(PythonOfTest, IsTheProgramOrWhatRunsItsScript) {
  const std::string python = Script("python3.11", "#!/bin/sh\n");
  EXPECT_EQ(PythonOf({python, "train.py"}), python);
  EXPECT_EQ(PythonOf({"python3.11", "train.py"}), python);
  EXPECT_EQ(PythonOf({Script("torchrun", "#!" + python + "\nimport x\n"), "train.py"}), python);
  EXPECT_EQ(PythonOf({Script("by_env", "#!/usr/bin/env python3.11\n")}), python);
  const std::string by_shell = "#!/bin/sh\n'''exec' \"" + python + "\" \"$0\" \"$@\"\n' '''\n";
  EXPECT_EQ(PythonOf({Script("far_away", by_shell)}), python);
  EXPECT_EQ(PythonOf({"env", "A=1", "nice", "python3.11", "train.py"}), python);
}

TEST_F(PythonOfTest, IsNoneOfOtherPrograms) {
  const std::string python = Script("python3.11", "#!/bin/sh\n");
  EXPECT_EQ(PythonOf({"/bin/sh", "-c", "python3.11 train.py"}), "");
  EXPECT_EQ(PythonOf({Script("shell", "#!/bin/sh\npython3.11\n"), python}), "")
      << "an argument of a program of its own";
  EXPECT_EQ(PythonOf({Script("python3.11-config", "#!/bin/sh\n")}), "");
  EXPECT_EQ(PythonOf({"no-such-program"}), "");
  EXPECT_EQ(PythonOf({directory_.path()}), "");
  EXPECT_EQ(PythonOf({Script("empty", "")}), "");
  EXPECT_EQ(PythonOf({}), "");
}

TEST_F(PythonOfTest, TheEnvironmentIsWhatTorchSimSays) {
  using Environment = std::map<std::string, std::string>;
  EXPECT_EQ(cli::ParseEnvironment(std::string("A=1\0B==\n2\0=3\0C\0", 14)),
            (Environment{{"A", "1"}, {"B", "=\n2"}}));
  const std::string says =
      Script("says", "#!/bin/sh\nprintf 'ALL=%s %s\\0' \"$*\" \"$MEMPROF_SIMCUDA_DIR\"\n");
  const auto environment = cli::EnvironmentForPython(says, "/x/python", "/the/stand-in");
  ASSERT_TRUE(environment.ok()) << environment.status();
  EXPECT_EQ(*environment, (Environment{{"ALL", "--python /x/python --environment /the/stand-in"}}));
  EXPECT_EQ(getenv("MEMPROF_SIMCUDA_DIR"), nullptr);
  const auto failed =
      cli::EnvironmentForPython(Script("fails", "#!/bin/sh\nexit 1\n"), "/x/python", "/sim");
  EXPECT_THAT(std::string(failed.status().message()), HasSubstr("/x/python"));
}

TEST_F(PythonOfTest, BinariesAreTheProgramAndWhatIsGivenByItsPath) {
  const std::string script = Script("script", "#!/bin/sh\n");
  const auto binaries = [&](const std::vector<std::string>& words) {
    return cli::BinariesOf(words, directory_.path() + ":/bin:/usr/bin");
  };
  const std::string program = GuestPath("guest_sharing");
  EXPECT_THAT(binaries({program, "take"}), ElementsAre(program));
  EXPECT_THAT(binaries({script, program, "nothing", "/etc/passwd"}), ElementsAre(program));
  const auto with_env = binaries({"env", "A=1", program});
  ASSERT_EQ(with_env.size(), 2u);
  EXPECT_EQ(with_env[1], program);
  EXPECT_THAT(binaries({"no-such-program"}), IsEmpty());
  EXPECT_THAT(binaries({}), IsEmpty());

  EXPECT_FALSE(cli::NamesCudaLibraries(program));
  EXPECT_TRUE(cli::NamesCudaLibraries(Script("names", "a libcublas.so.12 b")));
  EXPECT_FALSE(
      cli::NamesCudaLibraries(Script("other", "libcublas.so libcudart.so.12 libcurl.so.4")));
  const std::string apart = std::string((1 << 20) - 5, 'x') + "libcufft.so.11";
  EXPECT_TRUE(cli::NamesCudaLibraries(Script("apart", apart))) << "across two pieces of the file";
}

TEST(FindTorchSim, IsBesideABuildTreeAndInAnInstalledPrefix) {
  TempDirectory directory;
  namespace fs = std::filesystem;
  const auto place = [&](const std::string& path) {
    const fs::path file = fs::path(directory.path()) / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << "#!/bin/sh\n";
    fs::permissions(file, fs::perms::owner_all);
    return fs::weakly_canonical(file).string();
  };
  fs::create_directories(fs::path(directory.path()) / "tree/build/bin");
  fs::create_directories(fs::path(directory.path()) / "usr/bin");
  EXPECT_EQ(cli::FindTorchSim(directory.path() + "/tree/build/bin"), "");
  const std::string of_tree = place("tree/scripts/torch-sim");
  EXPECT_EQ(cli::FindTorchSim(directory.path() + "/tree/build/bin"), of_tree);
  const std::string installed = place("usr/share/memprof/scripts/torch-sim");
  EXPECT_EQ(cli::FindTorchSim(directory.path() + "/usr/bin"), installed);
}

TEST(FindLogs, MatchesWhatTheRecorderMayHaveNamed) {
  TempDirectory directory;
  for (const char* name :
       {"a.mprof", "a.12.mprof", "a.12.3.mprof", "a.x.mprof", "ab.mprof", "a.mprof.ring"})
    std::ofstream(directory.File(name)) << "x";
  EXPECT_EQ(cli::FindLogs(directory.File("a.mprof"), 0).size(), 3u);
  EXPECT_EQ(cli::FindLogs(directory.File("a.%p.mprof"), 0).size(), 2u);
  EXPECT_THAT(cli::FindLogs(directory.File("a.mprof"), std::int64_t{1} << 62), IsEmpty());
}

}  // namespace
}  // namespace memprof::testing
