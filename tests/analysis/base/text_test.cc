#include "analysis/base/text.h"

#include <gtest/gtest.h>

namespace memprof::analysis {
namespace {

TEST(LowerTest, ChangesCapitalsOfAsciiAlone) {
  EXPECT_EQ(Lower("AzZ@[`{09 _-"), "azz@[`{09 _-");
  EXPECT_EQ(Lower("\xC3\x84"), "\xC3\x84");
  EXPECT_EQ(Lower(""), "");
}

TEST(ContainsTest, FindsAPartAnywhere) {
  EXPECT_TRUE(Contains("abc", "abc"));
  EXPECT_TRUE(Contains("abc", "c"));
  EXPECT_TRUE(Contains("", ""));
  EXPECT_FALSE(Contains("abc", "ac"));
  EXPECT_FALSE(Contains("", "a"));
}

}  // namespace
}  // namespace memprof::analysis
