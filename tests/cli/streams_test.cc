// Terminals, pipes and disks: colour and progress on terminals, and failure where output cannot be
// written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/cli/cli_test_support.h"

namespace memprof::cli::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Out = Streams::Out;

const std::vector<std::string> kCommands[] = {{"report", "train.mprof"},
                                              {"leaks", "train.mprof"},
                                              {"peak", "train.mprof"},
                                              {"fragmentation", "train.mprof"},
                                              {"dump", "train.mprof"},
                                              {"export", "-o", "-", "train.mprof"},
                                              {"verify", "train.mprof"},
                                              {"report", "--json", "train.mprof"},
                                              {"help"},
                                              {"--version"},
                                              {"leaks", "--help"}};

std::string Words(const std::vector<std::string>& arguments) {
  std::string words;
  for (const std::string& argument : arguments) words += argument + " ";
  return words;
}

bool Coloured(const std::string& text) { return text.find("\033[1m") != std::string::npos; }

TEST(StreamsTest, ColourIsForTerminalsThatCanShowIt) {
  const Logs logs;
  const auto coloured = [&logs](Out out, const std::vector<std::string>& environment) {
    const Result result =
        MemprofOn({.out = out}, {"report", "train.mprof"}, logs.path(), environment);
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("Peak"));
    return Coloured(result.out);
  };
  EXPECT_TRUE(coloured(Out::kTerminal, {"TERM=xterm"}));
  EXPECT_TRUE(coloured(Out::kTerminal, {"TERM=xterm", "NO_COLOR="}));  // empty is the same as unset
  EXPECT_FALSE(coloured(Out::kTerminal, {"TERM=dumb"}));
  EXPECT_FALSE(coloured(Out::kTerminal, {"TERM=xterm", "NO_COLOR=1"}));
  EXPECT_FALSE(coloured(Out::kTerminal, {"TERM=xterm", "NO_COLOR=1", "FORCE_COLOR=1"}));
  EXPECT_FALSE(coloured(Out::kFile, {"TERM=xterm"}));
  EXPECT_TRUE(coloured(Out::kFile, {"TERM=dumb", "FORCE_COLOR=1"}));
}

TEST(StreamsTest, ProgressIsForTerminalsAndGoesAway) {
  const Logs logs;
  for (const auto& command : kCommands) {
    if (command.size() < 2 || command[0] == "verify" || command[1] == "--help") continue;
    SCOPED_TRACE(Words(command));
    const Result plain = Memprof(command, logs.path());
    const Result result = MemprofOn({.err_terminal = true}, command, logs.path());
    EXPECT_EQ(plain.err, "");
    EXPECT_THAT(result.err, HasSubstr("reading train.mprof 75 %"));
    EXPECT_TRUE(result.err.ends_with("\r\033[K")) << "progress was left on the terminal";
    EXPECT_EQ(result.err.find('\n'), std::string::npos);
    EXPECT_EQ(result.out, plain.out);  // progress does not appear in results
  }
  const Result failed = MemprofOn({.err_terminal = true}, {"report", "none.mprof"}, logs.path());
  EXPECT_TRUE(failed.err.ends_with("none.mprof: no such file\r\n")) << failed.err;
}

TEST(StreamsTest, AFullDiskIsAFailureOfEveryVerb) {
  const Logs logs;
  for (const auto& command : kCommands) {
    const Result result = MemprofOn({.out = Out::kFullDisk}, command, logs.path());
    EXPECT_EQ(result.status, 1) << Words(command);
    EXPECT_THAT(result.err, StartsWith("memprof: standard output could not be written"));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
  // Also if a --fail-on condition holds: missing output must not look like an answer.
  const Result fails = MemprofOn({.out = Out::kFullDisk},
                                 {"leaks", "--fail-on=suspected", "train.mprof"}, logs.path());
  EXPECT_EQ(fails.status, 1);
}

TEST(StreamsTest, AClosedOutputIsAFailureAndHarmsNoLog) {
  const Logs logs;
  const auto size = std::filesystem::file_size(logs.directory().File("train.mprof"));
  for (const auto& command : kCommands) {
    const Result result = MemprofOn({.out = Out::kClosed}, command, logs.path());
    EXPECT_EQ(result.status, 1) << Words(command);
    EXPECT_THAT(result.err, StartsWith("memprof: ")) << Words(command);
  }
  EXPECT_EQ(std::filesystem::file_size(logs.directory().File("train.mprof")), size);
  EXPECT_EQ(Memprof({"verify", "train.mprof"}, logs.path()).status, 0);
}

TEST(StreamsTest, AReaderThatLeftEarlyIsNoError) {
  const Logs logs;
  for (const auto& command : kCommands) {
    const Result result = MemprofOn({.out = Out::kClosedPipe}, command, logs.path());
    EXPECT_EQ(result.status, 128 + SIGPIPE) << Words(command);  // like any filter
    EXPECT_EQ(result.err, "");
  }
}

TEST(StreamsTest, AFileThatCannotBeWrittenWholeIsNotLeftBehind) {
  const Logs logs;
  const auto& folder = logs.directory();
  const auto files = [&folder] {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(folder.File("x")).parent_path()))
      ++count;
    return count;
  };
  const std::size_t before = files();
  const Streams small = {.file_limit = 1000};
  const Result result = MemprofOn(small, {"export", "-o", "new.csv", "train.mprof"}, logs.path());
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.err, "memprof: new.csv: File too large\n");
  EXPECT_EQ(files(), before);
  // An existing file is not lost either.
  folder.Write("old.csv", "precious");
  const Result forced =
      MemprofOn(small, {"export", "--force", "-o", "old.csv", "train.mprof"}, logs.path());
  EXPECT_EQ(forced.status, 1);
  EXPECT_EQ(std::filesystem::file_size(folder.File("old.csv")), 8u);
  EXPECT_EQ(files(), before + 1);
}

}  // namespace
}  // namespace memprof::cli::testing
