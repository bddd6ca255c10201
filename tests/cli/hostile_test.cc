// Damaged, foreign and empty files in every verb: one clear line and status 1, or what can be read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <tuple>

#include "tests/cli/cli_test_support.h"
#include "tests/fuzz/crafted_logs.h"

namespace memprof::cli::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// `verb` may have an option: "export html".
std::vector<std::string> Arguments(const std::string& verb, const std::string& log) {
  if (verb.starts_with("export ")) return {"export", "--to", verb.substr(7), "-o", "-", log};
  if (verb == "diff") return {verb, log, log};
  return {verb, log};
}

const std::string kVerbs[] = {
    "report",        "leaks",        "steps",           "categories",     "peak",  "advise",
    "fragmentation", "oom",          "replay",          "diff",           "dump",  "export csv",
    "export html",   "export pprof", "export perfetto", "export pytorch", "verify"};

std::string Good() {
  analysis::testing::LogBuilder log;
  WriteTraining(log);
  return log.Bytes();
}

TEST(HostileTest, FilesThatAreNoLogs) {
  const analysis::testing::TempDirectory directory;
  std::string future = Good();
  future[8] = future[12] = 99;  // format version, and the version a reader must know
  const std::string garbage(5000, 'x');
  struct File {
    const char* name;
    std::string bytes;
    const char* reason;
  };
  const File files[] = {{"empty", "", "is empty"},
                        {"future", future, "has log format 99, which needs a newer memprof"},
                        {"garbage", garbage, "is not a memprof log"},
                        {"header_only", Good().substr(0, 16), "is cut off before its first chunk"},
                        {"short", "MEMPR", "is cut off in its first bytes"}};
  for (const File& file : files) directory.Write(std::string(file.name) + ".mprof", file.bytes);
  const auto line = [&directory](const File& file) {
    return "memprof: " + directory.File(std::string(file.name) + ".mprof") + ": " + file.reason;
  };
  for (const std::string& verb : kVerbs) {
    for (const File& file : files) {
      SCOPED_TRACE(verb + " " + file.name);
      const Result result =
          Memprof(Arguments(verb, directory.File(std::string(file.name) + ".mprof")));
      EXPECT_EQ(result.status, 1);
      EXPECT_THAT(result.err, StartsWith(line(file)));
      EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
      EXPECT_EQ(result.out, "");
    }
    SCOPED_TRACE(verb + " of the folder");
    const Result result = Memprof(Arguments(verb, directory.File("")));
    EXPECT_EQ(result.status, 1);
    EXPECT_EQ(result.out, "");
    // Where a folder may be given, each log in it is named with its reason.
    const auto lines = std::count(result.err.begin(), result.err.end(), '\n');
    if (lines == 1) {
      EXPECT_THAT(result.err, StartsWith("memprof: " + directory.File("")));
      EXPECT_THAT(verb, ::testing::AnyOf("diff", "verify"));
      continue;
    }
    EXPECT_EQ(lines, std::ssize(files)) << result.err;
    for (const File& file : files)
      EXPECT_THAT(result.err,
                  ::testing::HasSubstr(std::string(file.name) + ".mprof: " + file.reason));
  }
}

// The options that make each verb do something else must not make it trust more.
TEST(HostileTest, NoOptionChangesTheAnswer) {
  const analysis::testing::TempDirectory directory;
  std::string damaged = Good();
  std::fill(damaged.begin() + 16, damaged.end(), '\x5a');  // a good beginning, then no sound chunk
  const std::string all_bad = directory.Write("damaged.mprof", damaged);
  const std::string empty = directory.Write("empty.mprof", "");
  const std::vector<std::string> commands[] = {{"report", "--json"},
                                               {"leaks", "--json"},
                                               {"leaks", "--fail-on=growing"},
                                               {"peak", "--json", "--step=1"},
                                               {"fragmentation", "--json"},
                                               {"fragmentation", "--at-end"},
                                               {"dump", "--json"},
                                               {"export", "--table=events", "-o", "-"},
                                               {"verify", "--json"}};
  for (std::vector<std::string> arguments : commands) {
    arguments.emplace_back();
    for (const std::string& path : {all_bad, empty, directory.File("missing.mprof")}) {
      SCOPED_TRACE(arguments[0] + " " + path);
      arguments.back() = path;
      const Result result = Memprof(arguments);
      EXPECT_EQ(result.status, 1);
      EXPECT_EQ(result.out, "");
      EXPECT_THAT(result.err, StartsWith("memprof: " + path + ": "));
      EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    }
  }
}

