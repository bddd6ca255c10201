#include "cli/console/controls.h"

#include <gtest/gtest.h>

namespace memprof::cli {
namespace {

TEST(ControlsTest, WhatDoesSomethingWhereItIsPrinted) {
  for (const char* one : {"\x01", "\n", "\x1b[2J", "\x7f"}) EXPECT_EQ(ControlAt(one), 1u);
  EXPECT_EQ(ControlAt(std::string_view("\0", 1)), 1u);
  EXPECT_EQ(ControlAt("\xc2\x80"), 2u);
  EXPECT_EQ(ControlAt("\xc2\x9f"), 2u);
  for (const char* one :
       {"\u2028", "\u2029", "\u200e", "\u200f", "\u202a", "\u202e", "\u2066", "\u2069"})
    EXPECT_EQ(ControlAt(one), 3u) << one;
}

TEST(ControlsTest, WhatDoesNot) {
  for (const char* one :
       {" ", "a", "\u00a0", "é", "\u2014", "\u200d", "\u2065", "\u206a", "日", "\xc2", "\xe2\x80"})
    EXPECT_EQ(ControlAt(one), 0u) << one;
  EXPECT_EQ(ControlAt("a\n"), 0u) << "only at the front";
}

TEST(ControlsTest, JsonKeepsItsMeaning) {
  EXPECT_EQ(EscapeControls("{\"a\": \"plain é 日\"}"), "{\"a\": \"plain é 日\"}");
  EXPECT_EQ(EscapeControls("\"\x7f\""), "\"\\u007f\"");
  EXPECT_EQ(EscapeControls("\"\xc2\x85 \u2028\u202e\""), "\"\\u0085 \\u2028\\u202e\"");
  EXPECT_EQ(EscapeControls("{\n  \"a\": 1\n}"), "{\n  \"a\": 1\n}") << "its own lines";
  EXPECT_EQ(EscapeControls(""), "");
}

}  // namespace
}  // namespace memprof::cli
