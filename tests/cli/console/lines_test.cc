#include "cli/console/lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;

TEST(LinesTest, PercentIsShortAndHonest) {
  EXPECT_EQ(Percent(0, 8), "0 %");
  EXPECT_EQ(Percent(1, 3), "33 %");
  EXPECT_EQ(Percent(9.94, 100), "9.9 %");
  EXPECT_EQ(Percent(9.96, 100), "10 %");
  EXPECT_EQ(Percent(3, 2), "150 %");
  EXPECT_EQ(Percent(1, 0), "-");
  EXPECT_EQ(Percent(1, -1), "-");
}

TEST(LinesTest, NoneAreLeftOutForZero) {
  EXPECT_EQ(Shown(7, 0), 7u);
  EXPECT_EQ(Shown(7, 3), 3u);
  EXPECT_EQ(Shown(2, 3), 2u);
}

TEST(LinesTest, MoreLineOnlyWhereSomethingIsMissing) {
  EXPECT_EQ(MoreLine(3, 3), "");
  EXPECT_EQ(MoreLine(0, 0), "");
  EXPECT_THAT(MoreLine(10, 1200), HasSubstr("and 1,190 more (--top=0 for all)"));
}

}  // namespace
}  // namespace memprof::cli
