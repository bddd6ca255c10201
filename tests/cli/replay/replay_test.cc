// memprof replay, run as a program: text, JSON, options, statuses, damaged logs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "tests/cli/cli_test_support.h"
#include "tests/support/paths.h"

namespace memprof::cli::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::set<std::string> Keys(const Json& object) {
  std::set<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.insert(key);
  return keys;
}

Json ReplayedJson(const std::vector<std::string>& more, const Logs& logs) {
  std::vector<std::string> arguments = {"replay", "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Result result = Memprof(arguments, logs.path());
  EXPECT_EQ(result.status, 0) << result.err;
  return Json::parse(result.out);
}

void ExpectRefused(const Result& result, int status, const std::string& what) {
  EXPECT_EQ(result.status, status) << result.out;
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, StartsWith("memprof: "));
  EXPECT_THAT(result.err, HasSubstr(what));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
}

// Also for a snapshot whose ring had lost its beginning.
TEST(ReplayTest, RepeatsTheRecordedPeakOfPyTorchExactly) {
  const Logs logs;
  for (const std::string name : {"torch_snapshot_train", "torch_snapshot_oom"}) {
    ASSERT_EQ(Memprof({"import", std::string(paths::kTestData) + "/" + name + ".pickle", "-o",
                       name + ".mprof"},
                      logs.path())
                  .status,
              0);
    const Result result = Memprof({"replay", "--seconds=0", name + ".mprof"}, logs.path());
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("Replayed as caching: the recorded peak exactly."));
  }
}

TEST(ReplayTest, PrintsWhatItPrinted) {
  const Logs logs;
  for (const std::string name : {"train", "raw", "shared"}) {
    const Result result = Memprof({"replay", "--seconds=0", name + ".mprof"}, logs.path());
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.err, "");
    ExpectGolden("replay_" + name + ".txt", result.out);
  }
  ExpectGolden("help_replay.txt", Memprof({"replay", "--help"}).out);
  ExpectGolden("replay_allocators.txt", Memprof({"replay", "--with=help"}).out);
}

TEST(ReplayTest, LooksForTheOptimum) {
  const Logs logs;
  const Result result = Memprof({"replay", "--seconds=0.05", "train.mprof"}, logs.path());
  EXPECT_THAT(result.out, HasSubstr("offline optimum"));
  EXPECT_THAT(result.out, HasSubstr("The offline optimum knows all lifetimes in advance and is"));
}

TEST(ReplayTest, JsonHasTheDocumentedKeys) {
  const Logs logs;
  const Json all =
      ReplayedJson({"--seconds=0.05", "--with=caching", "--with=cuda", "train.mprof"}, logs);
  EXPECT_EQ(Keys(all),
            (std::set<std::string>{"schema", "log", "complete", "simulated", "devices"}));
  EXPECT_EQ(all["schema"], "memprof.replay/1");
  ASSERT_EQ(all["devices"].size(), 2u);
  const std::set<std::string> figures = {"peak_reserved_bytes",  "peak_allocated_bytes",
                                         "peak_requested_bytes", "fragmentation_at_peak",
                                         "peak_segments",        "driver_calls"};
  const auto with = [&figures](const std::set<std::string>& more) {
    std::set<std::string> keys = figures;
    keys.insert(more.begin(), more.end());
    return keys;
  };
  for (const Json& device : all["devices"]) {
    EXPECT_EQ(Keys(device),
              (std::set<std::string>{"device", "process", "requests_from", "requests",
                                     "refused_requests", "estimated_requests", "streams",
                                     "peak_outside_bytes", "capacity_bytes", "recorded", "replayed",
                                     "others", "optimum", "max_live_bytes"}));
    EXPECT_EQ(Keys(device["recorded"]), figures);
    EXPECT_EQ(Keys(device["replayed"]),
              with({"allocator", "retries", "origin", "residual_bytes", "uncertain", "samples"}));
    EXPECT_EQ(Keys(device["optimum"]),
              (std::set<std::string>{"height_bytes", "gap", "found_by", "arrangements"}));
    ASSERT_EQ(device["others"].size(), 2u);
    EXPECT_EQ(Keys(device["others"][0]),
              with({"allocator", "retries", "saving_bytes", "fits", "failed_requests"}));
    EXPECT_EQ(device["others"][1]["allocator"], "cuda");
    EXPECT_GE(device["optimum"]["height_bytes"], device["max_live_bytes"]);
    EXPECT_EQ(device["others"][1]["saving_bytes"].get<std::int64_t>(),
              device["recorded"]["peak_reserved_bytes"].get<std::int64_t>() -
                  device["others"][1]["peak_reserved_bytes"].get<std::int64_t>());
  }
}

