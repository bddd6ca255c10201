// Logs with extreme sizes and names: answered in time, and truncated with a note.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>

#include "tests/cli/cli_test_support.h"
#include "tests/cli/hostile_fixture.h"
#include "tests/fuzz/crafted_logs.h"

namespace memprof::cli::testing {
namespace {

// The command must succeed, or fail with one line, within 20 s of processor time and 1 GiB.
void ExpectAnswered(const std::string& verb, const std::string& path) {
  SCOPED_TRACE(verb + " " + path);
  std::vector<std::string> arguments = Arguments(verb, path);
  if (verb == "footprint") arguments = {verb, "--batch=4,8", path, path};
  if (verb.find(' ') != std::string::npos && !verb.starts_with("export"))
    arguments = {verb.substr(0, verb.find(' ')), verb.substr(verb.find(' ') + 1), path};
  if (verb == "diff --json") arguments.push_back(path);
  if (verb == "export sqlite") arguments[4] = path + "." + verb;
#ifdef __SANITIZE_ADDRESS__
  const Streams limits{.cpu_limit = 200};  // the sanitizer reserves address space and is slow
#else
  // Address space exceeds memory: each thread has a stack.
  const Streams limits{.cpu_limit = 20, .address_limit = std::uint64_t{2} << 30};
#endif
  const Result result = MemprofOn(limits, arguments, ".", {"MALLOC_ARENA_MAX=1"});
  EXPECT_TRUE(result.status == 0 || result.status == 1) << result.status << result.err;
  EXPECT_LE(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
}

// Every kind of extreme log runs through a sixth of the verbs; together they cover all verbs.
TEST(HostileTest, ExtremeLogsAreAnswered) {
  const analysis::testing::TempDirectory directory;
  std::vector<std::string> verbs(std::begin(kVerbs), std::end(kVerbs));
  for (const char* more : {"footprint", "export sqlite", "steps --json", "dump --json",
                           "dump --symbols", "report --json", "peak --json", "diff --json"})
    verbs.emplace_back(more);
  std::size_t file = 0;
  for (const std::string& name : fuzz::CraftedNames()) {
    const std::string path = directory.Write(name + ".mprof", fuzz::CraftedBytes(name, 2000));
    ++file;
    for (std::size_t i = file % 6; i < verbs.size(); i += 6) ExpectAnswered(verbs[i], path);
  }
}

// Small files that once took minutes or gigabytes.
TEST(HostileTest, LargeOnesAreAnsweredInTime) {
  const analysis::testing::TempDirectory directory;
  const std::tuple<const char*, int, std::vector<std::string>> hard[] = {
      {"deep_python", 1'000'000, {"report", "dump --symbols"}},
      {"overlapping_blocks", 100'000, {"fragmentation"}},
      {"live", 250'000, {"replay"}},
      {"ranges", 500'000, {"categories"}},
      {"modules", 100'000, {"diff"}},
      {"comb", 40'000, {"leaks --json"}},
      {"streams", 250'000, {"replay", "fragmentation --json"}},
      {"devices", 100'000, {"footprint"}},
      {"steps", 500'000, {"diff --json"}}};
#ifdef __SANITIZE_ADDRESS__
  constexpr int kPart = 5;  // quadratic time is also detected without the sanitizer
#else
  constexpr int kPart = 1;
#endif
  for (const auto& [name, scale, verbs] : hard) {
    const std::string path =
        directory.Write(std::string(name) + ".mprof", fuzz::CraftedBytes(name, scale / kPart));
    for (const std::string& verb : verbs) ExpectAnswered(verb, path);
  }
}

TEST(HostileTest, NoPlacementIsSoughtAmongVeryManyLiveAndItIsSaid) {
  const analysis::testing::TempDirectory directory;
  for (const int scale : {1000, 60'000}) {
    const std::string path = directory.Write("live.mprof", fuzz::CraftedBytes("live", scale));
    const Result json = Memprof({"replay", "--json", "--with=cuda", "--seconds=0.01", path});
    ASSERT_EQ(json.status, 0) << json.err;
    const auto device = nlohmann::json::parse(json.out)["devices"][0];
    ASSERT_TRUE(device.contains("optimum"));
    EXPECT_EQ(device["optimum"].is_null(), scale == 60'000);
    const Result text = Memprof({"replay", "--with=cuda", "--seconds=0.01", path});
    EXPECT_EQ(text.out.find("No offline optimum was sought") != std::string::npos, scale == 60'000);
  }
}

TEST(HostileTest, StacksOfVeryManyLeaksAreCutAndItIsSaid) {
  const analysis::testing::TempDirectory directory;
  const std::string path = directory.Write("comb.mprof", fuzz::CraftedBytes("comb", 16'000));
  const Result result = Memprof({"leaks", "--json", path});
  ASSERT_EQ(result.status, 0) << result.err;
  const auto report = nlohmann::json::parse(result.out);
  std::size_t leaks = 0;
  for (const char* list : {"leaks", "live_at_exit"}) {
    std::size_t frames = 0;
    for (const auto& leak : report[list]) {
      ++leaks;
      frames += leak["stack"].size();
      EXPECT_GT(leak.value("stack_frames", std::size_t{0}), leak["stack"].size());
    }
    EXPECT_LE(frames, 400'000u);
  }
  EXPECT_GE(leaks, 1000u);
}

TEST(HostileTest, OfVeryManyPoolsTheLargestAreListedAndItIsSaid) {
  const analysis::testing::TempDirectory directory;
  for (const int scale : {800, 20'000}) {
    const std::string path = directory.Write("pools.mprof", fuzz::CraftedBytes("streams", scale));
    const Result result = Memprof({"fragmentation", "--json", path});
    ASSERT_EQ(result.status, 0) << result.err;
    const auto report = nlohmann::json::parse(result.out);
    const bool many = scale == 20'000;
    for (const auto& [list, left_out] :
         {std::pair("pools", "pools_left_out"), std::pair("series", "series_left_out")}) {
      EXPECT_LE(report[list].size(), 1000u);
      EXPECT_EQ(report[list].size() == 1000, many) << list;
      EXPECT_EQ(report[left_out] > 0, many) << list;
    }
    const Result text = Memprof({"fragmentation", path});
    EXPECT_LT(std::count(text.out.begin(), text.out.end(), '\n'), 5000);
    EXPECT_EQ(text.out.find("more") != std::string::npos, many) << "it says that there are others";
  }
}

TEST(HostileTest, DeepStacksAreCutAndItIsSaid) {
  const analysis::testing::TempDirectory directory;
  const std::string path = directory.Write("deep.mprof", fuzz::CraftedBytes("deep_python", 3000));
  const Result result = Memprof({"report", "--json", path});
  ASSERT_EQ(result.status, 0) << result.err;
  const auto report = nlohmann::json::parse(result.out);
  bool said = false;
  for (const auto& anomaly : report["anomalies"]) said |= anomaly["name"] == "stacks_truncated";
  EXPECT_TRUE(said);
}

// Each line of dump and each document is JSON for any names, also for readers that treat Unicode
// line separators as ends of lines. No name is longer than CSV readers accept.
TEST(HostileTest, EvilNamesAreWrittenAsFormatsWantThem) {
  const analysis::testing::TempDirectory directory;
  for (const char* name : {"evil_names", "long_names"}) {
    const std::string path = directory.Write("evil.mprof", fuzz::CraftedBytes(name, 500'000));
    const Result dump = Memprof({"dump", "--json", path});
    ASSERT_EQ(dump.status, 0) << dump.err;
    for (const char* end : {"\xc2\x85", "\xe2\x80\xa8", "\x7f", "\xff", "\xe2\x80\xae"})
      EXPECT_EQ(dump.out.find(end), std::string::npos);
    std::istringstream lines(dump.out);
    for (std::string line; std::getline(lines, line);)
      ASSERT_TRUE(nlohmann::json::accept(line)) << line.substr(0, 300);
    const Result report = Memprof({"report", "--json", path});
    EXPECT_TRUE(nlohmann::json::accept(report.out));
    const Result csv = Memprof({"export", "--to=csv", "-o", "-", path});
    EXPECT_EQ(csv.out.find('\0'), std::string::npos);
    std::size_t cell = 0, longest = 0;
    for (const char c : csv.out) {
      cell = c == ',' ? 0 : cell + 1;
      longest = std::max(longest, cell);
    }
    EXPECT_LT(longest, 131'072u);
  }
}

}  // namespace
}  // namespace memprof::cli::testing
