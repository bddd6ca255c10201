// Standard error and output when neither is a terminal; streams_test.cc tests terminals.
#include "cli/console/terminal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

namespace memprof::cli {
namespace {

using ::testing::internal::CaptureStderr;
using ::testing::internal::CaptureStdout;
using ::testing::internal::GetCapturedStderr;
using ::testing::internal::GetCapturedStdout;

TEST(TerminalTest, AMessageIsOneLineAndHarmless) {
  CaptureStderr();
  PrintError("a\x1b[2Jlog: no\nsuch file");
  PrintNote("all is well");
  const std::string text = GetCapturedStderr();
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  EXPECT_TRUE(text.starts_with("memprof: a")) << text;
  EXPECT_TRUE(text.ends_with("memprof: note: all is well\n")) << text;
}

TEST(TerminalTest, WritesAllAsItIs) {
  CaptureStdout();
  EXPECT_TRUE(WriteOut(std::string_view("one\0two\n", 8)));
  EXPECT_TRUE(WriteOut(""));
  std::fflush(stdout);
  EXPECT_EQ(GetCapturedStdout(), std::string("one\0two\n", 8));
}

TEST(TerminalTest, NoProgressIntoAFile) {
  CaptureStderr();
  EXPECT_FALSE(ProgressOnTerminal("loading"));
  ClearProgress();
  EXPECT_EQ(GetCapturedStderr(), "");
}

TEST(TerminalTest, PlainIsNeverStyled) { EXPECT_EQ(Styled(Style::kPlain, "text"), "text"); }

}  // namespace
}  // namespace memprof::cli
