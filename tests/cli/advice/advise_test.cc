// memprof advise: exact text, every key of its JSON, wrong usage and malicious logs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "analysis/advice/advice.h"
#include "tests/analysis/remedies/training_log.h"
#include "tests/cli/cli_test_support.h"

namespace memprof::cli::testing {
namespace {

using analysis::Layer;
using analysis::Op;
using analysis::testing::LogBuilder;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A loop of six steps that records uses by kernels and copies: memory that is allocated too early,
// freed too late or never used, uploads from pageable memory, and allocation in the loop.
class Program {
 public:
  Program() {
    log_.Device(0, 64 * kMiB);
    log_.header().set_executable("/opt/tool/train");
    log_.header().set_pid(4711);
    log_.header().set_hostname("gpu-host");
  }

  std::string Bytes() {
    Alloc(1, "Weights", 8 * kMiB);
    Alloc(2, "Model::Spare", 4 * kMiB);
    for (std::uint64_t step = 0; step < 6; ++step) Step(step);
    return log_.Bytes();
  }

 private:
  void Step(std::uint64_t step) {
    log_.Step(step);
    Alloc(3, "Input", kMiB);
    log_.Event(Op::kMemcpy, Layer::kUnspecified, At(3), kMiB, 0,
               {.aux0 = 0x5000 + step * kMiB, .aux1 = 1});
    Launch({1, 3});
    Alloc(4, "Forward", 6 * kMiB);
    Launch({1, 4});
    Free(3);
    Launch({4});
    Free(4);
  }
  static std::uint64_t At(std::uint64_t which) { return 0x100000000 * which; }
  void Alloc(std::uint64_t which, const std::string& site, std::uint64_t bytes) {
    log_.Alloc(Layer::kLinear, At(which), bytes,
               {.stack = log_.Stack(
                    {"main (train.cc:9)", site + " (model.cc:" + std::to_string(which) + ")"})});
  }
  void Free(std::uint64_t which) { log_.Free(At(which)); }
  void Launch(std::initializer_list<std::uint64_t> used) {
    log_.Event(Op::kLaunch, Layer::kUnspecified, 0, 0, 0, {});
    for (const std::uint64_t which : used)
      log_.Event(Op::kTouch, Layer::kUnspecified, At(which) + 64, 0, 0, {});
  }

  LogBuilder log_;
};

class AdviseTest : public ::testing::Test {
 protected:
  AdviseTest() {
    logs_.directory().Write("used.mprof", Program().Bytes());
    logs_.directory().Write("torch.mprof",
                            analysis::testing::TrainingLog({.logits = 64 * kMiB}).log().Bytes());
  }
  Result Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "advise");
    return Memprof(arguments, logs_.path());
  }
  Json RunJson(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "--json");
    const Result result = Run(arguments);
    EXPECT_EQ(result.status, 0) << result.err;
    return Json::parse(result.out, nullptr, false);
  }
  Logs logs_;
};

TEST_F(AdviseTest, TextIsWhatItWas) {
  for (const std::string log : {"used", "train", "raw", "torch"}) {
    const Result result = Run({log + ".mprof"});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.err, "");
    ExpectGolden("advise_" + log + ".txt", result.out);
    for (std::size_t begin = 0; begin < result.out.size();) {
      const std::size_t end = result.out.find('\n', begin);
      const std::string line = result.out.substr(begin, end - begin);
      const auto columns =
          std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; });
      EXPECT_LE(columns, 100) << line;
      EXPECT_TRUE(line.empty() || line.back() != ' ') << "trailing space: " << line;
      begin = end + 1;
    }
  }
  ExpectGolden("help_advise.txt", Run({"--help"}).out);
}

TEST_F(AdviseTest, FindsWhatTheProgramDoes) {
  const Json answer = RunJson({"--all", "--top=0", "used.mprof"});
  std::set<std::pair<std::string, std::string>> found;
  for (const Json& finding : answer["findings"]) found.emplace(finding["pattern"], finding["site"]);
  EXPECT_TRUE(found.contains({"unused-allocation", "Model::Spare (model.cc:2)"}));
  EXPECT_TRUE(found.contains({"late-release", "Input (model.cc:3)"}));
  EXPECT_TRUE(found.contains({"driver-churn", "Input (model.cc:3)"}));
  EXPECT_TRUE(found.contains({"driver-churn", "Forward (model.cc:4)"}));
  EXPECT_TRUE(found.contains({"pageable-copy", "Input (model.cc:3)"}));
  EXPECT_EQ(found.size(), 5u);
}

