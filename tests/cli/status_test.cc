// Exit statuses: 0 fine, 1 failed, 2 wrong usage, 3 a --fail-on condition holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "tests/cli/cli_test_support.h"

namespace memprof::cli::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const char* const kReadingVerbs[] = {"report", "leaks",  "steps",         "categories",
                                     "peak",   "advise", "fragmentation", "oom",
                                     "replay", "dump",   "export",        "verify"};
// These want more than one log.
const char* const kOtherVerbs[] = {"run", "diff", "footprint", "import"};

// One line on standard error, and nothing on standard output.
void ExpectError(const Result& result, int status) {
  EXPECT_EQ(result.status, status);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, StartsWith("memprof: "));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
}

TEST(StatusTest, UnknownVerbs) {
  ExpectError(Memprof({}), 2);
  const Result near = Memprof({"leak", "x.mprof"});
  ExpectError(near, 2);
  EXPECT_THAT(near.err, HasSubstr("did you mean 'memprof leaks'?"));
  const Result far = Memprof({"crystal", "x.mprof"});
  ExpectError(far, 2);
  EXPECT_THAT(far.err, HasSubstr("there is no verb 'crystal'"));
  ExpectError(Memprof({"help", "nonsense"}), 2);
}

TEST(StatusTest, Version) {
  const Result result = Memprof({"--version"});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.out, ::testing::MatchesRegex("memprof [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(StatusTest, WrongOptions) {
  for (const std::string verb : kReadingVerbs) {
    ExpectError(Memprof({verb, "--no-such-option", "x.mprof"}), 2);
    ExpectError(Memprof({verb}), 2);
  }
  const Result near = Memprof({"report", "--jsn", "x.mprof"});
  EXPECT_THAT(near.err, HasSubstr("did you mean '--json'?"));
  ExpectError(Memprof({"report", "--top", "many", "x.mprof"}), 2);
  ExpectError(Memprof({"report", "--top=-1", "x.mprof"}), 2);
  ExpectError(Memprof({"report", "--json=yes", "x.mprof"}), 2);
  ExpectError(Memprof({"leaks", "--fail-on=always", "x.mprof"}), 2);
  ExpectError(Memprof({"dump", "--op=aloc", "x.mprof"}), 2);
  ExpectError(Memprof({"dump", "--address=here", "x.mprof"}), 2);
  ExpectError(Memprof({"dump", "--limit"}), 2);
  ExpectError(Memprof({"fragmentation", "--step=1", "--at-end", "x.mprof"}), 2);
  ExpectError(Memprof({"export", "x.mprof"}), 2);
  ExpectError(Memprof({"export", "--to", "xlsx", "-o", "-", "x.mprof"}), 2);
}

TEST(StatusTest, WrongValuesOfEveryOption) {
  const Logs logs;
  const std::vector<std::string> wrong[] = {
      {"report", "--top="},
      {"report", "--top=1e3"},
      {"report", "--top=99999999999999999999"},
      {"leaks", "--top=-1"},
      {"leaks", "--frames=-1"},
      {"leaks", "--frames=few"},
      {"leaks", "--fail-on"},
      {"leaks", "--fail-on=live_at_exit"},
      {"leaks", "--fail-on=Suspected"},
      {"peak", "--top=-2"},
      {"peak", "--device=gpu0"},
      {"peak", "--device=-1"},
      {"peak", "--step=-1"},
      {"peak", "--step=last"},
      {"steps", "--top=-1"},
      {"steps", "--source=guess"},
      {"categories", "--top=-1"},
      {"categories", "--device=-1"},
      {"categories", "--at=now"},
      {"categories", "--at=step="},
      {"categories", "--at=step=-2"},
      {"categories", "--at=step=1x"},
      {"fragmentation", "--device=-1"},
      {"fragmentation", "--device=0x0"},
      {"fragmentation", "--step=-1"},
      {"fragmentation", "--top=-1"},
      {"fragmentation", "--at-end=yes"},
      {"dump", "--layer=blocks"},
      {"dump", "--limit=-1"},
      {"dump", "--limit=1 "},
      {"dump", "--from-step=two"},
      {"dump", "--from-step=3", "--to-step=2"},
      {"dump", "--address=0x"},
      {"dump", "--address=0xfg"},
      {"dump", "--address=0x10000000000000000"},
      {"dump", "--symbols=all"},
      {"export", "--to=parquet", "-o", "-"},
      {"export", "--table=allocs", "-o", "-"},
      {"export", "--force=1", "-o", "-"},
      {"export", "-x", "-o", "-"},
      {"verify", "--json=1"},
  };
  for (std::vector<std::string> arguments : wrong) {
    SCOPED_TRACE(arguments[0] + " " + arguments[1]);
    if (arguments.back() != "--fail-on") arguments.push_back("train.mprof");
    const Result result = Memprof(arguments, logs.path());
    ExpectError(result, 2);
    EXPECT_THAT(result.err, HasSubstr("(see 'memprof " + arguments[0] + " --help')"));
  }
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

TEST(StatusTest, HelpOfEveryVerbGoesToStandardOutput) {
  std::vector<std::string> verbs(std::begin(kReadingVerbs), std::end(kReadingVerbs));
  verbs.insert(verbs.end(), std::begin(kOtherVerbs), std::end(kOtherVerbs));
  const Result all = Memprof({"help"});
  for (const std::string& verb : verbs) {
    SCOPED_TRACE(verb);
    const Result help = Memprof({verb, "--help"}), same = Memprof({"help", verb});
    EXPECT_EQ(help.status, 0);
    EXPECT_EQ(help.err, "");
    EXPECT_THAT(help.out, StartsWith("Usage: memprof " + verb));
    EXPECT_THAT(help.out, HasSubstr("Examples:"));
    EXPECT_EQ(help.out, same.out);
    EXPECT_THAT(all.out, HasSubstr("\n  " + verb));
  }
  EXPECT_EQ(all.out, Memprof({"--help"}).out);
}

TEST(StatusTest, FailOn) {
  const Logs logs;
  const auto fail_on = [&logs](const std::string& tier, const std::string& log) {
    return Memprof({"leaks", "--fail-on=" + tier, log}, logs.path()).status;
  };
  EXPECT_EQ(fail_on("suspected", "train.mprof"), 3);
  EXPECT_EQ(fail_on("growing", "train.mprof"), 3);  // suspected is worse than growing
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
  ExpectError(Memprof({"fragmentation", "--device=7", "train.mprof"}, logs.path()), 1);
  // Not device 0, whatever is cut off of the number.
  ExpectError(Memprof({"peak", "--device=4294967296", "train.mprof"}, logs.path()), 1);
  ExpectError(Memprof({"fragmentation", "--device=4294967296", "train.mprof"}, logs.path()), 1);
  ExpectError(Memprof({"fragmentation", "--step=99", "train.mprof"}, logs.path()), 1);
}

TEST(StatusTest, FullDiskIsToldOnce) {
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
