// Steps found by Python frames: of loops that train, keep everything, or never repeat.
#include "analysis/steps/internal/frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "analysis/steps/found.h"
#include "tests/analysis/steps/frames_fixture.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::BirthsBefore;
using testing::FreeAll;
using ::testing::HasSubstr;
using testing::LoadLog;
using testing::LogBuilder;
using testing::Loop;

TEST(StepFramesTest, RolesAreSaidByTheInnermostFrameThatSaysAny) {
  LogBuilder log;
  const auto alloc = [&log](std::vector<std::string> frames) {
    log.Alloc(Layer::kBlock, 0x1000, 64, {.stack = log.Stack(frames)});
    log.Free(Layer::kBlock, 0x1000);
  };
  const std::string optimizer = "step (/v/torch/optim/sgd.py:1)";
  alloc({"main (a.py:1)"});
  alloc({"main (a.py:1)", "Net.forward (a.py:2)", "relu (a.py:3)"});
  alloc({"main (a.py:1)", optimizer, "mul (a.py:9)"});
  alloc({"Net.forward (a.py:2)", "Tensor.backward (a.py:5)"});
  alloc({"backward of Net.forward (a.py:2)"});
  alloc({"Mine.backward (a.py:4)", "Net.forward (a.py:2)"});  // recomputed
  alloc({optimizer, "closure (a.py:7)", "Net.forward (a.py:2)"});
  alloc({"fast_forward (a.py:2)", "feedbackward (a.py:2)"});
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const StackRoles by_stack = RolesOfStacks(*session);
  const std::vector<Role> roles =
      RolesOf(*session, by_stack, StreamOf(*session, StepLayer::kBlocks, true));
  EXPECT_EQ(roles,
            (std::vector<Role>{Role::kOther, Role::kForward, Role::kOptimizer, Role::kBackward,
                               Role::kBackward, Role::kForward, Role::kForward, Role::kOther}));
  LogBuilder silent;
  silent.Alloc(Layer::kBlock, 0x1000, 64, {.stack = silent.Stack({"main (a.cc:1)"})});
  EXPECT_TRUE(RolesOfStacks(*LoadLog(silent)).role.empty());
}

// A loop that never frees its graphs is training if it has a backward pass; set-up has none.
TEST(StepFramesTest, StepsThatKeepEverythingButLearn) {
  for (const bool learns : {true, false}) {
    Loop loop;
    for (int step = 0; step < 24; ++step) {
      const std::uint64_t input = loop.Alloc(kMiB / 16, {});
      for (int i = 0; i < 6; ++i) loop.Forward((i + 1) * kMiB, std::to_string(i));
      for (int i = 0; i < 6; ++i)
        learns ? loop.Backward((i + 1) * kMiB, std::to_string(i))
               : loop.Forward((i + 1) * kMiB, std::to_string(20 + i));
      loop.Free(input);
    }
    const auto session = LoadLog(loop.log());
    ASSERT_NE(session, nullptr);
    const FoundSteps found = FindSteps(*session);
    if (!learns) {
      EXPECT_LT(found.origin.confidence, kStepConfidence) << found.origin.why;
      continue;
    }
    EXPECT_GE(found.origin.confidence, 0.9) << found.origin.why;
    EXPECT_EQ(found.steps.size(), 24u);
    EXPECT_EQ(found.origin.source, StepSource::kPattern);
    EXPECT_THAT(found.origin.why, HasSubstr("each has a backward pass"));
  }
}

// Where gradients are larger than activations and are freed between a forward pass and its backward
// pass, memory is lowest there. A step still begins with its forward pass.
TEST(StepFramesTest, GradientsThatAreDroppedLateDoNotSplitSteps) {
  struct Case {
    bool late, optimizes;
  };
  for (const auto& [late, optimizes] :
       {Case{true, true}, Case{true, false}, Case{false, true}, Case{false, false}}) {
    Loop loop;
    loop.Alloc(64 * kMiB, {"build (train.py:8)"});
    std::vector<std::uint64_t> gradients;
    const auto drop = [&] {
      for (const std::uint64_t address : gradients) loop.Free(address);
      gradients.clear();
    };
    std::vector<std::uint32_t> begins;
    std::uint32_t count = 1;
    for (int step = 0; step < 14; ++step) {
      if (!late) drop();
      // Without an optimizer that allocates, the batch may belong to the previous step.
      begins.push_back(count + (late && !optimizes ? 1 : 0));
      std::vector<std::uint64_t> live = {loop.Alloc(kMiB / 4, {"batch (train.py:60)"})};
      for (int i = 0; i < 6; ++i) live.push_back(loop.Forward(kMiB / 8, std::to_string(i)));
      if (late) drop();
      for (int i = 6; i-- > 0;) gradients.push_back(loop.Backward(8 * kMiB, std::to_string(i)));
      for (const std::uint64_t address : live) loop.Free(address);
      for (int i = 0; i < 3; ++i)
        loop.Free(optimizes ? loop.Optimize(kMiB) : loop.Alloc(kMiB, {"average (train.py:80)"}));
      count += 1 + 6 + 6 + 3;
    }
    const auto session = LoadLog(loop.log());
    ASSERT_NE(session, nullptr);
    const FoundSteps found = FindSteps(*session);
    EXPECT_GE(found.origin.confidence, 0.9) << found.origin.why;
    EXPECT_EQ(BirthsBefore(*session, found), begins) << found.origin.why;
  }
}