// Exactly the keys of docs/json.md.
TEST_F(AdviseTest, KeysAreTheDocumentedOnes) {
  const std::set<std::string> always = {"pattern",
                                        "trade_off",
                                        "confidence",
                                        "device",
                                        "layer",
                                        "site",
                                        "stack",
                                        "count",
                                        "bytes",
                                        "first_step",
                                        "last_step",
                                        "saves_bytes",
                                        "upper_bound",
                                        "byte_seconds",
                                        "moved_bytes",
                                        "why",
                                        "fix",
                                        "assumption",
                                        "examples",
                                        "reserved_bytes",
                                        "new_reserved_bytes"};
  const std::set<std::string> of_peaks = {"peak_of", "new_peak_bytes", "new_peak_time_ns",
                                          "new_peak_step"};
  const std::set<std::string> of_examples = {
      "event", "time_ns",          "step",       "allocation", "address",
      "bytes", "other_allocation", "other_site", "what"};
  int with_peak = 0;
  for (const std::string log :
       {"used.mprof", "train.mprof", "raw.mprof", "shared.mprof", "torch.mprof"}) {
    const Json answer = RunJson({"--all", "--top=0", log});
    EXPECT_EQ(answer["schema"], "memprof.advise/1");
    EXPECT_EQ(answer["findings_total"], answer["findings"].size());
    EXPECT_EQ(answer["patterns"].size(), static_cast<std::size_t>(analysis::kPatternCount));
    for (const char* key : {"complete", "simulated", "start_time_ns", "hidden", "noise_bytes",
                            "evidence", "notes", "log", "combinations"})
      EXPECT_TRUE(answer.contains(key)) << key;
    for (const Json& finding : answer["findings"]) {
      std::set<std::string> keys;
      for (const auto& [key, value] : finding.items()) keys.insert(key);
      with_peak += keys.contains("peak_of");
      std::set<std::string> want = always;
      if (finding["pattern"] == "checkpointing") want.insert("module");
      if (keys.contains("peak_of")) want.insert(of_peaks.begin(), of_peaks.end());
      EXPECT_EQ(keys, want) << finding["pattern"];
      for (const Json& example : finding["examples"])
        for (const auto& [key, value] : example.items())
          EXPECT_TRUE(of_examples.contains(key)) << key;
    }
  }
  EXPECT_GT(with_peak, 2);
}

TEST_F(AdviseTest, CombinationsAreThoseOfTheAnalysis) {
  const auto session = analysis::testing::TrainingLog({.logits = 64 * kMiB}).Load();
  ASSERT_NE(session, nullptr);
  analysis::Symbols symbols(session);
  const auto report = analysis::FindAdvice(*session, {.symbols = &symbols});
  const Json combinations = RunJson({"torch.mprof"})["combinations"];
  ASSERT_FALSE(report.combinations.empty());
  ASSERT_EQ(combinations.size(), report.combinations.size());
  for (std::size_t i = 0; i < combinations.size(); ++i) {
    const analysis::AdviceCombination& want = report.combinations[i];
    EXPECT_EQ(combinations[i]["patterns"].size(), want.patterns.size());
    EXPECT_EQ(combinations[i]["device"], want.device);
    EXPECT_EQ(combinations[i]["saves_bytes"], want.saves_bytes);
    EXPECT_EQ(combinations[i]["new_peak_bytes"], want.new_peak.bytes);
    EXPECT_EQ(combinations[i]["new_reserved_bytes"], want.new_reserved);
  }
}

TEST_F(AdviseTest, TopAndDeviceChoose) {
  const Json all = RunJson({"--all", "--top=0", "used.mprof"});
  const Json two = RunJson({"--all", "--top=2", "used.mprof"});
  ASSERT_EQ(two["findings"].size(), 2u);
  EXPECT_EQ(two["findings"][1], all["findings"][1]);
  EXPECT_EQ(two["findings_total"], all["findings_total"]);
  EXPECT_THAT(Run({"--all", "--top=1", "used.mprof"}).out, HasSubstr("The first 1 follow"));
  const Json of_device = RunJson({"--all", "--top=0", "--device=1", "train.mprof"});
  for (const Json& finding : of_device["findings"]) EXPECT_EQ(finding["device"], 1);
}

