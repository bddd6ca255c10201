// Exit statuses: 0 fine, 1 failed, 2 wrong usage, 3 a --fail-on condition holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <utility>

#include "tests/cli/cli_test_support.h"
#include "tests/cli/status_fixture.h"

namespace memprof::cli::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(StatusTest, Version) {
  const Result result = Memprof({"--version"});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.out, ::testing::MatchesRegex("memprof [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(StatusTest, LogsAreVerifiedOneByOne) {
  const Logs logs;
  ExpectError(Memprof({"verify", "--json", "train.mprof", "raw.mprof"}, logs.path()), 2);
  const Result both = Memprof({"verify", "raw.mprof", "none.mprof", "train.mprof"}, logs.path());
  EXPECT_EQ(both.status, 1);
  EXPECT_THAT(both.out, HasSubstr("raw.mprof: format version 1"));
  EXPECT_THAT(both.out, HasSubstr("train.mprof: format version 1"));
  EXPECT_THAT(both.err, HasSubstr("none.mprof"));
}

TEST(StatusTest, SeveralLogsAreOneSession) {
  const Logs logs;
  for (const std::string verb : {"report", "leaks", "peak", "fragmentation", "dump"}) {
    const Result result = Memprof({verb, "train.mprof", "raw.mprof"}, logs.path());
    EXPECT_EQ(result.status, 0) << verb << ": " << result.err;
    EXPECT_EQ(result.err, "") << verb;
    const Result rest = Memprof({verb, "train.mprof", "none.mprof"}, logs.path());
    EXPECT_EQ(rest.status, 0) << verb;
    EXPECT_THAT(rest.err, HasSubstr("none.mprof")) << verb;
    EXPECT_NE(rest.out, "") << verb;
    ExpectError(Memprof({verb, "raw.mprof", "raw.mprof"}, logs.path()), 1);
  }
}

TEST(StatusTest, AFolderStandsForTheLogsInIt) {
  const Logs logs;
  std::filesystem::create_directory(logs.path() + "/empty");
  std::filesystem::create_directory(logs.path() + "/job");
  for (const std::string name : {"/train.mprof", "/raw.mprof"})
    std::filesystem::copy(logs.path() + name, logs.path() + "/job" + name);
  const Result named = Memprof({"report", "job/raw.mprof", "job/train.mprof"}, logs.path());
  const Result folder = Memprof({"report", "job"}, logs.path());
  EXPECT_EQ(folder.status, 0) << folder.err;
  EXPECT_EQ(folder.out, named.out);
  ExpectError(Memprof({"report", "empty"}, logs.path()), 1);
}

TEST(StatusTest, FailOn) {
  const Logs logs;
  const auto fail_on = [&logs](const std::string& tier, const std::string& log) {
    return Memprof({"leaks", "--fail-on=" + tier, log}, logs.path()).status;
  };
  EXPECT_EQ(fail_on("suspected", "train.mprof"), 3);
  EXPECT_EQ(fail_on("growing", "train.mprof"), 3);  // suspected leaks are worse than growing ones
  EXPECT_EQ(fail_on("definite", "train.mprof"), 0);
  EXPECT_EQ(fail_on("growing", "raw.mprof"), 0);
  const Result json =
      Memprof({"leaks", "--json", "--fail-on", "suspected", "train.mprof"}, logs.path());
  EXPECT_EQ(json.status, 3);
  EXPECT_THAT(json.out, StartsWith("{"));
  EXPECT_EQ(Memprof({"leaks", "train.mprof"}, logs.path()).status, 0);
}

TEST(StatusTest, MissingLogIsAFailedInput) {
  for (const std::string verb : kReadingVerbs) {
    std::vector<std::string> arguments = {verb, "/no/such/log.mprof"};
    if (verb == "export") arguments.insert(arguments.end(), {"-o", "-"});
    const Result result = Memprof(arguments);
    ExpectError(result, 1);
    EXPECT_THAT(result.err, HasSubstr("/no/such/log.mprof"));
  }
}

TEST(StatusTest, WhatTheLogLacksIsAFailedInput) {
  const Logs logs;
  ExpectError(Memprof({"peak", "--step=99", "train.mprof"}, logs.path()), 1);
  ExpectError(Memprof({"categories", "--at=step=99", "train.mprof"}, logs.path()), 1);
  ExpectError(Memprof({"categories", "--device=7", "train.mprof"}, logs.path()), 1);
  ExpectError(Memprof({"peak", "--device=7", "train.mprof"}, logs.path()), 1);
  ExpectError(Memprof({"source", "--device=7", "train.mprof"}, logs.path()), 1);
  ExpectError(Memprof({"source", "--file=no.cc", "train.mprof"}, logs.path()), 1);
  ExpectError(Memprof({"fragmentation", "--device=7", "train.mprof"}, logs.path()), 1);
  // The number must not be truncated to device 0.
  ExpectError(Memprof({"peak", "--device=4294967296", "train.mprof"}, logs.path()), 1);
  ExpectError(Memprof({"fragmentation", "--device=4294967296", "train.mprof"}, logs.path()), 1);
  ExpectError(Memprof({"fragmentation", "--step=99", "train.mprof"}, logs.path()), 1);
}

TEST(StatusTest, FullDiskIsReportedOnce) {
  const Logs logs;
  const Result result =
      Memprof({"export", "-o", "/dev/full", "--force", "train.mprof"}, logs.path());
  ExpectError(result, 1);
}

TEST(StatusTest, SuppressedLeaksDoNotFailAndBadSuppressionsDo) {
  const Logs logs;
  const std::vector<std::string> leaks = {"leaks", "--fail-on=suspected", "train.mprof"};
  EXPECT_EQ(Memprof(leaks, logs.path()).status, 3);
  std::vector<std::string> suppressed = leaks;
  suppressed.push_back("--suppressions=ours.supp");
  EXPECT_EQ(Memprof(suppressed, logs.path()).status, 0);
  suppressed.back() = "--suppressions=none.supp";
  const Result missing = Memprof(suppressed, logs.path());
  ExpectError(missing, 1);
  EXPECT_THAT(missing.err, HasSubstr("none.supp: No such file"));
  logs.directory().Write("bad.supp", "leak:Fine\nrace:NotOurs\n");
  suppressed.back() = "--suppressions=bad.supp";
  const Result bad = Memprof(suppressed, logs.path());
  ExpectError(bad, 1);
  EXPECT_THAT(bad.err, HasSubstr("bad.supp:2: expected 'leak:PATTERN'"));
}

TEST(StatusTest, SuppressionsNameFunctionsInFullOrAsReportsPrintThem) {
  const analysis::testing::TempDirectory directory;
  analysis::testing::LogBuilder log;
  const int stack = log.Stack({"main (train.cc:1)", "ours::memory::Remember(int) (history.cc:2)"});
  for (std::uint64_t step = 0; step < 40; ++step) {
    log.Step(step);
    log.Alloc(analysis::Layer::kLinear, 0x1000 * (step + 1), 512, {.stack = stack});
  }
  directory.Write("a.mprof", log.Bytes());
  const std::pair<const char*, int> patterns[] = {{"leak:^Remember$", 0},
                                                  {"leak:^ours::memory::Remember(int)$", 0},
                                                  {"leak:^memory::Remember$", 3}};
  for (const auto& [pattern, status] : patterns) {
    directory.Write("a.supp", pattern);
    EXPECT_EQ(Memprof({"leaks", "--fail-on=suspected", "--suppressions", directory.File("a.supp"),
                       directory.File("a.mprof")})
                  .status,
              status)
        << pattern;
  }
}

TEST(StatusTest, SuppressionsAreCountedInJson) {
  const Logs logs;
  const Result result =
      Memprof({"leaks", "--json", "--suppressions=ours.supp", "train.mprof"}, logs.path());
  EXPECT_THAT(result.out, HasSubstr(R"("pattern": "^HistoryLeak$")"));
  EXPECT_THAT(result.out, HasSubstr(R"("pattern": "never.cc")"));
}

}  // namespace
}  // namespace memprof::cli::testing