// Plain SGD allocates nothing. Any number of micro-batches; gradients are freed after the last one,
// or before the next backward pass.
TEST(StepFramesTest, GradientsThatAreFreedEndSteps) {
  for (const bool late : {false, true}) {
    Loop loop;
    std::mt19937 random(4);
    std::vector<std::uint64_t> gradients;
    for (int step = 0; step < 15; ++step) {
      const int portions = 1 + static_cast<int>(random() % 4);
      for (int portion = 0; portion < portions; ++portion) {
        std::vector<std::uint64_t> live;
        const int layers = 4 + static_cast<int>(random() % 9);
        for (int i = 0; i < layers; ++i)
          live.push_back(loop.Forward(kMiB, std::to_string(random() % 50)));
        if (portion == 0) FreeAll(&loop, &gradients);
        for (int i = 0; i < layers; ++i) {
          if (portion == 0) gradients.push_back(loop.Backward(kMiB / 2));
          loop.Free(loop.Backward(kMiB, std::to_string(random() % 50)));
        }
        FreeAll(&loop, &live);
      }
      if (!late) FreeAll(&loop, &gradients);
    }
    const FoundSteps found = FindSteps(*LoadLog(loop.log()));
    EXPECT_EQ(found.steps.size(), 15u) << found.origin.why;
    EXPECT_GE(found.origin.confidence, kStepConfidence) << found.origin.why;
  }
}

TEST(StepFramesTest, LayersOfOneForwardPassAreNoSteps) {
  for (const bool loop_is_in_forward : {true, false}) {
    Loop loop;
    const std::string model =
        loop_is_in_forward ? "Model.forward (train.py:20)" : "run (train.py:9)";
    std::uint64_t input = loop.Alloc(kMiB, {model});
    for (int layer = 0; layer < 30; ++layer) {
      const std::uint64_t work = loop.Alloc(4 * kMiB, {model, "Layer.forward (train.py:5)"});
      const std::uint64_t output = loop.Alloc(kMiB, {model, "Layer.forward (train.py:6)"});
      loop.Free(work);
      loop.Free(input);
      input = output;
    }
    const FoundSteps found = FindSteps(*LoadLog(loop.log()));
    EXPECT_EQ(found.origin.confidence >= kStepConfidence, !loop_is_in_forward) << found.origin.why;
  }
}

TEST(StepFramesTest, AmidPassesIsAsAPlainLookToBothSidesSays) {
  int amid = 0;
  for (std::uint32_t seed = 1; seed <= 2000; ++seed) {
    std::mt19937 random(seed);
    std::vector<Role> roles(random() % 30);
    for (Role& role : roles) role = static_cast<Role>(random() % 4);
    std::vector<std::uint32_t> begins;
    for (std::uint32_t p = 0; p <= roles.size(); ++p)
      if (random() % 9 == 0) begins.push_back(p);
    std::size_t within = 0;
    for (const std::uint32_t begin : begins) {
      Role before = Role::kOther, after = Role::kOther;
      for (std::size_t p = begin; p-- > 0 && before == Role::kOther;) before = roles[p];
      for (std::size_t p = begin; p < roles.size() && after == Role::kOther; ++p) after = roles[p];
      within += after == Role::kBackward && (before == Role::kForward || before == after);
    }
    const bool wanted = !begins.empty() && within * 5 >= begins.size() * 4;
    EXPECT_EQ(BeginAmidPasses(roles, begins), wanted) << seed;
    amid += wanted ? 1 : 0;
  }
  EXPECT_GT(amid, 100) << "both results occur";
}

// PyTorch's blocks may be larger than requested by a rest that is too small to split, which differs
// from step to step. `says`: the log has requested sizes.
std::shared_ptr<const Session> Rounded(bool says, const char* innermost) {
  LogBuilder log;
  log.Device(0, std::uint64_t{1} << 36);
  std::mt19937 random(5);
  std::vector<std::uint64_t> kept;
  std::uint64_t next = 0x10'0000'0000;
  const auto alloc = [&](const char* line, std::uint64_t bytes) {
    const std::uint64_t rounded = bytes + random() % 8 * 64 * 1024;
    log.Alloc(Layer::kBlock, next, rounded,
              {.stack = log.Stack({"main (a.py:" + std::string(line) + ")", innermost}),
               .aux0 = says ? bytes : 0});
    next += 2 * rounded;
    return next - 2 * rounded;
  };
  for (std::uint64_t step = 0; step < 200; ++step) {
    const std::uint64_t grows = 40 * kMiB + step * 65536;  // each batch is longer
    std::vector<std::uint64_t> work;
    for (const char* line : {"13", "15", "16", "17", "18"}) work.push_back(alloc(line, grows));
    kept.push_back(alloc("19", kMiB));
    for (const std::uint64_t address : work) log.Free(Layer::kBlock, address);
    if (kept.size() <= 40) continue;
    log.Free(Layer::kBlock, kept.front());
    kept.erase(kept.begin());
  }
  return LoadLog(log);
}

TEST(StepFramesTest, HowMuchTheAllocatorAddsLeavesNoStepOpen) {
  for (const auto& [says, innermost] :
       {std::pair(true, "helper (a.py:1)"), std::pair(false, "Model.forward (a.py:3)"),
        std::pair(false, "helper (a.py:1)")}) {
    const auto session = Rounded(says, innermost);
    ASSERT_NE(session, nullptr);
    const FoundSteps found = FindSteps(*session);
    EXPECT_GE(found.origin.confidence, kStepConfidence) << found.origin.why;
    EXPECT_EQ(found.steps.size(), 200u);
  }
}

}  // namespace
}  // namespace memprof::analysis
