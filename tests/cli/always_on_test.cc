// What every verb says of a log that is always on.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/cli_test_support.h"

namespace memprof::cli::testing {
namespace {

using analysis::kNoDevice;
using analysis::Layer;
using analysis::Op;
using analysis::testing::LogBuilder;

constexpr std::uint64_t kStart = 1'000'000'000, kStepTime = 10'000'000, kBase = 0x7f0000000000;
constexpr std::uint64_t kSteps = 41, kEvery = 10;

// One step of a training that keeps 1 MiB in each: `blocks` of its 8 short-lived blocks are in the
// log, of 2 MiB each.
void WriteStep(LogBuilder& log, std::uint64_t step, std::uint64_t blocks, std::uint32_t weight,
               int forward, int history) {
  log.Alloc(Layer::kBlock, kBase + (64 + step) * kMiB, kMiB, {.stack = history, .aux0 = kMiB});
  for (std::uint64_t i = 0; i < blocks; ++i)
    log.Alloc(Layer::kBlock, kBase + (8 + 2 * i) * kMiB, 2 * kMiB,
              {.stack = forward, .aux0 = 2 * kMiB - 100, .weight = weight});
  for (std::uint64_t i = 0; i < blocks; ++i) log.Free(Layer::kBlock, kBase + (8 + 2 * i) * kMiB);
}

// Every tenth step is whole; of the others a quarter of the short-lived blocks is drawn. More was
// in use in one of these than the log shows.
void WriteAlwaysOn(LogBuilder& log) {
  log.header().set_start_time_ns(kStart);
  log.header().mutable_always_on()->set_budget_bytes(10 * kMiB);
  log.header().mutable_always_on()->set_period_ns(86'400'000'000'000);
  log.header().mutable_always_on()->set_segment(3);
  log.Device(0, 256 * kMiB);
  const int segment = log.Stack({"main (train.cc:100)", "Allocator::Grow (allocator.cc:61)"});
  const int forward = log.Stack({"main (train.cc:100)", "Model::Forward (model.cc:40)"});
  const int history = log.Stack({"main (train.cc:100)", "Keep (history.cc:42)"});
  log.SetTime(kStart);
  log.Alloc(Layer::kLinear, kBase, 128 * kMiB, {.stack = segment});
  log.Alloc(Layer::kSegment, kBase, 128 * kMiB, {.stack = segment});
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    const std::uint64_t begin = kStart + (step + 1) * kStepTime;
    log.SetTime(begin);
    if (step % kEvery == 0) {
      log.Step(step);
      WriteStep(log, step, 8, 0, forward, history);
      continue;
    }
    WriteStep(log, step, 2, 4 * 256, forward, history);
    if (step % kEvery != kEvery - 1) continue;
    log.SetTime(begin + kStepTime - 2000);
    log.Event(Op::kLevel, Layer::kUnspecified, 0, 128 * kMiB, 0, {.thread = 2, .aux0 = 128 * kMiB});
    log.Event(Op::kLevel, Layer::kBlock, 9 * 17 * kMiB, (step + 1 + 18) * kMiB, 0,
              {.thread = 2, .aux0 = (step + 1) * kMiB, .aux1 = 9 * 9});
    log.SetTime(begin + kStepTime);
    log.Event(Op::kThinned, Layer::kUnspecified, 0, 9 * 12, 0,
              {.device = kNoDevice,
               .thread = 2,
               .aux0 = begin - (kEvery - 2) * kStepTime,
               .aux1 = 9 * 6});
  }
  log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, 100 * kMiB, 0, {.aux0 = 256 * kMiB});
}

class AlwaysOnTest : public ::testing::Test {
 protected:
  AlwaysOnTest() {
    LogBuilder log;
    WriteAlwaysOn(log);
    directory_.Write("always.mprof", log.Bytes());
  }
  Result Run(const std::vector<std::string>& arguments) {
    return Memprof(arguments, directory_.File(""));
  }

  const analysis::testing::TempDirectory directory_;
};

