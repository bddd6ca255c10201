// The verb on this machine, its JSON, and programs that do not end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/cli_test_support.h"
#include "tests/cli/doctor/fake_machine.h"

namespace memprof::cli::doctor::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

TEST(DoctorTest, ThisMachineIsExamined) {
  const auto result = cli::testing::Memprof({"doctor"});
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, HasSubstr("\nok       kernel         "));
  EXPECT_EQ(result.status == 0, result.out.find("\nproblem ") == std::string::npos);
}

TEST(DoctorTest, AProgramThatCannotBeRecordedIsStatusOne) {
  const auto result = cli::testing::Memprof({"doctor", "--json", "--", "/no/such/program", "-x"});
  EXPECT_EQ(result.status, 1);
  const Json json = Json::parse(result.out);
  EXPECT_EQ(json["schema"], "memprof.doctor/1");
  EXPECT_EQ(json["can_record"], false);
  const Json& last = json["checks"].back();
  EXPECT_EQ(last.size(), 4u);
  EXPECT_EQ(last["subject"], "program");
  EXPECT_EQ(last["state"], "problem");
  EXPECT_EQ(last["found"], "/no/such/program is not found, or no program");
  EXPECT_EQ(last["remedy"], "name it by its path");
  EXPECT_EQ(cli::testing::Memprof({"doctor", "--jsn"}).status, 2);
}

TEST(Started, HasStatusAndBothOutputs) {
  const Started started =
      Start({"/bin/sh", "-c", "cat; echo $A; echo err >&2; exit 3"}, {{"A", "b"}}, 10);
  EXPECT_TRUE(started.ended);
  EXPECT_EQ(started.status, 3);
  EXPECT_EQ(started.out, "b\n");
  EXPECT_EQ(started.err, "err\n");
  EXPECT_EQ(Start({"/bin/sh", "-c", "kill -9 $$"}, {}, 10).status, 137);
  EXPECT_EQ(Start({"/no/such/program"}, {}, 10).status, 127);
}

TEST(Started, NeverWaitsForever) {
  for (const char* script : {"sleep 1000", "sleep 1000 & exit 0", "exec >&- 2>&-; sleep 1000",
                             "trap '' TERM; while :; do echo x; done"}) {
    const Started started = Start({"/bin/sh", "-c", script}, {}, 1);
    EXPECT_FALSE(started.ended) << script;
    EXPECT_LE(started.out.size(), (1u << 20) + 4096);
  }
}

}  // namespace
}  // namespace memprof::cli::doctor::testing