TEST(ReplayTest, CapacityDecidesWhatFits) {
  const Logs logs;
  const Json tight =
      ReplayedJson({"--seconds=0", "--device=0", "--capacity=1MiB", "train.mprof"}, logs);
  ASSERT_EQ(tight["devices"].size(), 1u);
  const Json& device = tight["devices"][0];
  EXPECT_EQ(device["capacity_bytes"], 1 << 20);
  EXPECT_FALSE(device.contains("optimum"));
  EXPECT_FALSE(device["others"][0]["fits"]);
  EXPECT_GT(device["others"][0]["first_failed_bytes"], 0);
  EXPECT_GT(device["others"][0]["failed_requests"], 0);
  const Result text =
      Memprof({"replay", "--seconds=0", "--capacity=1MiB", "train.mprof"}, logs.path());
  EXPECT_THAT(text.out, HasSubstr("Fits: into 1.00 MiB"));
}

TEST(ReplayTest, EachProcessIsReplayedByItself) {
  const Logs logs;
  const Json both = ReplayedJson({"--seconds=0", "train.mprof", "shared.mprof"}, logs);
  const Json train = ReplayedJson({"--seconds=0", "train.mprof"}, logs);
  const Json shared = ReplayedJson({"--seconds=0", "shared.mprof"}, logs);
  ASSERT_EQ(both["devices"].size(), train["devices"].size() + shared["devices"].size());
  std::multiset<std::uint64_t> alone, together;
  for (const Json* log : {&train, &shared}) {
    for (const Json& device : (*log)["devices"])
      alone.insert(device["requests"].get<std::uint64_t>());
  }
  std::set<std::pair<int, int>> places;
  for (const Json& device : both["devices"]) {
    together.insert(device["requests"].get<std::uint64_t>());
    places.insert({device["device"].get<int>(), device["process"].get<int>()});
  }
  EXPECT_EQ(together, alone);
  EXPECT_EQ(places.size(), both["devices"].size());
  const Result text =
      Memprof({"replay", "--seconds=0", "train.mprof", "shared.mprof"}, logs.path());
  EXPECT_THAT(text.out, HasSubstr("of process 4711: "));
}

TEST(ReplayTest, WrongUsageIsNamed) {
  const Logs logs;
  const auto run = [&logs](const std::string& option) {
    return Memprof({"replay", option, "train.mprof"}, logs.path());
  };
  ExpectRefused(run("--with=malloc"), 2, "--with: there is no allocator 'malloc'");
  ExpectRefused(run("--with=caching:size=4"), 2, "no option 'size'");
  ExpectRefused(run("--recorded=caching:gc=7"), 2, "--recorded: caching: gc: '7'");
  ExpectRefused(run("--capacity=much"), 2, "--capacity: 'much' is no size");
  ExpectRefused(run("--capacity=0"), 2, "--capacity must be larger than 0");
  ExpectRefused(run("--seconds=-1"), 2, "--seconds must be");
  ExpectRefused(run("--seconds=nan"), 2, "--seconds must be");
  ExpectRefused(run("--seconds=1MiB"), 2, "--seconds must be");
  ExpectRefused(run("--device=-1"), 2, "--device cannot be negative");
  ExpectRefused(run("--devise=1"), 2, "did you mean '--device'?");
  ExpectRefused(Memprof({"replay"}), 2, "(see 'memprof replay --help')");
}

TEST(ReplayTest, WhatIsNotThereIsAFailedInput) {
  const Logs logs;
  ExpectRefused(Memprof({"replay", "none.mprof"}, logs.path()), 1, "none.mprof");
  ExpectRefused(Memprof({"replay", "--device=7", "train.mprof"}, logs.path()), 1,
                "no requests on device 7");
  ExpectRefused(Memprof({"replay", "--device=99999999999", "train.mprof"}, logs.path()), 1,
                "no requests on device");
}

TEST(ReplayTest, DamagedLogsGetAnAnswerOrOneLine) {
  analysis::testing::LogBuilder log;
  WriteTraining(log);
  const std::string good = log.Bytes();
  const analysis::testing::TempDirectory directory;
  std::mt19937 random(1);
  for (int round = 0; round < 12; ++round) {
    std::string bad = good;
    if (round % 3 == 0) bad.resize(16 + random() % (bad.size() - 16));
    for (int i = 0; i < round; ++i)
      bad[16 + random() % (bad.size() - 16)] ^= char(1 + random() % 255);
    const std::string path = directory.Write("bad.mprof", bad);
    const Result result = Memprof({"replay", "--seconds=0.01", path});
    EXPECT_TRUE(result.status == 0 || result.status == 1) << result.status;
    EXPECT_EQ(result.out.empty(), result.status == 1);
  }
}

}  // namespace
}  // namespace memprof::cli::testing
