// The meaning of --fail-on conditions.
#include "cli/fail_on/conditions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memprof::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The violations that a condition reports for a figure.
std::vector<std::string> ViolationsOf(const std::string& condition, double now, double before) {
  const auto budget = Budget::Parse({condition}, Compares::kYes);
  EXPECT_TRUE(budget.ok()) << budget.status();
  if (!budget.ok()) return {};
  Figures is, was;
  for (const Metric metric : {Metric::kPeak, Metric::kHeadroom, Metric::kFragmentation,
                              Metric::kStepTime, Metric::kGrowth, Metric::kFailed}) {
    is[metric] = {{0, now}};
    was[metric] = {{0, before}};
  }
  return budget->Violations(is, &was);
}

TEST(BudgetTest, Conditions) {
  EXPECT_THAT(ViolationsOf("peak>1KiB", 1024, 0), IsEmpty());
  EXPECT_THAT(ViolationsOf("peak>1KiB", 1025, 0), ElementsAre("peak>1KiB: 1.00 KiB on device 0"));
  EXPECT_THAT(ViolationsOf("peak > 1.5 kb", 1501, 0), ::testing::SizeIs(1));
  EXPECT_THAT(ViolationsOf("peak>1.5kB", 1500, 0), IsEmpty());
  EXPECT_THAT(ViolationsOf("peak>2g", 0x1p31, 0), IsEmpty());
  EXPECT_THAT(ViolationsOf("headroom<1KiB", 1023, 0), ::testing::SizeIs(1));
  EXPECT_THAT(ViolationsOf("headroom<1KiB", 1024, 0), IsEmpty());
  EXPECT_THAT(ViolationsOf("fragmentation>30%", 30.5, 0),
              ElementsAre("fragmentation>30%: 30.5 % on device 0"));
  EXPECT_THAT(ViolationsOf("fragmentation>+5%", 34, 30), IsEmpty());  // percentage points
  EXPECT_THAT(ViolationsOf("fragmentation>+5%", 36, 30), ::testing::SizeIs(1));
  EXPECT_THAT(ViolationsOf("peak>+5%", 105, 100), IsEmpty());
  EXPECT_THAT(ViolationsOf("peak>+5%", 106, 100),
              ElementsAre("peak>+5%: 106 B on device 0, was 100 B"));
  EXPECT_THAT(ViolationsOf("peak>+5%", 1, 0), ::testing::SizeIs(1));
  EXPECT_THAT(ViolationsOf("headroom<+10", 80, 100), ::testing::SizeIs(1));  // it fell by 20
  EXPECT_THAT(ViolationsOf("step-time>+10%", 111, 100), ::testing::SizeIs(1));
  EXPECT_THAT(ViolationsOf("step-time>2us", 2001, 100), ::testing::SizeIs(1));
  EXPECT_THAT(ViolationsOf("growth>1KiB/step", 1025, 0),
              ElementsAre("growth>1KiB/step: 1.00 KiB per step on device 0"));
  EXPECT_THAT(ViolationsOf("growth>1KiB", 1025, 0), ::testing::SizeIs(1));
  EXPECT_THAT(ViolationsOf("failed>0,peak>5", 6, 0), ::testing::SizeIs(2));
}

TEST(BudgetTest, TheWorstDeviceIsNamed) {
  const auto budget = Budget::Parse({"peak>10"}, Compares::kNo);
  ASSERT_TRUE(budget.ok());
  EXPECT_THAT(budget->Violations({{Metric::kPeak, {{0, 11}, {1, 30}, {2, 20}}}}),
              ElementsAre("peak>10: 30 B on device 1"));
  EXPECT_THAT(budget->Violations({}), IsEmpty());
}

TEST(BudgetTest, WhatIsNoCondition) {
  const std::pair<const char*, const char*> wrong[] = {
      {"peek>3", "did you mean 'peak'?"},
      {"suspectd", "did you mean 'suspected'?"},
      {"total>3", "there is no figure 'total' here (peak, reserved,"},
      {"peak", "how much? For example 'peak>20GiB'"},
      {"peak>", "'' is no number"},
      {"peak>-3", "'-3' is no number"},
      {"peak>nan", "'nan' is no number"},
      {"peak>3GX", "'GX' is no unit of peak"},
      {"peak<3GiB", "write 'peak>"},
      {"peak>=3", "write 'peak>"},
      {"peak=3", "write 'peak>"},
      {"headroom>3", "write 'headroom<"},
      {"suspected>3", "takes no limit"},
      {"peak>5%", "For a change write 'peak>+5%'"},
      {"peak>+5%", "is for 'memprof diff'"},
      {"fragmentation>30", "is no unit of fragmentation; for example 'fragmentation>30%'"},
      {"failed>1MiB", "is no unit of failed"},
      {"step-time>1s", "there is no figure 'step-time' here"},
      {"", "which condition?"},
      {"peak>1,", "which condition?"}};
  for (const auto& [text, why] : wrong) {
    const auto budget = Budget::Parse({text}, Compares::kNo);
    ASSERT_FALSE(budget.ok()) << text;
    EXPECT_THAT(std::string(budget.status().message()), HasSubstr(why)) << text;
  }
}

}  // namespace
}  // namespace memprof::cli
