// memprof peak --what-if: the exact peak with other sizes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cli/cli_test_support.h"

namespace memprof::cli::testing {
namespace {

using analysis::Layer;
using analysis::testing::LogBuilder;
using ::testing::HasSubstr;

class WhatIfTest : public ::testing::Test {
 protected:
  // Blocks of 8, 4 and 6 MiB in a segment: weights and optimizer state stay, the activation is
  // freed before the last block is allocated. Also 3 MiB of driver memory.
  WhatIfTest() {
    LogBuilder log;
    const auto stack = [&log](const std::string& site) {
      return log.Stack({"main (train.cc:1)", site + " (model.cc:2)"});
    };
    log.Alloc(Layer::kLinear, 0x10000000, 32 * kMiB, {.stack = stack("Model")});
    log.Alloc(Layer::kSegment, 0x10000000, 32 * kMiB, {.stack = stack("Model")});
    log.Alloc(Layer::kBlock, 0x10000000, 8 * kMiB, {.stack = stack("Model")});
    log.Alloc(Layer::kBlock, 0x10800000, 4 * kMiB, {.stack = stack("Optimizer")});
    log.TensorCreate(0x10800000, 4 * kMiB, log.Tensor("layer.exp_avg", "float32", {1 << 20}),
                     {.stack = stack("Optimizer")});
    log.Alloc(Layer::kBlock, 0x10c00000, 6 * kMiB, {.stack = stack("Forward")});
    log.Free(Layer::kBlock, 0x10c00000);
    log.Alloc(Layer::kBlock, 0x10c00000, 5 * kMiB, {.stack = stack("Backward")});
    log.Alloc(Layer::kLinear, 0x80000000, 3 * kMiB, {.stack = stack("Workspace")});
    logs_.directory().Write("sizes.mprof", log.Bytes());
  }
  Result Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "peak");
    arguments.push_back("sizes.mprof");
    return Memprof(arguments, logs_.path());
  }
  Json Answer(std::vector<std::string> rules) {
    for (std::string& rule : rules) rule = "--what-if=" + rule;
    rules.insert(rules.begin(), "--json");
    const Result result = Run(rules);
    EXPECT_EQ(result.status, 0) << result.err;
    return Json::parse(result.out, nullptr, false)["peaks"][0]["what_if"];
  }
  Logs logs_;
};

TEST_F(WhatIfTest, TheNextHighestLimitsIt) {
  const Json answer = Answer({"Forward=0"});
  // 18 before the change; 17 with the other change
  EXPECT_EQ(answer["blocks"]["peak_bytes"], 17 * kMiB);
  EXPECT_EQ(answer["blocks"]["saves_bytes"], kMiB);
  EXPECT_FALSE(answer.contains("driver"));
}

TEST_F(WhatIfTest, TheLastEqualsSignBeginsTheFactor) {
  LogBuilder log;
  log.Alloc(Layer::kLinear, 0x1000000, 2 * kMiB,
            {.stack = log.Stack({"main (a.cc:1)", "Tile<n=4> (a.cc:2)"})});
  log.Alloc(Layer::kLinear, 0x2000000, kMiB, {.stack = log.Stack({"main (a.cc:3)"})});
  logs_.directory().Write("sizes.mprof", log.Bytes());
  EXPECT_EQ(Answer({"n=4=0"})["driver"]["peak_bytes"], kMiB);
}

TEST_F(WhatIfTest, ByTheNameOfATensor) {
  EXPECT_EQ(Answer({"exp_avg=0.5"})["blocks"]["peak_bytes"], 16 * kMiB);
}

TEST_F(WhatIfTest, SeveralAtOnceAndTheFirstThatFitsCounts) {
  EXPECT_EQ(Answer({"Optimizer=0", "ward=0.5"})["blocks"]["peak_bytes"], 11 * kMiB);
  EXPECT_EQ(Answer({"Forward=1", "ward=0"})["blocks"]["peak_bytes"], 18 * kMiB);
}

TEST_F(WhatIfTest, WhatAnAllocatorCarvesKeepsItsSize) {
  const Json answer = Answer({"Model=0"});
  EXPECT_EQ(answer["blocks"]["peak_bytes"], 10 * kMiB);
  EXPECT_FALSE(answer.contains("driver"));
}

TEST_F(WhatIfTest, RawMemoryMayGrow) {
  const Json answer = Answer({"Workspace=3"});
  EXPECT_EQ(answer["driver"]["peak_bytes"], 41 * kMiB);
  EXPECT_EQ(answer["driver"]["saves_bytes"], 0u);
  EXPECT_THAT(Run({"--what-if=Workspace=3"}).out,
              HasSubstr("the peak: 35.0 MiB, then 41.0 MiB (+6.00 MiB)"));
}

TEST_F(WhatIfTest, Text) {
  const Result result = Run({"--what-if=Forward=0", "--what-if", "Backward=0.5"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out,
              HasSubstr("  What if Forward had 0 times its size, Backward had 0.5 times its size:\n"
                        "    the peak of blocks: 18.0 MiB, then 14.5 MiB (-3.50 MiB) at "));
}

TEST_F(WhatIfTest, WrongRules) {
  for (const std::string rule :
       {"Forward", "=1", "Forward=", "Forward=x", "Forward=-1", "Forward=nan", "Forward=1001",
        "Forward=inf", "Forward=1 ", "Forward=0x1", ""}) {
    const Result result = Run({"--what-if=" + rule});
    EXPECT_EQ(result.status, 2) << rule;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
  EXPECT_EQ(Run({"--what-if=Forward=0", "--step=1"}).status, 2);
}

TEST_F(WhatIfTest, WhatFitsNothingFails) {
  const Result result = Run({"--what-if=Nobody=0.5"});
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("no call site or tensor has 'Nobody' in its name"));
  EXPECT_THAT(Run({"--what-if=Optimizer=0", "--what-if=exp_avg=9"}).err,
              HasSubstr("that no rule before it fits"));
}

}  // namespace
}  // namespace memprof::cli::testing
