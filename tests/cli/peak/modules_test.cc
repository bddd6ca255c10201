// memprof peak: memory of each module of a network, and the sites of tensors that the agent named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/cli_test_support.h"

namespace memprof::cli::testing {
namespace {

using analysis::Layer;
using analysis::testing::LogBuilder;
using ::testing::HasSubstr;
using ::testing::Not;

class PeakModulesTest : public ::testing::Test {
 protected:
  // Two nested modules; or driver memory alone.
  static std::string Log(bool blocks, bool modules) {
    LogBuilder log;
    const int user = log.Stack({"main (train.py:70)", "forward (model.py:9)"});
    const Layer layer = blocks ? Layer::kBlock : Layer::kLinear;
    const auto range = [&](const char* name) {
      if (modules) log.RangePush(name);
    };
    const auto end = [&] {
      if (modules) log.RangePop();
    };
    if (blocks) {
      log.Alloc(Layer::kLinear, 0x10000000, 32 * kMiB, {.stack = user});
      log.Alloc(Layer::kSegment, 0x10000000, 32 * kMiB, {.stack = user});
    }
    log.Alloc(layer, 0x10000000, 1 * kMiB, {.stack = user});
    range("Model (forward)");
    log.Alloc(layer, 0x10100000, 4 * kMiB, {.stack = user});
    range("head (forward)");
    log.Alloc(layer, 0x10500000, 8 * kMiB, {.stack = user});
    end();
    log.Alloc(layer, 0x10d00000, 2 * kMiB, {.stack = user});
    const int agent = log.Stack({"main (train.py:71)", "of_root (/x/memprof/_agent/tensors.py:3)",
                                 "say (/x/memprof/_agent/tensors.py:1)"});
    log.TensorCreate(0x10d00000, 2 * kMiB, log.Tensor("head.weight", "float32", {1 << 19}),
                     {.stack = agent});
    end();
    return log.Bytes();
  }
  Result Peak(bool blocks, bool modules, std::vector<std::string> options = {}) {
    logs_.directory().Write("modules.mprof", Log(blocks, modules));
    options.insert(options.begin(), "peak");
    options.emplace_back("modules.mprof");
    return Memprof(options, logs_.path());
  }
  Logs logs_;
};

TEST_F(PeakModulesTest, TableOfBlocks) {
  const Result result = Peak(true, true);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("By module that ran when it was made (saves: of the peak of "
                                    "blocks):\n"));
  EXPECT_THAT(result.out, HasSubstr("8.00 MiB   53 %       1  8.00 MiB"));
  EXPECT_THAT(result.out, HasSubstr("6.00 MiB   40 %       2  6.00 MiB"));
  EXPECT_THAT(result.out, HasSubstr("head (forward)\n"));
  EXPECT_THAT(result.out, HasSubstr("(no module)\n"));
}

TEST_F(PeakModulesTest, JsonOfBlocksAndOfDriverMemory) {
  for (const bool blocks : {true, false}) {
    const Json peak = Json::parse(Peak(blocks, true, {"--json"}).out)["peaks"][0];
    ASSERT_EQ(peak["by_module"].size(), 3u);
    EXPECT_EQ(peak["by_module"][0]["module"], "head (forward)");
    EXPECT_EQ(peak["by_module"][0]["bytes"], 8 * kMiB);
    EXPECT_EQ(peak["by_module"][0]["without"]["peak_bytes"], 7 * kMiB);
    EXPECT_EQ(peak["by_module"][1]["module"], "Model (forward)");
    EXPECT_EQ(peak["by_module"][1]["blocks"], 2);
    EXPECT_EQ(peak["by_module"][2]["module"], "(no module)");
  }
  const Json top = Json::parse(Peak(true, true, {"--json", "--top=1"}).out)["peaks"][0];
  EXPECT_EQ(top["by_module"].size(), 1u);
}

TEST_F(PeakModulesTest, NothingIsSaidWithoutModules) {
  EXPECT_THAT(Peak(true, false).out, Not(HasSubstr("By module")));
  EXPECT_FALSE(Json::parse(Peak(true, false, {"--json"}).out)["peaks"][0].contains("by_module"));
}

TEST_F(PeakModulesTest, WhatTheAgentNamedWasMadeWhereItsMemoryWas) {
  const Json peak = Json::parse(Peak(true, true, {"--json"}).out)["peaks"][0];
  EXPECT_EQ(peak["tensor_groups"][0]["name"], "head.weight");
  EXPECT_THAT(std::string(peak["tensor_groups"][0]["site"]), HasSubstr("model.py:9"));
}

}  // namespace
}  // namespace memprof::cli::testing
