// Which words of a command are the program that a launcher starts.
#include "cli/run/internal/launchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/support/temp_file.h"

namespace memprof::cli {
namespace {

// The launched words, one space between them; "(no preload)" at the end if it is lost.
std::string Launched(const std::string& command) {
  const auto launched = LaunchedBy(absl::StrSplit(command, ' '));
  return absl::StrJoin(launched.words, " ") + (launched.keeps_preload ? "" : " (no preload)");
}

TEST(LaunchedBy, SkipsOptionsValuesAndOperands) {
  const std::pair<const char*, const char*> commands[] = {
      {"env A=1 B= prog -i x", "prog -i x"},
      {"/usr/bin/env -u A -C /tmp -- prog", "prog"},
      {"env -uA --unset=B --chdir /tmp prog", "prog"},
      {"env -S prog -x", "prog -x"},
      {"env -vSprog -x", "prog -x"},
      {"nice prog", "prog"},
      {"nice -5 prog", "prog"},
      {"nice -n -5 prog", "prog"},
      {"nice -n 5 prog", "prog"},
      {"nice --adjustment=5 prog", "prog"},
      {"timeout 10 prog 20", "prog 20"},
      {"timeout -v --signal KILL -k 5s 10 prog", "prog"},
      {"stdbuf -oL --error 0 prog", "prog"},
      {"setsid -w prog", "prog"},
      {"nohup prog", "prog"},
      {"/usr/bin/time -v -o file prog", "prog"},
      {"taskset -c 0-3 prog", "prog"},
      {"ionice -c2 -n 7 prog", "prog"},
      {"chrt -f 10 prog", "prog"},
      {"numactl --cpunodebind=0 -m 0 prog", "prog"},
  };
  for (const auto& [command, program] : commands) EXPECT_EQ(Launched(command), program) << command;
}

TEST(LaunchedBy, SeesThatEnvRemovesWhatIsPreloaded) {
  for (const char* command :
       {"env -i prog", "env - prog", "env -vi A=1 prog", "env --ignore-environment prog",
        "env -u LD_PRELOAD prog", "env -uLD_PRELOAD prog", "env --unset=LD_PRELOAD prog",
        "env LD_PRELOAD= prog", "env -iS prog"})
    EXPECT_EQ(Launched(command), "prog (no preload)") << command;
  EXPECT_EQ(Launched("nice -i prog"), "prog");
}

TEST(LaunchedBy, IsNothingForOtherProgramsAndUnfinishedCommands) {
  for (const char* command : {"prog A=1", "bash -c prog", "env", "env -u", "timeout 10", "timeout",
                              "nice -n", "env -S", "environment prog"})
    EXPECT_EQ(Launched(command), "") << command;
  EXPECT_EQ(LaunchedBy({}).words.size(), 0u);
}

TEST(InterpreterLine, IsTheFirstLineOfAScript) {
  const analysis::testing::TempDirectory directory;
  const auto line = [&directory](const std::string& text) {
    directory.Write("script", text);
    return absl::StrJoin(InterpreterLine(directory.File("script")), "|");
  };
  EXPECT_EQ(line("#! /bin/sh -e\necho"), "/bin/sh|-e");
  EXPECT_EQ(line("#!/usr/bin/env\tpython3\r\n"), "/usr/bin/env|python3");
  EXPECT_EQ(line("#!"), "");
  EXPECT_EQ(line("\x7f"
                 "ELF"),
            "");
  EXPECT_EQ(line(""), "");
  EXPECT_EQ(line("#!" + std::string(1000, 'x')), std::string(254, 'x')) << "as the kernel reads";
}

}  // namespace
}  // namespace memprof::cli
