#include "cli/steps/steps.h"

#include <gtest/gtest.h>

#include "analysis/steps/figures.h"
#include "analysis/testing/log_builder.h"
#include "tests/support/load_log.h"

namespace memprof::cli {
namespace {

using analysis::Layer;
using analysis::testing::LoadLog;
using analysis::testing::LogBuilder;

// The last step has no end mark: work after the loop belongs to no other step.
TEST(StepsTextTest, TheLastStepGoesToTheEndOfTheRun) {
  for (const bool late : {false, true}) {
    LogBuilder log;
    log.Device(0, 1000);
    for (std::uint64_t step = 0; step < 6; ++step) {
      log.Step(step);
      log.Alloc(Layer::kLinear, 0x1000, 100);
      log.Free(0x1000);
    }
    if (late) log.AdvanceTime(1'000'000'000);
    log.Snapshot("done");
    const auto session = LoadLog(log);
    ASSERT_NE(session, nullptr);
    const std::vector<analysis::StepInfo> steps(session->steps().begin(), session->steps().end());
    const std::string text =
        StepsText(*session, steps, analysis::DescribeSteps(*session, steps), 0);
    EXPECT_EQ(text.find("0…4") != std::string::npos, late) << text;
    EXPECT_EQ(text.find("0…5") != std::string::npos, !late) << text;
    EXPECT_EQ(text.find("to the end of the run") != std::string::npos, late) << text;
  }
}

TEST(StepsJsonTest, CountsOfAStep) {
  LogBuilder log;
  log.Device(0, 1000);
  for (std::uint64_t step = 0; step < 3; ++step) {
    log.Step(step);
    log.Alloc(Layer::kLinear, 0x1000, 100);
    log.Alloc(Layer::kLinear, 0x2000 + step * 16, 8);
    log.Free(0x1000);
  }
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const std::vector<analysis::StepInfo> steps(session->steps().begin(), session->steps().end());
  const auto json = StepJson(steps[1], analysis::DescribeSteps(*session, steps)[1], {});
  EXPECT_EQ(json["allocations"], 2);
  EXPECT_EQ(json["frees"], 1);
  EXPECT_EQ(json["allocated_bytes"], 108);
  EXPECT_EQ(json["freed_bytes"], 100);
  EXPECT_EQ(json["peak_bytes"], 116);
  EXPECT_EQ(json["after_bytes"], 16);
}

}  // namespace
}  // namespace memprof::cli
