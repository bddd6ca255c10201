// memprof peak --within: the highest use while named ranges were open.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/cli_test_support.h"

namespace memprof::cli::testing {
namespace {

using analysis::Layer;
using analysis::testing::LogBuilder;
using ::testing::HasSubstr;

class PeakWithinTest : public ::testing::Test {
 protected:
  // The whole run's peak is between two phases.
  PeakWithinTest() {
    LogBuilder log;
    const auto stack = [&log](const std::string& site) {
      return log.Stack({"main (train.cc:1)", site + " (model.cc:2)"});
    };
    log.Alloc(Layer::kLinear, 0x10000000, 8 * kMiB, {.stack = stack("Weights")});
    for (std::int64_t step = 0; step < 2; ++step) {
      log.Step(step);
      log.RangePush("train");
      log.Alloc(Layer::kLinear, 0x20000000, (step + 3) * kMiB, {.stack = stack("Forward")});
      log.RangePush("loss");
      log.RangePop();
      log.Free(0x20000000);
      log.RangePop();
      log.Alloc(Layer::kLinear, 0x20000000, 64 * kMiB, {.stack = stack("Evaluate")});
      log.Free(0x20000000);
    }
    logs_.directory().Write("phases.mprof", log.Bytes());
  }
  Result Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "peak");
    arguments.push_back("phases.mprof");
    return Memprof(arguments, logs_.path());
  }
  Logs logs_;
};

TEST_F(PeakWithinTest, SaysThePeakOfARangeAndWhatItWasMadeOf) {
  const Result result = Run({"--within=train"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("Within 'train', open 2 times"));
  EXPECT_THAT(result.out, HasSubstr("Device 0: at most 12.0 MiB in use at step 1"));
  EXPECT_THAT(result.out, HasSubstr("Forward (model.cc:2)"));
  EXPECT_THAT(result.out, Not(HasSubstr("Evaluate")));
}

TEST_F(PeakWithinTest, AsJson) {
  const Result result = Run({"--within=train", "--within=loss", "--json", "--top=1"});
  EXPECT_EQ(result.status, 0) << result.err;
  const Json json = Json::parse(result.out, nullptr, false);
  EXPECT_EQ(json["schema"], "memprof.peak/1");
  const Json& within = json["within"];
  EXPECT_EQ(within["ranges"], Json({"train", "loss"}));
  EXPECT_EQ(within["times"], 2);
  EXPECT_EQ(within["first_step"], 0);
  EXPECT_EQ(within["last_step"], 1);
  ASSERT_EQ(within["peaks"].size(), 1u);
  const Json& peak = within["peaks"][0];
  EXPECT_EQ(peak["in_use_bytes"], 12 * kMiB);
  EXPECT_EQ(peak["driver_bytes"], 12 * kMiB);
  EXPECT_EQ(peak["step"], 1);
  EXPECT_EQ(peak["sites_total"], 2);
  ASSERT_EQ(peak["sites"].size(), 1u);
  EXPECT_EQ(peak["sites"][0]["bytes"], 8 * kMiB);
}

TEST_F(PeakWithinTest, WrongUse) {
  const Result unknown = Run({"--within=rollout"});
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.err, HasSubstr("no range has the name 'rollout'"));
  EXPECT_EQ(Run({"--within=train", "--at=oom"}).status, 2);
  EXPECT_THAT(Run({"--within=train", "--device=7"}).out, HasSubstr("No memory of a device"));
}

}  // namespace
}  // namespace memprof::cli::testing