TEST(HostileTest, OneBadChecksumIsNamedAndTheRestIsRead) {
  const analysis::testing::TempDirectory directory;
  analysis::testing::LogBuilder log;
  WriteTraining(log);
  std::string bad = log.Bytes({.events_per_chunk = 50});
  bad[bad.size() / 2] ^= 1;  // in one chunk of events
  const std::string path = directory.Write("bad.mprof", bad);
  for (const std::string& verb : kVerbs) {
    const Result result = Memprof(Arguments(verb, path));
    if (verb == "verify") {
      EXPECT_EQ(result.status, 1);
      EXPECT_THAT(result.err, HasSubstr("bad checksum"));
      EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
    } else {
      EXPECT_EQ(result.status, 0) << verb << result.err;
      EXPECT_NE(result.out, "");
    }
    if (verb == "report") {
      EXPECT_THAT(result.out, HasSubstr("chunks_corrupt 1 (error)"));
    }
  }
}

TEST(HostileTest, CutLogsAreReadAsFarAsTheyGo) {
  const analysis::testing::TempDirectory directory;
  const std::string good = Good();
  const std::string path = directory.Write("cut.mprof", good.substr(0, good.size() * 4 / 5));
  for (const std::string& verb : kVerbs) {
    const Result result = Memprof(Arguments(verb, path));
    EXPECT_TRUE(result.status == 0 || (verb == "verify" && result.status == 1))
        << verb << result.err;
  }
}

TEST(HostileTest, FlippedBytesNeverCrash) {
  const analysis::testing::TempDirectory directory;
  const std::string good = Good();
  std::mt19937_64 random(17);
  for (int round = 0; round < 12; ++round) {
    std::string bad = good;
    for (int i = 0; i < 8; ++i) bad[random() % bad.size()] ^= static_cast<char>(1 + random() % 255);
    const std::string path = directory.Write("bad.mprof", bad);
    for (const std::string& verb : kVerbs) {
      const Result result = Memprof(Arguments(verb, path));
      EXPECT_TRUE(result.status == 0 || result.status == 1) << verb << ": " << result.status;
      if (result.status == 0) continue;
      EXPECT_THAT(result.err, StartsWith("memprof: "));
    }
  }
}

TEST(HostileTest, NamesCannotSpeakToTheTerminal) {
  const analysis::testing::TempDirectory directory;
  analysis::testing::LogBuilder log;
  const int site = log.Stack({"evil\033[2J\007 (a\033]0;x.cc:1)"});
  log.header().set_executable("/bin/\033[31mred");
  log.header().clear_argument();
  log.Device(0, 1 << 30, "GPU\033[5m\n\r");
  log.SourceState("driver\033", 1, "detail\033");
  log.Alloc(analysis::Layer::kLinear, 0x1000, 10, {.stack = site, .api = "cu\033"});
  log.TensorCreate(0x1000, 10, log.Tensor("t\033[1m", "f\b32", {3}), {.stack = site});
  const std::string path = directory.Write("evil.mprof", log.Bytes());
  for (const std::string& verb : kVerbs) {
    if (verb.starts_with("export ")) continue;  // data for programs, as recorded
    std::vector<std::string> arguments = Arguments(verb, path);
    if (verb == "dump") arguments.push_back("--symbols");
    const Result result = Memprof(arguments);
    EXPECT_EQ(result.status, 0) << result.err;
    for (const char c : result.out) {
      ASSERT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t') << verb;
    }
  }
  const Result missing = Memprof({"report", "/no/\033[31msuch"});
  EXPECT_EQ(missing.err.find('\033'), std::string::npos);
}

