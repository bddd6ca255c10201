// memprof oom: its exact text, its JSON, its statuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/cli_test_support.h"

namespace memprof::cli::testing {
namespace {

using analysis::Layer;
using analysis::Op;
using analysis::testing::LogBuilder;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// An allocator whose segment is full of holes, beside another process. It gives up in step 2; an
// earlier failure of a library was followed by success.
std::string ScatteredLog() {
  LogBuilder log;
  log.header().clear_argument();
  log.header().set_executable("/opt/train/train_gpt");
  log.header().set_hostname("gpu-host");
  log.header().set_pid(4711);
  log.Device(0, 64 * kMiB);
  const std::uint64_t base = 0x7f0000000000;
  const int grow = log.Stack({"main (train.cc:100)", "Grow (train.cc:61)"});
  const int keep = log.Stack({"main (train.cc:100)", "Keep (train.cc:70)"});
  const int work = log.Stack({"main (train.cc:100)", "Work (train.cc:80)"});
  const int library = log.Stack({"main (train.cc:100)", "Workspace (library.cc:5)"});
  log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, 54 * kMiB, 0,
            {.aux0 = 64 * kMiB, .aux1 = 1 + 8 * kMiB});
  log.Alloc(Layer::kLinear, base, 40 * kMiB, {.stack = grow});
  log.Alloc(Layer::kSegment, base, 40 * kMiB, {.stack = grow});
  for (std::uint64_t step = 0; step < 3; ++step) {
    log.Step(step);
    log.Alloc(Layer::kBlock, base + step * 10 * kMiB, 512, {.stack = keep, .aux0 = 400});
    if (step == 2) break;
    const std::uint64_t at = base + step * 10 * kMiB + 512;
    log.Alloc(Layer::kBlock, at, 8 * kMiB, {.stack = work, .aux0 = 8 * kMiB});
    log.Free(Layer::kBlock, at);
  }
  log.AllocFailed(Layer::kLinear, 16 * kMiB,
                  {.stack = library,
                   .aux0 = 14 * kMiB,
                   .aux1 = 64 * kMiB,
                   .result = 2,
                   .api = "cuMemAlloc_v2"});
  log.Alloc(Layer::kLinear, base + 64 * kMiB, 16 * kMiB, {.stack = library});
  log.Free(base + 64 * kMiB);
  log.AllocFailed(
      Layer::kLinear, 30 * kMiB,
      {.stack = work, .aux0 = 14 * kMiB, .aux1 = 64 * kMiB, .result = 2, .api = "cuMemAlloc_v2"});
  log.Event(Op::kFrameworkOom, Layer::kBlock, 0, 30 * kMiB, 0,
            {.stack = work, .aux0 = 1536, .aux1 = 40 * kMiB});
  return log.Bytes();
}

class OomVerbTest : public ::testing::Test {
 protected:
  OomVerbTest() { logs_.directory().Write("scattered.mprof", ScatteredLog()); }
  Result Oom(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "oom");
    return Memprof(arguments, logs_.path());
  }
  Json OomJson(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "--json");
    const Result result = Oom(arguments);
    EXPECT_EQ(result.status, 0) << result.err;
    return Json::parse(result.out, nullptr, false);
  }
  Logs logs_;
};

TEST_F(OomVerbTest, PrintsWhatItPrinted) {
  ExpectGolden("oom_scattered.txt", Oom({"scattered.mprof"}).out);
  ExpectGolden("oom_train.txt", Oom({"--top=3", "train.mprof"}).out);
  ExpectGolden("oom_raw.txt", Oom({"raw.mprof"}).out);
  ExpectGolden("oom_shared.txt", Oom({"shared.mprof"}).out);
  ExpectGolden("help_oom.txt", Oom({"--help"}).out);
}

TEST_F(OomVerbTest, LinesFitAPage) {
  const std::string text = Oom({"scattered.mprof"}).out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    EXPECT_LE(end - begin, 110u) << text.substr(begin, end - begin);  // "…" has three bytes
    EXPECT_TRUE(end == begin || text[end - 1] != ' ') << text.substr(begin, end - begin);
    begin = end + 1;
  }
}

TEST_F(OomVerbTest, JsonHasEveryDocumentedKey) {
  const Json all = OomJson({"scattered.mprof"});
  EXPECT_EQ(all["schema"], "memprof.oom/1");
  EXPECT_EQ(all["failures_total"], 2);
  ASSERT_EQ(all["failures"].size(), 2u);
  EXPECT_TRUE(all["failures"][0]["recovered"].get<bool>());
  const Json& failure = all["failures"][1];
  for (const char* key :
       {"event",     "time_ns",      "step",         "device",        "layer",
        "bytes",     "driver_bytes", "driver_event", "allocator",     "attempts",
        "recovered", "api",          "result",       "site",          "site_frame",
        "stack",     "cause",        "why",          "missing_bytes", "small_pool",
        "stream",    "space",        "remedies",     "sites",         "step_before"})
    EXPECT_TRUE(failure.contains(key)) << key;
  EXPECT_EQ(failure["cause"], "fragmentation");
  const Json& space = failure["space"];
  std::uint64_t sum = 0;
  for (const char* key : {"free_bytes", "blocks_bytes", "rounding_bytes", "modules_bytes",
                          "pools_bytes", "untracked_bytes", "other_processes_bytes"})
    sum += space[key].get<std::uint64_t>();
  for (const char* key : {"own_pool_free", "other_pools_free", "foreign_free", "cached_segments"})
    sum += space[key]["bytes"].get<std::uint64_t>();
  for (const auto& [layer, bytes] : space["direct"].items()) sum += bytes.get<std::uint64_t>();
  EXPECT_EQ(sum, space["total_bytes"].get<std::uint64_t>() +
                     space["elsewhere_bytes"].get<std::uint64_t>());
  EXPECT_EQ(failure["step_before"]["step"], 1);
  for (const Json& remedy : failure["remedies"])
    for (const char* key : {"kind", "fits", "bytes", "short_by_bytes", "words"})
      EXPECT_TRUE(remedy.contains(key)) << key;
  // The failure that the text explains.
  EXPECT_EQ(all["link"], "memprof-viewer 'scattered.mprof#view=fragmentation&device=0&at=event" +
                             std::to_string(failure["event"].get<int>()) + "'");
  ASSERT_EQ(all["headroom"].size(), 1u);
  for (const char* key :
       {"device", "total_bytes", "lowest_bytes", "time_ns", "step", "reusable_bytes", "samples",
        "lowest_sample_bytes", "lowest_sample_time_ns"})
    EXPECT_TRUE(all["headroom"][0].contains(key)) << key;
}

