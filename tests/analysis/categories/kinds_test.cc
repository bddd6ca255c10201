// Categories of allocations that lines of a training loop repeat in each step, against known
// categories.
#include "analysis/categories/internal/kinds.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analysis/categories/categories.h"
#include "analysis/load/load.h"
#include "tests/analysis/categories/kinds_training.h"
#include "tests/support/random_log.h"
#include "tests/support/temp_file.h"

namespace memprof::analysis {
namespace {

using testing::KindsTraining;
using testing::kWeights;
using testing::LoadLog;
using testing::LogBuilder;

// The last batch is live at the end but is not optimizer state, nor is a batch that has the size of
// a weight by chance.
// FSDP reduces the gradients of many parameters in one buffer, and leaves this rank's shard to the
// optimizer. The buffer is freed with the pass.
TEST(CategoryKindsTest, WhatABackwardPassReducesAndLeavesAreGradients) {
  KindsTraining training;
  const std::string reduce = "foreach_reduce (/x/torch/distributed/fsdp/_fsdp_collectives.py:600)";
  std::uint64_t buffer = 0;
  training.Run({.before = {},
                .between =
                    [&](int) {
                      const std::vector<std::string> way = {
                          training.Loop(12), "post_backward (/x/fsdp_param_group.py:8)", reduce};
                      buffer = training.Make(300'032, way, Category::kCommunication);
                      training.Replace("shards",
                                       {training.Make(150'016, way, Category::kGradients)});
                    },
                .after =
                    [&](int) {
                      training.Free(buffer);
                      training.Free(
                          training.Make(40'960, {training.Loop(13), "step (/x/torch/optim/a.py:8)"},
                                        Category::kTemporaries));
                    }});
  training.Expect();
}

TEST(CategoryKindsTest, BatchesAreInputsWhereverTheyAreMade) {
  for (const std::uint64_t bytes : {std::uint64_t{7'168}, kWeights[0]}) {
    KindsTraining training;
    std::vector<std::uint64_t> queue;
    training.Run({.before = [&](int) {
      queue.push_back(training.Make(bytes, {training.Loop(9)}, Category::kInputs));
      if (queue.size() < 3) return;
      training.Free(queue.front());
      queue.erase(queue.begin());
    }});
    training.Expect();
  }
}

// velocity = 0.9 * velocity + gradient, in the last step too.
TEST(CategoryKindsTest, StateThatEachStepReplacesHasTheSizesOfParameters) {
  KindsTraining training;
  training.Run({.after = [&](int) {
    std::vector<std::uint64_t> velocity;
    for (const std::uint64_t bytes : kWeights)
      velocity.push_back(training.Make(bytes, {training.Loop(14)}, Category::kOptimizerState));
    training.Replace("velocity", velocity);
  }});
  training.Expect();
}

// best = copy.deepcopy(model.state_dict()), only when the score improves.
TEST(CategoryKindsTest, CopiesNowAndThenAreOfParameters) {
  KindsTraining training;
  training.Run({.after = [&](int step) {
    if (step % 4 != 1) return;
    std::vector<std::uint64_t> best;
    for (const std::uint64_t bytes : kWeights)
      best.push_back(training.Make(bytes, {training.Loop(16)}, Category::kParameters));
    training.Replace("best", best);
  }});
  training.Expect();
}

// A result computed between the passes is an activation, even if it is still live when the next
// step begins.
TEST(CategoryKindsTest, LossesAreNoInputs) {
  KindsTraining training;
  training.Run({.between = [&](int) {
    training.Replace("loss", {training.Make(9'216, {training.Loop(12)}, Category::kActivations)});
  }});
  training.Expect();
}

// In many tutorials, optimize_model() contains a whole step.
TEST(CategoryKindsTest, AFunctionThatIsCalledSoIsNoOptimizer) {
  KindsTraining training("optimize_model");
  training.Run({.before = [&](int) {
    training.Replace("batch", {training.Make(7'168, {training.Loop(9)}, Category::kInputs)});
  }});
  training.Expect();
}

// Optimizer state that is allocated again in each step, like the history of L-BFGS.
TEST(CategoryKindsTest, WhatAnOptimizerKeepsOverTheStepIsItsState) {
  KindsTraining training;
  training.Run({.after = [&](int) {
    training.Replace(
        "history",
        {training.Make(143'360, {training.Loop(15), "LBFGS.step (/x/torch/optim/lbfgs.py:9)"},
                       Category::kOptimizerState)});
  }});
  training.Expect();
}

// The gradient of the first layer's input has the size of a weight and lives until the end of the
// pass; those of the other layers do not.
TEST(CategoryKindsTest, GradientsAreAtMostAsManyAsParameters) {
  KindsTraining training;
  const auto make = [&training](std::uint64_t bytes) {
    return training.Make(bytes, {training.Loop(12), "backward (/x/torch/_tensor.py:501)"},
                         Category::kTemporaries);
  };
  training.Run({.between =
                    [&](int) {
                      const std::uint64_t other = make(9'216), third = make(9'728);
                      training.Replace("input", {make(kWeights[0])});
                      training.Free(other);
                      training.Free(third);
                    },
                .after = [&](int) { training.Replace("input", {}); }});
  training.Expect();
}

// Bytes of each category, summed over all allocations.
std::map<Category, std::uint64_t> MadeOf(std::shared_ptr<const Session> session) {
  Symbols symbols(session);
  const Categories categories(*session, &symbols);
  std::map<Category, std::uint64_t> made;
  for (std::uint32_t i = 0; i < session->records().size(); ++i)
    made[categories.Of(AllocationId(i)).category] += session->record(AllocationId(i)).bytes;
  return made;
}

// Two processes of the same program, one with few steps: in each, its own steps determine which
// blocks live into the next step, and which step is the last.
TEST(CategoryKindsTest, EachProcessGoesByItsOwnSteps) {
  const testing::TempDirectory directory;
  std::vector<std::string> paths;
  std::map<Category, std::uint64_t> apart;
  for (const int steps : {4, 12}) {
    KindsTraining training;
    training.log().header().set_pid(static_cast<std::uint32_t>(steps));
    training.log().header().set_hostname("node");
    // The second process starts after the end of the first: its steps have the same numbers at
    // later times.
    training.log().header().set_start_unix_ns(1'000'000'000'000'000'000 +
                                              (steps > 4) * 1'000'000'000);
    const auto make = [&training](int line) {
      std::vector<std::uint64_t> made;
      for (const std::uint64_t bytes : kWeights)
        made.push_back(training.Make(bytes, {training.Loop(line)}, Category::kUnknown));
      return made;
    };
    training.Run({.after =
                      [&](int step) {
                        training.Replace("velocity", make(14));
                        if (step == 1 || step == 3) make(17);  // kept
                      }},
                 steps);
    training.Replace("velocity", {});  // at the program's end
    for (const auto& [category, bytes] : MadeOf(LoadLog(training.log()))) apart[category] += bytes;
    paths.push_back(directory.Write(std::to_string(steps) + ".mprof", training.log().Bytes()));
  }
  const auto together = LoadLogs(paths, {.find_steps = false});
  ASSERT_TRUE(together.ok()) << together.status();
  EXPECT_EQ(MadeOf(*together), apart);
}

TEST(ParameterSizesTest, BlocksGivenWholeAreNearlyOfASize) {
  constexpr std::uint64_t kMiB = 1 << 20;
  LogBuilder log;
  for (const std::uint64_t bytes : {3 * kMiB, kMiB / 2})
    log.Alloc(Layer::kBlock, 0x10000000 * bytes, bytes);
  log.Step(0);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const ParameterSizes sizes(FindCategoryUnits(*session, session->steps()));
  CategoryUnit unit;
  EXPECT_EQ(sizes.CountFor(unit), 2u);
  const auto has_nearly = [&](std::uint64_t bytes) {
    unit.bytes = bytes;
    return sizes.HasNearly(unit);
  };
  EXPECT_TRUE(has_nearly(3 * kMiB));
  EXPECT_TRUE(has_nearly(3 * kMiB + kMiB / 2));
  EXPECT_FALSE(has_nearly(4 * kMiB + kMiB / 2));
  EXPECT_FALSE(has_nearly(2 * kMiB));
  EXPECT_TRUE(has_nearly(kMiB / 2));
  EXPECT_FALSE(has_nearly(kMiB / 2 + 512)) << "small blocks are split";
}

}  // namespace
}  // namespace memprof::analysis