TEST_F(AdviseTest, SaysWhatIsMissingAndHowToRecordIt) {
  const std::string poor = Run({"raw.mprof"}).out;
  EXPECT_THAT(poor, HasSubstr("memprof run --cupti"));
  EXPECT_THAT(poor, HasSubstr("Not looked for, because the log lacks"));
  EXPECT_THAT(Run({"used.mprof"}).out, Not(HasSubstr("--cupti")));
}

// Uses in one process say nothing about another process whose uses were not recorded.
TEST_F(AdviseTest, SeveralLogsAreJudgedEachByItsOwnUses) {
  const Json together = RunJson({"--all", "--top=0", "used.mprof", "raw.mprof"});
  const Json alone = RunJson({"--all", "--top=0", "used.mprof"});
  const auto unused = [](const Json& answer) {
    std::set<std::string> sites;
    for (const Json& finding : answer["findings"])
      if (finding["pattern"] == "unused-allocation") sites.insert(finding["site"]);
    return sites;
  };
  EXPECT_EQ(unused(together), unused(alone));
  EXPECT_EQ(unused(alone).size(), 1u);
}

TEST_F(AdviseTest, WrongUsage) {
  const std::vector<std::string> wrong[] = {{"--top=-1", "used.mprof"},
                                            {"--device=-1", "used.mprof"},
                                            {"--device=x", "used.mprof"},
                                            {"--all=yes", "used.mprof"},
                                            {"--no-such"},
                                            {}};
  for (const std::vector<std::string>& arguments : wrong) {
    const Result result = Run(arguments);
    EXPECT_EQ(result.status, 2) << ::testing::PrintToString(arguments);
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
}

TEST_F(AdviseTest, WhatCannotBeAnsweredFails) {
  logs_.directory().Write("empty.mprof", "");
  std::string damaged = Program().Bytes();
  std::fill(damaged.begin() + 16, damaged.end(), '\x5a');
  logs_.directory().Write("damaged.mprof", damaged);
  const std::vector<std::string> failing[] = {{"none.mprof"},
                                              {"empty.mprof"},
                                              {"damaged.mprof"},
                                              {"--json", "damaged.mprof"},
                                              {"--device=7", "used.mprof"},
                                              {"--device=4294967296", "used.mprof"}};
  for (const std::vector<std::string>& arguments : failing) {
    const Result result = Run(arguments);
    EXPECT_EQ(result.status, 1) << ::testing::PrintToString(arguments);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, StartsWith("memprof: "));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
}

// A log truncated at any position is either refused or answered.
TEST_F(AdviseTest, CutLogs) {
  const std::string whole = Program().Bytes();
  int answered = 0;
  for (std::size_t size = 64; size < whole.size(); size += whole.size() / 12) {
    logs_.directory().Write("cut.mprof", whole.substr(0, size));
    const Result result = Run({"cut.mprof"});
    EXPECT_TRUE(result.status == 0 || result.status == 1) << result.status;
    answered += result.status == 0;
    const Result peak = Memprof({"peak", "cut.mprof"}, logs_.path());
    EXPECT_EQ(peak.status, result.status);
  }
  EXPECT_GT(answered, 0);
}

TEST_F(AdviseTest, NamesFromALogCannotSpeakToTheTerminal) {
  LogBuilder log;
  const int stack = log.Stack({"main (a.cc:1)", "Bad\033[31mSite (b\033.cc:2)"});
  log.Alloc(Layer::kLinear, 0x1000000, kMiB, {.stack = stack});
  log.Event(Op::kLaunch, Layer::kUnspecified, 0, 0, 0, {});
  log.Event(Op::kTouch, Layer::kUnspecified, 0x5, 0, 0, {});
  logs_.directory().Write("bad.mprof", log.Bytes());
  const Result result = Run({"bad.mprof"});
  EXPECT_THAT(result.out, HasSubstr("unused allocation"));
  EXPECT_THAT(result.out, Not(HasSubstr("\033")));
}

}  // namespace
}  // namespace memprof::cli::testing
