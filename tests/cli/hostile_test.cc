// Damaged, foreign and empty files in every verb: one clear line and status 1, or what can be read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/cli/cli_test_support.h"

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
  directory.Write("empty.mprof", "");
  directory.Write("short.mprof", "MEMPR");
  directory.Write("garbage.mprof", garbage);
  directory.Write("future.mprof", future);
  directory.Write("header_only.mprof", Good().substr(0, 16));
  for (const std::string& verb : kVerbs) {
    for (const std::string name :
         {"empty", "short", "garbage", "future", "header_only", "directory"}) {
      SCOPED_TRACE(verb + " " + name);
      const std::string path =
          name == "directory" ? directory.File("") : directory.File(name + ".mprof");
      const Result result = Memprof(Arguments(verb, path));
      EXPECT_EQ(result.status, 1);
      EXPECT_THAT(result.err, StartsWith("memprof: "));
      EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
      EXPECT_EQ(result.out, "");
    }
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

}  // namespace
}  // namespace memprof::cli::testing
