// The JSON of every verb: keys, types and figures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/cli_test_support.h"

namespace memprof::cli::testing {
namespace {

using ::testing::HasSubstr;

Json RunJson(const std::vector<std::string>& arguments) {
  const Logs logs;
  const Result result = Memprof(arguments, logs.path());
  EXPECT_EQ(result.status, 0) << result.err;
  Json json = Json::parse(result.out, nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << result.out;
  return json;
}

void ExpectStack(const Json& stack) {
  ASSERT_TRUE(stack.is_array());
  for (const Json& frame : stack) {
    EXPECT_TRUE(frame.at("function").is_string());
    EXPECT_TRUE(frame.at("file").is_string());
    EXPECT_TRUE(frame.at("line").is_number_integer());
    EXPECT_TRUE(frame.at("module").is_string());
  }
}

TEST(JsonTest, Report) {
  const Json report = RunJson({"report", "--json", "train.mprof"});
  EXPECT_EQ(report.at("schema"), "memprof.report/1");
  EXPECT_EQ(report.at("complete"), true);
  EXPECT_EQ(report.at("sources"), Json::array({"driver"}));
  EXPECT_EQ(report.at("source_states").size(), 2u);
  EXPECT_EQ(report.at("steps"), 40);
  const Json& events = report.at("events");
  // Pinned memory, the segment's driver memory, device 1's memory; a segment; 4 + 2 * 40 blocks and
  // as many tensors.
  EXPECT_EQ(events.at("allocations"), 3 + 1 + 84 + 84);
  EXPECT_EQ(events.at("frees"), 80);
  EXPECT_EQ(events.at("failed"), 1);
  EXPECT_EQ(events.at("lost"), 0);
  EXPECT_EQ(events.at("unmatched_frees"), 0);
  EXPECT_EQ(events.at("total"), 172 + 80 + 40 + 2 + 53);
  ASSERT_EQ(report.at("devices").size(), 2u);
  const Json& device = report.at("devices")[0];
  EXPECT_EQ(device.at("id"), 0);
  EXPECT_EQ(device.at("name"), "test GPU");
  EXPECT_EQ(device.at("capacity_bytes"), 256 * kMiB);
  EXPECT_EQ(device.at("peak_bytes"), 64 * kMiB);
  EXPECT_EQ(device.at("live_bytes"), 64 * kMiB);
  EXPECT_EQ(device.at("live_blocks"), 1);
  EXPECT_EQ(device.at("reserved_bytes"), 0);
  EXPECT_EQ(device.at("untracked_bytes"), 12 * kMiB);
  const Json& framework = device.at("framework");
  EXPECT_EQ(framework.at("peak_bytes"), (8 + 40 + 6) * kMiB);
  EXPECT_EQ(framework.at("live_bytes"), 48 * kMiB);
  EXPECT_EQ(framework.at("live_blocks"), 44);
  EXPECT_EQ(framework.at("reserved_bytes"), 64 * kMiB);
  EXPECT_FALSE(report.at("devices")[1].contains("framework"));
  EXPECT_EQ(report.at("host").at("pinned_peak_bytes"), 8 * kMiB);
  EXPECT_EQ(report.at("host").at("pinned_live_bytes"), 8 * kMiB);
  EXPECT_EQ(report.at("peaks")[0].at("step"), 39);
  EXPECT_EQ(report.at("leaks").size(), 1u);
  for (const auto& [key, value] : device.items()) {
    if (!key.ends_with("_bytes")) continue;
    EXPECT_TRUE(value.is_number_unsigned()) << key;
  }
}

TEST(JsonTest, ReportOfACutLogOnTheStandIn) {
  const Json report = RunJson({"report", "--json", "raw.mprof"});
  EXPECT_EQ(report.at("complete"), false);
  EXPECT_EQ(report.at("simulated"), true);
  EXPECT_EQ(report.at("events").at("unmatched_frees"), 1);
  EXPECT_EQ(report.at("devices")[0].at("live_bytes"), 100'000);
  EXPECT_EQ(report.at("devices")[0].at("peak_bytes"), 104'096);
  EXPECT_EQ(report.at("horizon_too_short"), true);
}

TEST(JsonTest, Leaks) {
  const Json report = RunJson({"leaks", "--json", "train.mprof"});
  EXPECT_EQ(report.at("schema"), "memprof.leaks/1");
  ASSERT_EQ(report.at("leaks").size(), 1u);
  const Json& leak = report.at("leaks")[0];
  EXPECT_EQ(leak.at("tier"), "suspected");
  EXPECT_GE(leak.at("score").get<double>(), 50);
  EXPECT_EQ(leak.at("bytes"), 40 * kMiB);
  EXPECT_EQ(leak.at("blocks"), 40);
  EXPECT_EQ(leak.at("bytes_per_step"), kMiB);
  EXPECT_EQ(leak.at("first_step"), 3);
  EXPECT_EQ(leak.at("device"), 0);
  EXPECT_EQ(leak.at("layer"), "block");
  EXPECT_THAT(leak.at("why").get<std::string>(), HasSubstr("loss_history"));
  ExpectStack(leak.at("stack"));
  EXPECT_EQ(leak.at("site"), "HistoryLeak (history.cc:42)");
  EXPECT_EQ(leak.at("site_frame"), leak.at("stack")[0]);
  EXPECT_EQ(leak.at("stack")[0].at("function"), "HistoryLeak");
  EXPECT_EQ(leak.at("stack")[0].at("file"), "history.cc");
  EXPECT_EQ(leak.at("stack")[0].at("line"), 42);
  ASSERT_EQ(leak.at("holders").size(), 2u);
  EXPECT_EQ(leak.at("holders")[0],
            Json({{"path",
                   "list `metrics.losses`, assigned at train.py:7 (global `metrics`, "
                   "train.py:31)"},
                  {"root", "global `metrics`, train.py:31"},
                  {"chain", {"Metrics `metrics`", "list `metrics.losses`"}},
                  {"kind", "python"},
                  {"bytes", 40 * kMiB},
                  {"blocks", 40}}));
  EXPECT_EQ(leak.at("holders")[1].at("kind"), "autograd");
  const Json& alive = report.at("live_at_exit");
  ASSERT_EQ(alive.size(), 3u);  // device 1's memory, weights, pinned
  for (const Json& entry : alive) {
    EXPECT_EQ(entry.at("tier"), "live_at_exit");
    for (const auto& [key, value] : leak.items())
      EXPECT_TRUE(entry.contains(key) || key == "holders") << key;
    ExpectStack(entry.at("stack"));
  }
}

TEST(JsonTest, Peak) {
  const Json report = RunJson({"peak", "--json", "--top=2", "train.mprof"});
  EXPECT_EQ(report.at("schema"), "memprof.peak/1");
  const Json& peak = report.at("peaks").at(0);
  EXPECT_EQ(peak.at("bytes"), 64 * kMiB);
  EXPECT_EQ(peak.at("by_layer").at("tensor"), 54 * kMiB - 400);
  EXPECT_EQ(peak.at("tensors").size(), 2u);
  EXPECT_EQ(peak.at("tensors_total"), 45);
  EXPECT_EQ(peak.at("tensors")[0].at("name"), "activations");
  EXPECT_EQ(peak.at("tensors")[0].at("shape"), Json::array({64, 49152}));
  EXPECT_EQ(peak.at("tensors")[0].at("address"), "0x7f0003800000");
  ExpectStack(peak.at("sites")[0].at("stack"));
}

TEST(JsonTest, ABudgetAddsUpToTheLedgerOfTheReport) {
  const Json budget = RunJson({"budget", "--json", "serve.mprof"}).at("devices").at(0);
  std::uint64_t sum = 0;
  for (const auto& [key, value] : budget.at("parts").items()) sum += value.get<std::uint64_t>();
  EXPECT_EQ(sum, budget.at("total_bytes").get<std::uint64_t>());
  const Json ledger =
      RunJson({"report", "--json", "serve.mprof"}).at("devices").at(0).at("ledger").at("highest");
  EXPECT_EQ(budget.at("total_bytes"), ledger.at("total_bytes"));
  const Json& parts = budget.at("parts");
  EXPECT_EQ(parts.at("free"), ledger.at("free_bytes"));
  EXPECT_EQ(parts.at("other_processes"), ledger.at("other_processes_bytes"));
  EXPECT_EQ(parts.at("context").get<std::uint64_t>() + parts.at("unexplained").get<std::uint64_t>(),
            ledger.at("untracked_bytes").get<std::uint64_t>());
  EXPECT_EQ(parts.at("kv_cache"), 600 * kMiB);
  const Json& pool = budget.at("pools").at(0);
  EXPECT_EQ(pool.at("most").at("blocks"), 144);
  const Json& setting = pool.at("setting");
  EXPECT_EQ(setting.at("option"), "--gpu-memory-utilization");
  EXPECT_EQ(setting.at("needed").at("blocks"), 160);  // 0.38: 145 need 0.373
  EXPECT_EQ(setting.at("possible").at("value"), 0.94) << "94 % were free at first";
}

TEST(JsonTest, ABudgetWithoutPoolsSaysWhatRecordsThem) {
  analysis::testing::LogBuilder log;
  log.Device(0, 100 * kMiB);
  log.Alloc(analysis::Layer::kLinear, 0x1000, 50 * kMiB,
            {.stack = log.Stack({"init_kv_cache (serve.py:1)"})});
  log.Event(analysis::Op::kMemoryInfo, analysis::Layer::kUnspecified, 0, 50 * kMiB, 0,
            {.aux0 = 100 * kMiB});
  const analysis::testing::TempDirectory directory;
  const std::string path = directory.Write("x.mprof", log.Bytes());
  EXPECT_THAT(Memprof({"budget", path}).out, HasSubstr("No program said how many blocks"));
  const Result json = Memprof({"budget", "--json", path});
  EXPECT_EQ(Json::parse(json.out).at("devices").at(0).at("pools"), Json::array());
}

TEST(JsonTest, Fragmentation) {
  const Json report = RunJson({"fragmentation", "--json", "--at-end", "train.mprof"});
  EXPECT_EQ(report.at("schema"), "memprof.fragmentation/1");
  ASSERT_EQ(report.at("pools").size(), 1u);
  const Json& pool = report.at("pools")[0];
  EXPECT_EQ(pool.at("reserved_bytes"), 64 * kMiB);
  EXPECT_EQ(pool.at("free_bytes"), 16 * kMiB);
  EXPECT_EQ(pool.at("rounding_bytes"), 400);
  EXPECT_EQ(pool.at("pins").size(), 1u);
  EXPECT_EQ(pool.at("pins")[0].at("frees_bytes"), 16 * kMiB);
}

TEST(JsonTest, Verify) {
  const Json report = RunJson({"verify", "--json", "train.mprof"});
  EXPECT_EQ(report.at("schema"), "memprof.verify/1");
  EXPECT_EQ(report.at("sound"), true);
  EXPECT_EQ(report.at("events"), 347);
  EXPECT_EQ(report.at("problems"), Json::array());
}

TEST(JsonTest, BrokenTextBecomesValidJson) {
  const analysis::testing::TempDirectory directory;
  analysis::testing::LogBuilder log;
  const int site = log.Stack({"bad\xff\x01name (a.cc:1)"});
  log.Alloc(analysis::Layer::kLinear, 0x1000, 10, {.stack = site});
  log.RangePush("tab\t\"quote\" \xc3");
  directory.Write("odd.mprof", log.Bytes());
  for (const std::string verb : {"report", "leaks", "peak"}) {
    const Result result = Memprof({verb, "--json", directory.File("odd.mprof")});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_FALSE(Json::parse(result.out, nullptr, false).is_discarded()) << verb;
  }
  const Result dump = Memprof({"dump", "--json", directory.File("odd.mprof")});
  std::size_t lines = 0;
  for (std::size_t begin = 0; begin < dump.out.size(); ++lines) {
    const std::size_t end = dump.out.find('\n', begin);
    EXPECT_FALSE(Json::parse(dump.out.substr(begin, end - begin), nullptr, false).is_discarded());
    begin = end + 1;
  }
  EXPECT_EQ(lines, 2u);
}

}  // namespace
}  // namespace memprof::cli::testing
