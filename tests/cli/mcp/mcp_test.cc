// memprof mcp: its options, and the start of Python. tests/mcp has the server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/cli/cli_test_support.h"
#include "tests/cli/status_fixture.h"

namespace memprof::cli::testing {
namespace {

using ::testing::HasSubstr;

// A Python that prints what it gets, a line.
Result McpWithPython(const std::vector<std::string>& arguments) {
  const analysis::testing::TempDirectory directory;
  const std::string python =
      directory.Write("python", "#!/bin/sh\necho \"$*\"\nbasename \"$MEMPROF_COMMAND\"\n");
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  return Memprof(arguments, ".", {"MEMPROF_PYTHON=" + python});
}

TEST(Mcp, StartsPythonWithTheSameWords) {
  const Result result = McpWithPython({"mcp", "--source=/work", "--seconds", "5", "/logs"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, "-m memprof._mcp --source=/work --seconds 5 /logs\nmemprof\n");
  EXPECT_EQ(McpWithPython({"mcp"}).out, "-m memprof._mcp\nmemprof\n");
}

TEST(Mcp, ChecksItsOptions) {
  EXPECT_EQ(McpWithPython({"mcp", "--sorce=/work"}).status, 2);
  for (const std::string seconds : {"0", "-1", "3601", "long"}) {
    const Result result = McpWithPython({"mcp", "--seconds=" + seconds, "/logs"});
    EXPECT_EQ(result.status, 2) << seconds;
    EXPECT_EQ(result.out, "");
  }
  for (const std::string seconds : {"1", "3600"})
    EXPECT_EQ(McpWithPython({"mcp", "--seconds=" + seconds, "/logs"}).status, 0) << seconds;
}

TEST(Mcp, SaysWhatItNeedsWithoutPython) {
  const Result result = Memprof({"mcp"}, ".", {"MEMPROF_PYTHON=/no/such/python"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("memprof-gpu[mcp]"));
  EXPECT_THAT(Memprof({"fleet", "report", "x"}, ".", {"MEMPROF_PYTHON=/no/such/python"}).err,
              HasSubstr("memprof-gpu[fleet]"));
}

}  // namespace
}  // namespace memprof::cli::testing
