// Which frames the patterns of suppressions match, against a matcher that tries all possibilities.
#include "analysis/leaks/suppressions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/support/temp_file.h"

namespace memprof::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Matches the whole `text`, by trying every length for each `*`.
bool Whole(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*') {
    for (std::size_t n = 0; n <= text.size(); ++n)
      if (Whole(pattern.substr(1), text.substr(n))) return true;
    return false;
  }
  return !text.empty() && text[0] == pattern[0] && Whole(pattern.substr(1), text.substr(1));
}

TEST(SuppressionsTest, MatchesAsATwinThatTriesEverything) {
  std::mt19937 random(8);
  const auto word = [&](std::string_view letters, int most) {
    std::string text;
    for (auto n = random() % (static_cast<unsigned>(most) + 1); n > 0; --n)
      text += letters[random() % letters.size()];
    return text;
  };
  int matched = 0;
  for (int round = 0; round < 20'000; ++round) {
    const bool begin = random() % 3 == 0, end = random() % 3 == 0;
    const std::string inner = word("ab*", 6), text = word("ab", 8);
    const std::string pattern = (begin ? "^" : "") + inner + (end ? "$" : "");
    const bool reference = Whole((begin ? "" : "*") + inner + (end ? "" : "*"), text);
    ASSERT_EQ(MatchesTemplate(pattern, text), reference) << pattern << " in " << text;
    matched += reference;
  }
  EXPECT_GT(matched, 2000);
  EXPECT_LT(matched, 18'000);
}

TEST(SuppressionsTest, TakesTimeInProportion) {
  EXPECT_FALSE(MatchesTemplate("^*a*a*a*a*a*a*a*a*a*a*b$", std::string(20'000, 'a')));
}

TEST(SuppressionsTest, FunctionsFilesAndModulesOfAnyFrame) {
  const auto read =
      Suppressions::Parse("# ours\n\n  leak:^Warm*Up$\r\nleak:vendor/\nleak:libnccl\n", "s");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->patterns(), ElementsAre("^Warm*Up$", "vendor/", "libnccl"));
  const SourceFrame plain{.function = "Plain", .file = "a.cc", .module = "train"};
  EXPECT_EQ(read->Match(std::vector{plain}), -1);
  EXPECT_EQ(read->Match({}), -1);
  EXPECT_EQ(read->Match(std::vector{plain, SourceFrame{.function = "WarmItUp"}}), 0);
  EXPECT_EQ(read->Match(std::vector{plain, SourceFrame{.function = "WarmItUpAgain"}}), -1);
  EXPECT_EQ(read->Match(std::vector{SourceFrame{.function = "F", .file = "/vendor/x.cc"}}), 1);
  EXPECT_EQ(read->Match(std::vector{SourceFrame{.function = "F", .module = "libnccl.so.2"}}), 2);
}

TEST(SuppressionsTest, WhatIsNoneIsNamedWithItsLine) {
  for (const std::string_view text : {"\nrace:Foo\n", "\nleak:\n", "\nFoo", "\n leak :Foo"}) {
    const auto read = Suppressions::Parse(text, "my.supp");
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(read.status().message()), HasSubstr("my.supp:2: expected 'leak:"));
  }
}

TEST(SuppressionsTest, FilesThatCannotBeRead) {
  const testing::TempDirectory directory;
  EXPECT_EQ(Suppressions::Read(directory.File("none")).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_FALSE(Suppressions::Read(directory.File("")).ok());
  directory.Write("large", std::string((1 << 20) + 1, '#'));
  EXPECT_EQ(Suppressions::Read(directory.File("large")).status().code(),
            absl::StatusCode::kInvalidArgument);
  directory.Write("empty", "");
  const auto empty = Suppressions::Read(directory.File("empty"));
  ASSERT_TRUE(empty.ok());
  EXPECT_TRUE(empty->empty());
}

}  // namespace
}  // namespace memprof::analysis
