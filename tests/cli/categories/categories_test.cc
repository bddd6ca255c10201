// memprof categories: figures in JSON, and the instants that it accepts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "proto/memprof.pb.h"
#include "tests/cli/cli_test_support.h"

namespace memprof::cli::testing {
namespace {

using analysis::Layer;
using analysis::testing::LogBuilder;
using ::testing::HasSubstr;
using ::testing::Not;

class CategoriesTest : public ::testing::Test {
 protected:
  // A segment of 16 MiB with a weight of 4 MiB; in step 0 also its gradient of 2 MiB.
  CategoriesTest() {
    LogBuilder log;
    log.Device(0, 64 * kMiB);
    const int site = log.Stack({"main (train.py:1)", "build (train.py:9)"});
    const auto tensor = [&](std::uint64_t address, std::uint64_t bytes, const std::string& name) {
      log.Alloc(Layer::kBlock, address, bytes, {.stack = site});
      log.TensorCreate(address, bytes, log.Tensor(name, "float32", {8}), {.stack = site});
    };
    log.Alloc(Layer::kLinear, 0x10000000, 16 * kMiB);
    log.Alloc(Layer::kSegment, 0x10000000, 16 * kMiB);
    tensor(0x10000000, 4 * kMiB, "layer.weight");
    log.Step(0);
    tensor(0x10800000, 2 * kMiB, "layer.weight.grad");
    log.AdvanceTime(1000);
    log.Step(1);
    log.Free(Layer::kBlock, 0x10800000);
    log.AdvanceTime(1000);
    logs_.directory().Write("named.mprof", log.Bytes());
  }
  Result Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "categories");
    arguments.push_back("named.mprof");
    return Memprof(arguments, logs_.path());
  }
  // Bytes by category of device 0.
  std::map<std::string, std::uint64_t> Bytes(const std::string& at) {
    const Result result = Run({"--json", "--at=" + at});
    EXPECT_EQ(result.status, 0) << result.err;
    std::map<std::string, std::uint64_t> bytes;
    const Json device = Json::parse(result.out)["devices"][0];
    EXPECT_EQ(device["device"], 0);
    for (const Json& one : device["categories"]) bytes[one["category"]] = one["bytes"];
    return bytes;
  }
  Logs logs_;
};

TEST_F(CategoriesTest, ByTheNamesOfTensorsAtEachInstant) {
  const std::map<std::string, std::uint64_t> with_gradient = {
      {"parameters", 4 * kMiB}, {"gradients", 2 * kMiB}, {"slack", 10 * kMiB}};
  EXPECT_EQ(Bytes("peak"), with_gradient);
  EXPECT_EQ(Bytes("step=0"), with_gradient);
  const std::map<std::string, std::uint64_t> without = {{"parameters", 4 * kMiB},
                                                        {"slack", 12 * kMiB}};
  EXPECT_EQ(Bytes("end"), without);
  EXPECT_EQ(Bytes("step=1"), without);
}

TEST_F(CategoriesTest, SitesSayWhatTheyAreConcludedFrom) {
  const Json device = Json::parse(Run({"--json"}).out)["devices"][0];
  for (const Json& one : device["categories"]) {
    if (one["category"] != "parameters") continue;
    ASSERT_EQ(one["sites"].size(), 1u);
    EXPECT_EQ(one["sites"][0]["bytes"], 4 * kMiB);
    EXPECT_EQ(one["sites"][0]["reason"], "name");
  }
}

TEST_F(CategoriesTest, TitlesNameTheInstant) {
  EXPECT_THAT(Run({}).out, HasSubstr("Device 0: peak of 16.0 MiB"));
  EXPECT_THAT(Run({"--at=end"}).out, HasSubstr("Device 0: held 16.0 MiB at the end\n"));
  EXPECT_THAT(Run({"--at=step=1"}).out,
              HasSubstr("Device 0: held 16.0 MiB at the end of step 1\n"));
}

TEST_F(CategoriesTest, InstantsThatAreNone) {
  for (const std::string at : {"never", "step=", "step=x", "step=-1", "step=1x", "snapshot=", ""})
    EXPECT_EQ(Run({"--at=" + at}).status, 2) << at;
  const Result result = Run({"--at=step=7"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("there is no step 7"));
  EXPECT_THAT(Run({"--device=3"}).err, HasSubstr("no memory of device 3"));
}

// Where nothing has a name, the agent would help; not where a log has it.
TEST_F(CategoriesTest, SuggestsTheAgentWhereNotSure) {
  const auto text = [this](bool agent) {
    LogBuilder log;
    log.Device(0, 64 * kMiB);
    log.SourceState("torch", log::SOURCE_ON);
    if (agent) log.SourceState("agent", log::SOURCE_ON);
    log.Alloc(Layer::kLinear, 0x10000000, 16 * kMiB);
    logs_.directory().Write("bare.mprof", log.Bytes());
    return Memprof({"categories", "bare.mprof"}, logs_.path()).out;
  };
  EXPECT_THAT(text(false), HasSubstr("No steps are known: memprof run --torch"));
  EXPECT_THAT(text(false), HasSubstr("Not sure: memprof run --torch"));
  EXPECT_THAT(text(true), Not(HasSubstr("--torch")));
  EXPECT_THAT(Run({}).out, Not(HasSubstr("--torch")));
}

}  // namespace
}  // namespace memprof::cli::testing
