// The last line of `memprof run`.
#include "cli/run/internal/recorded.h"

#include <gtest/gtest.h>
#include <stdlib.h>

namespace memprof::cli {
namespace {

TEST(RecordedText, NamesOneLogAndItsReport) {
  EXPECT_EQ(RecordedText({"/a/b.mprof"}, "/a/b.mprof", 1),
            "recorded to /a/b.mprof; next: memprof report /a/b.mprof");
}

TEST(RecordedText, NamesTheFirstAndTheLastOfAFew) {
  EXPECT_EQ(RecordedText({"/a/0.x.mprof", "/a/2.x.mprof", "/a/10.x.mprof"}, "/a/%r.%h.mprof", 1),
            "recorded 3 processes, /a/0.x.mprof to /a/10.x.mprof; next: memprof report "
            "/a/*.*.mprof");
  EXPECT_EQ(RecordedText({"/a/7/0.mprof", "/a/7/1.mprof"}, "/a/%j/%r.mprof", 8),
            "recorded 2 processes, /a/7/0.mprof to /a/7/1.mprof; next: memprof report "
            "/a/7/*.mprof")
      << "not those of other jobs";
  EXPECT_EQ(RecordedText({"/a/7/0.mprof", "/a/8/0.mprof"}, "/a/%j/%r.mprof", 1),
            "recorded 2 processes, /a/7/0.mprof to /a/8/0.mprof; next: memprof report "
            "/a/*/*.mprof");
}

TEST(RecordedText, ProposesAFleetForManyRanks) {
  EXPECT_EQ(RecordedText({"/a/7/3.mprof"}, "/a/%j/%r.mprof", 9),
            "recorded to /a/7/3.mprof; next: memprof fleet map /a/7 -o fleet");
  std::vector<std::string> logs;
  for (int i = 0; i < 8; ++i) logs.push_back("/a/7/x/" + std::to_string(i) + ".mprof");
  EXPECT_TRUE(RecordedText(logs, "/a/%j/x/%r.mprof", 1).ends_with("report /a/7/x/*.mprof"));
  logs.push_back("/a/77/x/8.mprof");
  EXPECT_TRUE(RecordedText(logs, "/a/%j/x/%r.mprof", 1).ends_with("fleet map /a -o fleet"));
}

TEST(RecordedText, CanBePastedIntoAShell) {
  EXPECT_TRUE(RecordedText({"/my logs/it's.mprof"}, "/my logs/it's.mprof", 1)
                  .ends_with("report '/my logs/it'\\''s.mprof'"));
  EXPECT_TRUE(RecordedText({"/my logs/0.mprof", "/my logs/1.mprof"}, "/my logs/%r.mprof", 1)
                  .ends_with("report '/my logs/'*.mprof"));
  EXPECT_TRUE(
      RecordedText({"/a$b/0.mprof"}, "/a$b/%r.mprof", 100).ends_with("fleet map '/a$b' -o fleet"));
}

TEST(RanksOfJob, AreTheMostThatAVariableNames) {
  const char* kNames[] = {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"};
  for (const char* name : kNames) unsetenv(name);
  EXPECT_EQ(RanksOfJob(), 1);
  for (const char* name : kNames) {
    setenv(name, "64", 1);
    EXPECT_EQ(RanksOfJob(), 64) << name;
    setenv(name, "many", 1);
    EXPECT_EQ(RanksOfJob(), 1) << name;
    unsetenv(name);
  }
  setenv("SLURM_NTASKS", "8", 1);  // a task a host, and a launcher in each
  setenv("WORLD_SIZE", "64", 1);
  EXPECT_EQ(RanksOfJob(), 64);
  for (const char* name : kNames) unsetenv(name);
}

}  // namespace
}  // namespace memprof::cli
