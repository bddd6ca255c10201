#include "cli/shared/run_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/load/load.h"
#include "analysis/testing/log_builder.h"
#include "tests/support/temp_file.h"

namespace memprof::cli {
namespace {

using analysis::testing::LogBuilder;
using ::testing::HasSubstr;
using ::testing::Not;

// The time and steps of one run are not those of both together.
TEST(RunLinesTest, TwoRunsOneAfterTheOtherAreCalledTwo) {
  const analysis::testing::TempDirectory directory;
  std::vector<std::string> paths;
  for (const std::uint64_t run : {0, 1}) {
    LogBuilder log;
    const std::uint64_t start = 1'000'000 + run * 100'000'000;
    log.header().set_start_time_ns(start);
    log.header().set_start_unix_ns(1'000'000'000'000 + start);
    log.header().set_pid(static_cast<std::uint32_t>(7 + run));
    log.SetTime(start);
    log.Alloc(analysis::Layer::kLinear, 0x1000, 512);
    log.Step(0);
    paths.push_back(directory.Write(std::to_string(run) + ".mprof", log.Bytes()));
    const auto alone = analysis::LoadLogs({paths.back()}, {.find_steps = false});
    ASSERT_TRUE(alone.ok());
    EXPECT_THAT(RunLines(**alone), Not(HasSubstr("runs")));
  }
  const auto session = analysis::LoadLogs(paths, {.find_steps = false});
  ASSERT_TRUE(session.ok());
  const std::string lines = RunLines(**session);
  EXPECT_THAT(lines, HasSubstr("\n2 runs one after the other, 100 ms from first to last, "
                               "2 steps in all, 2 processes"));
  EXPECT_THAT(lines, HasSubstr("compare them with memprof diff"));
}

}  // namespace
}  // namespace memprof::cli
