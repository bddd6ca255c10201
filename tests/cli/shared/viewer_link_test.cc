// The command at the end of reports, as a shell reads it.
#include "cli/shared/viewer_link.h"

#include <gtest/gtest.h>

#include "tests/cli/cli_test_support.h"

namespace memprof::cli::testing {
namespace {

TEST(ViewerLink, AShellReadsTheNamesAsTheyAre) {
  EXPECT_EQ(ViewerCommand({"train.mprof"}, "view=leaks"),
            "memprof-viewer 'train.mprof#view=leaks'");
  EXPECT_EQ(ViewerCommand({"-x", "it's $(a) `b`.mprof"}, "view=leaks&site=a.cc:9"),
            "memprof-viewer './-x' 'it'\\''s $(a) `b`.mprof#view=leaks&site=a.cc:9'");
}

TEST(ViewerLink, ALineOfATerminalHasNoControls) {
  const std::string line = ShowItLine({"a\x1b[2J\nb.mprof"}, "view=leaks");
  EXPECT_EQ(line, "\nShow it: memprof-viewer 'a?[2J?b.mprof#view=leaks'\n");
}

// Names as the user wrote them; no link where there is nothing to show.
TEST(ViewerLink, ReportsEndWithOneLine) {
  const Logs logs;
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{"train.mprof"}, {"raw.mprof", "./train.mprof"}})
    for (const char* verb : {"leaks", "oom"}) {
      std::vector<std::string> arguments = names;
      arguments.insert(arguments.begin(), verb);
      const std::string out = Memprof(arguments, logs.path()).out;
      const std::size_t at = out.find("\nShow it: ");
      ASSERT_NE(at, std::string::npos) << out;
      const std::string line = out.substr(at + 1);
      EXPECT_EQ(line.find('\n'), line.size() - 1) << "the last line";
      EXPECT_NE(line.find("'" + names.back() + "#view="), std::string::npos) << line;
      EXPECT_EQ(names.size() > 1, line.find("'raw.mprof' ") != std::string::npos) << line;
    }
  for (const char* verb : {"leaks", "oom"})
    for (const char* json : {"", "--json"}) {
      std::vector<std::string> arguments = {verb, "raw.mprof"};
      if (*json != 0) arguments.push_back(json);
      const std::string out = Memprof(arguments, logs.path()).out;
      EXPECT_EQ(out.find("memprof-viewer"), std::string::npos) << out;
    }
}

}  // namespace
}  // namespace memprof::cli::testing
