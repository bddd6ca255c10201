// memprof footprint, run as a program: answers, wrong usage, logs that do not match.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/cli_test_support.h"
#include "tests/support/random_log.h"
#include "tests/support/toy_program.h"

namespace memprof::cli::testing {
namespace {

using analysis::Layer;
using analysis::testing::LogBuilder;
using analysis::testing::RunToy;
using analysis::testing::ToyPeaks;
using analysis::testing::ToyProgram;
using FootprintJson = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

// "4.mprof", "8.mprof" and "12.mprof" of one program, whose command lines contain the size.
class Runs {
 public:
  explicit Runs(const ToyProgram& program = ToyProgram::Random(61)) : program_(program) {
    for (const std::uint64_t batch : {4u, 8u, 12u}) {
      LogBuilder log;
      log.header().set_executable("/opt/toy");
      for (const std::string word : {"toy", "--batch-size", "N"}) log.header().add_argument(word);
      log.header().set_argument(log.header().argument_size() - 1, std::to_string(batch));
      RunToy(program, batch, &log);
      directory_.Write(std::to_string(batch) + ".mprof", log.Bytes());
    }
  }
  Result Ask(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "footprint");
    return Memprof(arguments, directory_.File(""));
  }
  const ToyProgram& program() const { return program_; }
  const analysis::testing::TempDirectory& directory() const { return directory_; }

 private:
  ToyProgram program_;
  analysis::testing::TempDirectory directory_;
};

FootprintJson ParseJson(const Result& result) {
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.err, "");
  return FootprintJson::parse(result.out, nullptr, false);
}

TEST(FootprintTest, PredictsFromTheCommandLine) {
  const Runs runs;
  const FootprintJson answer = ParseJson(runs.Ask(
      {"--json", "--batch=4,8", "--predict=2,30", "--capacity=1GiB", "4.mprof", "8.mprof"}));
  EXPECT_EQ(answer["schema"], "memprof.footprint/1");
  EXPECT_EQ(answer["logs"], FootprintJson({"4.mprof", "8.mprof"}));
  const FootprintJson& device = answer["devices"].at(0);
  EXPECT_EQ(device["device"], 0);
  EXPECT_EQ(device["allocator"], "caching");
  EXPECT_EQ(device["requests_of"], "framework blocks");
  EXPECT_EQ(device["uncertain"], false);
  ASSERT_EQ(device["predictions"].size(), 2u);
  for (const FootprintJson& prediction : device["predictions"]) {
    const ToyPeaks truth = RunToy(runs.program(), prediction["batch"], nullptr);
    EXPECT_EQ(prediction["reserved_bytes"], truth.reserved);
    EXPECT_EQ(prediction["driver_bytes"], truth.driver);
    EXPECT_EQ(prediction["requested_bytes"], truth.requested);
    EXPECT_EQ(prediction["fits"], true);
    EXPECT_GT(prediction["range_bytes"], 0);
  }
  const FootprintJson& largest = device["largest"];
  EXPECT_EQ(largest["capacity_bytes"], 1 << 30);
  EXPECT_EQ(largest["given"], true);
  const std::uint64_t batch = largest["batch"];
  EXPECT_FALSE(RunToy(runs.program(), batch, nullptr, 1 << 30).failed);
  EXPECT_TRUE(RunToy(runs.program(), batch + 1, nullptr, 1 << 30).failed);
  EXPECT_EQ(largest["at"]["batch"], batch);
  EXPECT_LE(largest["at"]["within_capacity_bytes"], std::uint64_t{1} << 30);
  EXPECT_EQ(largest["beyond"]["fits"], false);
  EXPECT_FALSE(largest["beyond"].contains("within_capacity_bytes"));
  EXPECT_GT(largest["beyond"]["first_failed_bytes"], 0);
  EXPECT_EQ(device["runs"].at(1)["recorded"], device["runs"].at(1)["replayed"]);
  EXPECT_FALSE(device["runs"].at(0).contains("from_the_others"));
}

TEST(FootprintTest, ReadsSizesFromCommandLines) {
  const Runs runs;
  const FootprintJson answer =
      ParseJson(runs.Ask({"--json", "--top=2", "12.mprof", "4.mprof", "8.mprof"}))["devices"].at(0);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(answer["runs"].at(i)["batch"], 4 * (i + 1));
    EXPECT_EQ(answer["runs"].at(i)["log"], std::to_string(4 * (i + 1)) + ".mprof");
    EXPECT_EQ(answer["runs"].at(i)["from_the_others"], answer["runs"].at(i)["recorded"]);
  }
  EXPECT_EQ(answer["sites"].size(), 2u);
  EXPECT_GT(answer["sites_total"], 2);
  // Without a given capacity, the device's own memory is the limit.
  EXPECT_EQ(answer["largest"]["capacity_bytes"], std::uint64_t{1} << 40);
  EXPECT_EQ(answer["largest"]["given"], false);
}

TEST(FootprintTest, DescribesItInWords) {
  ToyProgram program;
  program.steps = 2;
  program.requests = {{.site = 1, .fixed = 3 << 20, .lives = 9},
                      {.site = 2, .per_unit = 1 << 20, .lives = 9},
                      {.site = 3, .per_unit = 512, .lives = 1}};
  const Runs runs(program);
  ExpectGolden(
      "footprint_toy.txt",
      runs.Ask({"--predict=16,100", "--capacity=64MiB", "4.mprof", "8.mprof", "12.mprof"}).out);
}