TEST_F(OomVerbTest, OneEvent) {
  const Json all = OomJson({"scattered.mprof"});
  const std::string event = std::to_string(all["failures"][1]["driver_event"].get<int>());
  const Json one = OomJson({"--event", event, "scattered.mprof"});
  ASSERT_EQ(one["failures"].size(), 1u);
  // the driver's refusal belongs to the allocator's failure
  EXPECT_EQ(one["failures"][0], all["failures"][1]);
  const Result none = Oom({"--event=3", "scattered.mprof"});
  EXPECT_EQ(none.status, 1);
  EXPECT_THAT(none.err, HasSubstr("event 3 is no failed request; the last is event "));
  EXPECT_THAT(Oom({"--event=3", "raw.mprof"}).err, HasSubstr("none is in the log"));
}

TEST_F(OomVerbTest, WrongUse) {
  const std::vector<std::string> wrong[] = {{"--event=-1", "raw.mprof"}, {"--event=last"},
                                            {"--top=-1", "raw.mprof"},   {"--top=x"},
                                            {"--evnt=1", "raw.mprof"},   {},
                                            {"--json=1", "raw.mprof"}};
  for (const std::vector<std::string>& arguments : wrong) {
    const Result result = Oom(arguments);
    EXPECT_EQ(result.status, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, StartsWith("memprof: oom: "));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
  EXPECT_EQ(Oom({"none.mprof"}).status, 1);
}

TEST_F(OomVerbTest, SeveralLogsAreOneJob) {
  const Result result = Oom({"raw.mprof", "scattered.mprof"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("2 requests for memory failed"));
}

TEST_F(OomVerbTest, CutLogsSayWhatIsThere) {
  const std::string whole = ScatteredLog();
  for (std::size_t size = 64; size < whole.size(); size += whole.size() / 23) {
    logs_.directory().Write("cut.mprof", whole.substr(0, size));
    const Result result = Oom({"cut.mprof"});
    EXPECT_TRUE(result.status == 0 || result.status == 1) << size;
  }
}

// An evaluation without steps that keeps the results of every batch.
std::string GrowingLog() {
  LogBuilder log;
  log.Device(0, 64 * kMiB);
  const int load = log.Stack({"main (eval.cc:10)", "Evaluate (eval.cc:7)"});
  const int model = log.Stack({"main (eval.cc:10)", "Evaluate (eval.cc:8)"});
  for (std::uint64_t batch = 0; batch < 20; ++batch) {
    log.Alloc(Layer::kLinear, 0x7e0000000000, kMiB, {.stack = load});
    log.Alloc(Layer::kLinear, 0x7f0000000000 + batch * 4 * kMiB, 3 * kMiB, {.stack = model});
    log.Free(0x7e0000000000);
  }
  log.AllocFailed(Layer::kLinear, 3 * kMiB,
                  {.stack = model, .aux0 = kMiB, .aux1 = 64 * kMiB, .result = 2});
  log.Event(Op::kHostScan, Layer::kUnspecified, 0, 24 * kMiB, 0, {.device = analysis::kNoDevice});
  return log.Bytes();
}

TEST_F(OomVerbTest, GrowthWithoutStepsIsReported) {
  logs_.directory().Write("growing.mprof", GrowingLog());
  const Json failure = OomJson({"growing.mprof"})["failures"][0];
  EXPECT_EQ(failure["growth"]["turns"], 20);
  EXPECT_EQ(failure["growth"]["site"], "Evaluate (eval.cc:8)");
  EXPECT_EQ(failure["growth"]["bytes"], 60 * kMiB);
  EXPECT_EQ(failure["growth"]["bytes_per_step"], 3 * kMiB);
  EXPECT_EQ(failure["remedies"][0]["kind"], "sites");
  EXPECT_EQ(failure["remedies"][0]["beyond_request_bytes"], 58 * kMiB);
  EXPECT_THAT(Oom({"growing.mprof"}).out, HasSubstr("allocated in 20 iterations and did not free"));
  const std::string report = Memprof({"report", "growing.mprof"}, logs_.path()).out;
  EXPECT_THAT(report, HasSubstr("Growth: 60.0 MiB are held that Evaluate"));
  EXPECT_THAT(report, HasSubstr("Host memory was scanned for pointers 1 time (24.0 MiB"));
}

}  // namespace
}  // namespace memprof::cli::testing
