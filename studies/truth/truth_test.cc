// Analysis of the demo trainer's runs against what the trainer states: its marks and the names of
// its tensors. Each test records a small run on the stand-in GPU.
#include "studies/truth/truth.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <string>

#include "analysis/load/load.h"
#include "tests/support/paths.h"

namespace memprof::truth {
namespace {

struct Run {
  std::string name, options;
  double by_all = 0.95;    // share of bytes at the peak, without names
  double by_shape = 0.95;  // also without symbols and ranges
};

class TruthTest : public ::testing::TestWithParam<Run> {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/memprof_truth_XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
    const std::string log = (folder_ / "run.mprof").string();
    const std::string devices =
        GetParam().options.find("--devices") == std::string::npos ? "1" : "2";
    const std::string command =
        std::string("exec '") + paths::kCommand + "' run -o '" + log +
        "' --sim=memory=1GiB,devices=" + devices + " -- '" + paths::kDemoTrainer +
        "' --quiet --steps 6 --layers 2 --dim 32 --heads 2 --context 32 --batch 4 " +
        GetParam().options + " >'" + (folder_ / "out").string() + "' 2>&1";
    const int status = std::system(command.c_str());
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << command;
    auto session = analysis::LoadLogs({log}, {.find_steps = false});
    ASSERT_TRUE(session.ok()) << session.status();
    session_ = *session;
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  std::filesystem::path folder_;
  std::shared_ptr<const analysis::Session> session_;
};

TEST_P(TruthTest, StepsAndCategoriesAreRight) {
  const StepScore steps = ScoreSteps(*session_);
  EXPECT_EQ(steps.marked, 6u);
  EXPECT_EQ(steps.found, 6u);
  EXPECT_EQ(steps.right, 6u);
  EXPECT_GE(steps.confidence, 0.8);
  analysis::Symbols symbols(session_);
  for (const Evidence& evidence : EvidenceLeft()) {
    if (!evidence.options.stacks) continue;  // no minimum for sizes alone
    const CategoryScores scores = ScoreCategories(*session_, symbols, evidence);
    ASSERT_GT(scores.at_peaks.total, 0u);
    const bool all = evidence.options.symbols && evidence.options.ranges;
    EXPECT_GE(scores.at_peaks.Share(), all ? GetParam().by_all : GetParam().by_shape)
        << evidence.name;
    EXPECT_GE(scores.of_run.Share(), 0.9) << evidence.name;
  }
}

void PrintTo(const Run& run, std::ostream* out) { *out << run.options; }

std::string Name(const ::testing::TestParamInfo<Run>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(
    DemoTrainer, TruthTest,
    ::testing::Values(Run{"Plain", ""}, Run{"Inplace", "--inplace"},
                      Run{"Accumulation", "--grad-accum 3"},
                      Run{"Evaluation", "--eval-every 3 --empty-cache"},
                      Run{"Checkpointing", "--checkpointing"}, Run{"Bf16", "--dtype bf16"},
                      Run{"CheckpointingBf16", "--checkpointing --inplace --prefetch --dtype bf16"},
                      Run{"Cuda", "--allocator cuda"}, Run{"Async", "--allocator async"},
                      Run{"TwoDevices", "--devices 2"}),
    Name);

}  // namespace
}  // namespace memprof::truth
