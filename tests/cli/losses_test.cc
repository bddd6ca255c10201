// What verbs print of a log that lost nearly everything, and of one that lost little.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/cli/cli_test_support.h"

namespace memprof::cli::testing {
namespace {

using analysis::testing::LogBuilder;
using ::testing::HasSubstr;
using ::testing::Not;

const char* const kVerbs[] = {"report",        "leaks",  "steps",  "oom",    "peak",  "categories",
                              "fragmentation", "advise", "budget", "replay", "source"};

class LossesTest : public ::testing::Test {
 protected:
  analysis::testing::TempDirectory directory_;
  std::string log_, whole_;

  void Write(std::uint64_t lost, bool full = false) {
    LogBuilder log;
    WriteTraining(log);
    whole_ = directory_.Write("whole.mprof", log.Bytes());
    log.Count("events_lost", lost);
    if (full) log.Count("write_errors", 1);
    log_ = directory_.Write("x.mprof", log.Bytes());
  }
  Result Run(std::vector<std::string> arguments) {
    arguments.push_back(log_);
    return Memprof(arguments);
  }
};

TEST_F(LossesTest, ALogThatLostNearlyAllTellsOnlyThat) {
  Write(17'003);
  for (const char* const verb : kVerbs)
    for (const bool json : {false, true}) {
      const Result result = json ? Run({verb, "--json"}) : Run({verb});
      EXPECT_EQ(result.status, 1) << verb;
      EXPECT_EQ(result.out, "") << verb;
      EXPECT_THAT(result.err, HasSubstr(std::string("17,003 of its 17,350 events are lost: '") +
                                        verb + "' needs them, and tells nothing"));
      EXPECT_THAT(result.err, HasSubstr("raise MEMPROF_RING_EVENTS"));
      EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
    }
  EXPECT_EQ(Run({"dump"}).status, 0) << "it prints what is there";
  EXPECT_EQ(Run({"export", "-o", "-"}).status, 0) << "so do rows";
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"diff", "--from=start"},
        {"diff", whole_},
        {"footprint", "--batch=1,2", whole_},
        {"export", "--to=html", "-o", whole_ + ".html"}}) {
    const Result result = Run(arguments);
    EXPECT_EQ(result.status, 1) << arguments[0];
    EXPECT_EQ(result.out, "") << arguments[0];
    EXPECT_THAT(result.err, HasSubstr("17,003 of its 17,350 events are lost"));
  }
}

TEST_F(LossesTest, ALogThatCouldNotBeWrittenIsNotToldToHaveALargerRing) {
  Write(17'003, /*full=*/true);
  const Result result = Run({"report"});
  EXPECT_THAT(result.err, HasSubstr("recording stopped there"));
  EXPECT_THAT(result.err, Not(HasSubstr("MEMPROF_RING_EVENTS")));
}

TEST_F(LossesTest, ALogThatLostLittleSaysSoInItsHead) {
  Write(3);
  const Result result = Run({"report"});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.out, HasSubstr("3 of its 350 events are lost"));
  EXPECT_THAT(result.out, Not(HasSubstr("ended after")));
}

}  // namespace
}  // namespace memprof::cli::testing