TEST(FootprintTest, GrowthWithTheSquareIsSaid) {
  ToyProgram program;
  program.steps = 2;
  program.requests = {{.site = 1, .per_square = 1 << 20, .lives = 9},
                      {.site = 2, .per_unit = 1 << 20, .lives = 9}};
  const Runs runs(program);
  EXPECT_THAT(runs.Ask({"--predict=16", "4.mprof", "8.mprof", "12.mprof"}).out,
              HasSubstr("1.00 MiB, and 1.00 MiB times its square."));
}

TEST(FootprintTest, WrongUsageIsSaidInOneLine) {
  const Runs runs;
  const auto usage = [&runs](const std::vector<std::string>& arguments) {
    const Result result = runs.Ask(arguments);
    EXPECT_EQ(result.status, 2) << result.err;
    EXPECT_EQ(result.out, "");
    return result.err;
  };
  EXPECT_THAT(usage({"4.mprof"}), HasSubstr("at least two runs"));
  EXPECT_THAT(usage({"--batch=4", "4.mprof", "8.mprof"}), HasSubstr("1 size for 2 logs"));
  for (const std::string wrong :
       {"0,8", "4,x", "4,,8", "-4,8", "4.5,8", "99999999999999999999,8"}) {
    EXPECT_THAT(usage({"--batch=" + wrong, "4.mprof", "8.mprof"}), HasSubstr("whole numbers"));
    EXPECT_THAT(usage({"--predict=" + wrong, "4.mprof", "8.mprof"}), HasSubstr("whole numbers"));
  }
  EXPECT_THAT(usage({"--capacity=much", "4.mprof", "8.mprof"}), HasSubstr("--capacity"));
  EXPECT_THAT(usage({"--capacity=0", "4.mprof", "8.mprof"}), HasSubstr("larger than 0"));
  EXPECT_THAT(usage({"--recorded=magic", "4.mprof", "8.mprof"}), HasSubstr("--recorded"));
  EXPECT_THAT(usage({"--multiple=0", "4.mprof", "8.mprof"}), HasSubstr("--multiple"));
  EXPECT_THAT(usage({"--top=-1", "4.mprof", "8.mprof"}), HasSubstr("--top"));
}

TEST(FootprintTest, LogsThatDoNotGoTogetherAreRefused) {
  const Runs runs;
  const auto failure = [&runs](const std::vector<std::string>& arguments) {
    const Result result = runs.Ask(arguments);
    EXPECT_EQ(result.status, 1) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    return result.err;
  };
  LogBuilder empty;
  runs.directory().Write("empty.mprof", empty.Bytes());
  runs.directory().Write("garbage.mprof", "garbage");
  EXPECT_THAT(failure({"--batch=4,4", "4.mprof", "4.mprof"}), HasSubstr("two different sizes"));
  EXPECT_THAT(failure({"--batch=4,8", "4.mprof", "empty.mprof"}), HasSubstr("no device in common"));
  EXPECT_THAT(failure({"--batch=4,8", "4.mprof", "garbage.mprof"}), HasSubstr("garbage.mprof"));
  EXPECT_THAT(failure({"--batch=4,8", "4.mprof", "none.mprof"}), HasSubstr("none.mprof"));
  EXPECT_THAT(failure({"--device=7", "4.mprof", "8.mprof"}), HasSubstr("device 7"));
  const Result unknown = runs.Ask({"4.mprof", "empty.mprof"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("give --batch"));
}

// Any two logs give an answer or a one-line reason.
TEST(FootprintTest, AnyTwoLogsMakeAnAnswer) {
  const analysis::testing::TempDirectory directory;
  analysis::testing::RandomLog one({.seed = 5}), two({.seed = 6});
  LogBuilder training, raw, huge;
  WriteTraining(training);
  WriteRaw(raw);
  huge.Alloc(Layer::kLinear, 0x1000, ~std::uint64_t{0});
  huge.Alloc(Layer::kBlock, 0x1000, ~std::uint64_t{0} >> 1, {.aux0 = ~std::uint64_t{0}});
  const std::string training_bytes = training.Bytes();
  std::vector<std::string> logs = {
      directory.Write("one.mprof", one.builder().Bytes()),
      directory.Write("two.mprof", two.builder().Bytes()),
      directory.Write("training.mprof", training_bytes),
      directory.Write("raw.mprof", raw.Bytes()),
      directory.Write("huge.mprof", huge.Bytes()),
      directory.Write("cut.mprof", training_bytes.substr(0, training_bytes.size() / 2))};
  std::size_t answered = 0;
  for (const std::string& a : logs) {
    for (const std::string& b : logs) {
      const Result result = Memprof(
          {"footprint", "--json", "--batch=3,7", "--predict=1,20", "--capacity=100MiB", a, b});
      EXPECT_THAT(result.status, ::testing::AnyOf(0, 1)) << a << " " << b << result.err;
      if (result.status == 0) {
        EXPECT_FALSE(ParseJson(result).is_discarded()) << a << " " << b;
        ++answered;
      } else {
        EXPECT_THAT(result.err, HasSubstr("memprof: footprint: "));
      }
    }
  }
  EXPECT_GE(answered, 12u);
}

}  // namespace
}  // namespace memprof::cli::testing
