// dump: filters, exact values, and many events.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/store/session.h"
#include "tests/cli/cli_test_support.h"

namespace memprof::cli::testing {
namespace {

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::vector<Json> DumpJson(const std::vector<std::string>& options) {
  const Logs logs;
  std::vector<std::string> arguments = {"dump", "--json", "train.mprof"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  const Result result = Memprof(arguments, logs.path());
  EXPECT_EQ(result.status, 0) << result.err;
  std::vector<Json> events;
  for (const std::string& line : Lines(result.out)) events.push_back(Json::parse(line));
  return events;
}

TEST(DumpTest, EveryEventOnceInOrderWithTheContractsKeys) {
  const std::vector<Json> events = DumpJson({});
  ASSERT_EQ(events.size(), 347u);
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Json& event = events[i];
    EXPECT_EQ(event.at("seq"), i);
    EXPECT_GE(event.at("time_ns").get<std::uint64_t>(), last);
    last = event.at("time_ns");
    for (const char* key : {"seq", "time_ns", "thread", "step", "device", "bytes"}) {
      EXPECT_TRUE(event.at(key).is_number_integer()) << key;
    }
    EXPECT_TRUE(event.at("op").is_string());
    EXPECT_TRUE(event.at("layer").is_string());
    EXPECT_TRUE(event.at("address").get<std::string>().starts_with("0x"));
    EXPECT_TRUE(event.at("stack").is_array());
  }
  EXPECT_EQ(events[0].at("op"), "alloc");
  EXPECT_EQ(events[0].at("layer"), "pinned");
  EXPECT_EQ(events[0].at("device"), -1);
  EXPECT_EQ(events[0].at("thread"), 4711);
  EXPECT_EQ(events[0].at("step"), -1);
  EXPECT_EQ(events[0].at("address"), "0x5000");
  EXPECT_EQ(events[0].at("bytes"), 8 << 20);
  EXPECT_EQ(events[0].at("api"), "cuMemHostAlloc");
  EXPECT_EQ(events[0].at("stack")[0].at("function"), "Loader::Loader");
  EXPECT_EQ(events[0].at("stack")[1].at("function"), "main");
}

TEST(DumpTest, FiltersSelectWhatAPlainLoopSelects) {
  const std::vector<Json> all = DumpJson({});
  const auto select = [&all](auto accept) {
    std::vector<Json> events;
    for (const Json& event : all) {
      if (accept(event)) events.push_back(event);
    }
    return events;
  };
  EXPECT_EQ(DumpJson({"--op=alloc"}), select([](const Json& e) { return e.at("op") == "alloc"; }));
  EXPECT_EQ(DumpJson({"--op=step", "--op", "free"}),
            select([](const Json& e) { return e.at("op") == "step" || e.at("op") == "free"; }));
  EXPECT_EQ(DumpJson({"--layer=tensor"}),
            select([](const Json& e) { return e.at("layer") == "tensor"; }));
  EXPECT_EQ(DumpJson({"--device=1"}), select([](const Json& e) { return e.at("device") == 1; }));
  EXPECT_EQ(DumpJson({"--device=-1"}), select([](const Json& e) { return e.at("device") == -1; }));
  EXPECT_GT(DumpJson({"--device=-1"}).size(), 40u);  // pinned memory and the steps' marks
  EXPECT_EQ(DumpJson({"--from-step=3", "--to-step=5"}),
            select([](const Json& e) { return e.at("step") >= 3 && e.at("step") <= 5; }));
  EXPECT_EQ(DumpJson({"--from-step=4", "--to-step=4"}),
            select([](const Json& e) { return e.at("step") == 4; }));
  EXPECT_EQ(DumpJson({"--address=0x7f0003800000"}).size(),
            select([](const Json& e) {
              return e.at("address") == "0x7f0003800000" || e.at("bytes") == 64 << 20;
            }).size());
  EXPECT_EQ(DumpJson({"--limit=7"}).size(), 7u);
}

TEST(DumpTest, StepsAreThoseOfTheirMarks) {
  std::int64_t step = -1;
  for (const Json& event : DumpJson({})) {
    if (event.at("op") == "step") step = event.at("number");
    EXPECT_EQ(event.at("step"), step);
  }
  EXPECT_EQ(step, 39);
}

TEST(DumpTest, ManyEventsAreStreamed) {
  const analysis::testing::TempDirectory directory;
  analysis::testing::LogBuilder log;
  constexpr int kPairs = 20'000;
  for (std::uint64_t i = 0; i < kPairs; ++i) {
    log.Alloc(analysis::Layer::kLinear, 0x1000 + i * 512, i);
    log.Free(0x1000 + i * 512);
  }
  const std::string path = directory.Write("many.mprof", log.Bytes());
  const Result text = Memprof({"dump", path});
  EXPECT_EQ(Lines(text.out).size(), 2u * kPairs + 1);
  const Result json = Memprof({"dump", "--json", "--op=alloc", path});
  const std::vector<std::string> lines = Lines(json.out);
  ASSERT_EQ(lines.size(), static_cast<std::size_t>(kPairs));
  EXPECT_EQ(Json::parse(lines[12'345]).at("bytes"), 12'345);
}

}  // namespace
}  // namespace memprof::cli::testing