// Answers, or refuses in one line, within 20 s of processor time and 1 GiB.
void ExpectAnswered(const std::string& verb, const std::string& path) {
  SCOPED_TRACE(verb + " " + path);
  std::vector<std::string> arguments = Arguments(verb, path);
  if (verb == "footprint") arguments = {verb, "--batch=4,8", path, path};
  if (verb.find(' ') != std::string::npos && !verb.starts_with("export"))
    arguments = {verb.substr(0, verb.find(' ')), verb.substr(verb.find(' ') + 1), path};
  if (verb == "diff --json") arguments.push_back(path);
  if (verb == "export sqlite") arguments[4] = path + "." + verb;
#ifdef __SANITIZE_ADDRESS__
  const Streams limits{.cpu_limit = 200};  // it takes all addresses for itself, and is slow
#else
  // Addresses are more than memory: each thread has a stack.
  const Streams limits{.cpu_limit = 20, .address_limit = std::uint64_t{2} << 30};
#endif
  const Result result = MemprofOn(limits, arguments, ".", {"MALLOC_ARENA_MAX=1"});
  EXPECT_TRUE(result.status == 0 || result.status == 1) << result.status << result.err;
  EXPECT_LE(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
}

// Every kind of extreme log, each through a sixth of the verbs, and all of these by turns.
TEST(HostileTest, ExtremeLogsAreAnswered) {
  const analysis::testing::TempDirectory directory;
  std::vector<std::string> verbs(std::begin(kVerbs), std::end(kVerbs));
  for (const char* more : {"footprint", "export sqlite", "steps --json", "dump --json",
                           "dump --symbols", "report --json", "peak --json", "diff --json"})
    verbs.emplace_back(more);
  std::size_t turn = 0;
  for (const std::string& name : fuzz::CraftedNames()) {
    const std::string path = directory.Write(name + ".mprof", fuzz::CraftedBytes(name, 2000));
    ++turn;
    for (std::size_t i = turn % 6; i < verbs.size(); i += 6) ExpectAnswered(verbs[i], path);
  }
}

// What small files made take minutes or gigabytes.
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
  constexpr int kPart = 5;  // what is quadratic is seen without
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
    EXPECT_EQ(text.out.find("more") != std::string::npos, many) << "that there are others";
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

// Each line of dump and each document is JSON whatever names are, for readers that take Unicode's
// ends of lines for such as well; no name is longer than what readers of CSV take.
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

TEST(HostileTest, OneBrokenLogAmongManyIsLeftOut) {
  const analysis::testing::TempDirectory directory;
  const std::string good = directory.Write("b.mprof", Good());
  const std::string garbage = directory.Write("a.mprof", "garbage");
  const std::string empty = directory.Write("c.mprof", "");
  const Result alone = Memprof({"leaks", good});
  for (const std::string& verb : kVerbs) {
    if (verb == "diff" || verb == "verify") continue;  // of one log each
    for (const bool folder : {false, true}) {
      std::vector<std::string> arguments = Arguments(verb, folder ? directory.File("") : garbage);
      if (!folder) arguments.insert(arguments.end(), {good, empty});
      const Result result = Memprof(arguments);
      EXPECT_EQ(result.status, 0) << verb << result.err;
      EXPECT_THAT(result.err, HasSubstr("a.mprof: "));
      EXPECT_THAT(result.err, HasSubstr("c.mprof: "));
      EXPECT_THAT(result.err, HasSubstr("; left out\n"));
      EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 2) << result.err;
      if (verb == "leaks") {
        EXPECT_EQ(result.out, alone.out);
      }
    }
    std::vector<std::string> arguments = Arguments(verb, garbage);
    arguments.push_back(empty);
    const Result none = Memprof(arguments);
    EXPECT_EQ(none.status, 1) << verb;
    EXPECT_EQ(none.out, "");
    EXPECT_EQ(none.err.find("left out"), std::string::npos);
  }
}

}  // namespace
}  // namespace memprof::cli::testing
