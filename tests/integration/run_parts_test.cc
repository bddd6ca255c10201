// What `memprof run` determines before it starts a program: Python interpreters, the stand-in for
// PyTorch, names of logs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "analysis/load/load.h"
#include "analysis/store/session.h"
#include "analysis/testing/column.h"
#include "cli/run/log_names.h"
#include "cli/run/run.h"
#include "cli/run/sim.h"
#include "tests/integration/harness.h"

namespace memprof::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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
  EXPECT_EQ(cli::PatternOfLogs("%j/%r.%h.mprof"), "*/*.*.mprof");
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
      << "an argument of the user's program";
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

}  // namespace
}  // namespace memprof::testing