// The sentence that begins with "Always on".
std::string HeadOf(const Result& result) {
  const std::string all = result.out + result.err;
  const std::size_t at = all.find("Always on");
  if (at == std::string::npos) return "(nothing)\n" + result.err;
  const std::size_t begin = all.rfind('\n', at) + 1;
  return all.substr(begin, all.find(".\n", begin) + 2 - begin);
}

TEST_F(AlwaysOnTest, EveryVerbSaysSo) {
  std::string heads;
  for (const std::vector<std::string>& verb :
       std::vector<std::vector<std::string>>{{"report"},
                                             {"leaks"},
                                             {"peak"},
                                             {"source"},
                                             {"categories"},
                                             {"steps"},
                                             {"advise"},
                                             {"oom"},
                                             {"budget"},
                                             {"fragmentation"},
                                             {"diff", "--from=step=10", "--to=end"},
                                             {"diff", "always.mprof"},
                                             {"replay"},
                                             {"top", "--once"},
                                             {"dump", "--limit=1"},
                                             {"export", "-o", "-"},
                                             {"export", "--to=html", "-o", "-"},
                                             {"verify"}}) {
    std::vector<std::string> arguments = verb;
    arguments.push_back("always.mprof");
    std::string line = "$ memprof";
    for (const std::string& argument : arguments) line += " " + argument;
    heads += line + "\n" + HeadOf(Run(arguments));
  }
  ExpectGolden("always_on_heads.txt", heads);
}

TEST_F(AlwaysOnTest, ReportsAndStepsTellEstimates) {
  ExpectGolden("always_on_report.txt", Run({"report", "--top=3", "always.mprof"}).out);
  ExpectGolden("always_on_steps.txt", Run({"steps", "always.mprof"}).out);
  ExpectGolden("always_on_dump.txt", Run({"dump", "--op=thinned", "--op=level", "--op=sampled",
                                          "--to-step=12", "always.mprof"})
                                         .out);
}

TEST_F(AlwaysOnTest, JsonHasTheKeyOfAllVerbs) {
  for (const char* verb : {"report", "leaks", "peak", "source", "categories", "steps", "advise",
                           "oom", "budget", "fragmentation", "replay"}) {
    const auto json = nlohmann::json::parse(Run({verb, "--json", "always.mprof"}).out);
    ASSERT_TRUE(json.contains("sampling")) << verb;
    EXPECT_EQ(json["sampling"]["segment"], 3) << verb;
    EXPECT_EQ(
        json["sampling"]["figures"],
        std::string(verb) == "report" || std::string(verb) == "steps" ? "estimated" : "left_out");
  }
  const auto json = nlohmann::json::parse(Run({"report", "--json", "always.mprof"}).out);
  ExpectGolden("always_on_sampling.json", json["sampling"].dump(2) + "\n");
  EXPECT_EQ(json["events"]["allocations"], 1 + 41 * 9) << "the list of what was alive is none";
  EXPECT_EQ(json["events"]["allocations_by_layer"]["block"], 41 * 9);
  EXPECT_EQ(json["devices"][0]["framework"]["peak_bytes"], (40 + 18) * kMiB);
  EXPECT_EQ(json["leaks"][0]["bytes_per_step"], 1 * kMiB);
  const auto diff =
      nlohmann::json::parse(Run({"diff", "--json", "always.mprof", "always.mprof"}).out);
  EXPECT_EQ(diff["before"]["sampling"]["whole_steps"], 5);
  // Other logs are as ever.
  const Logs logs;
  const Result other = Memprof({"report", "--json", "train.mprof"}, logs.path());
  EXPECT_FALSE(nlohmann::json::parse(other.out).contains("sampling"));
}

TEST_F(AlwaysOnTest, BudgetsCountWhatWasCounted) {
  EXPECT_EQ(Run({"report", "--fail-on=peak>127MiB", "always.mprof"}).status, 3);
}

}  // namespace
}  // namespace memprof::cli::testing
