// Environment, output names, and text that goes into the log.
#include "libmemprof/src/recording/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string>

#include "libmemprof/src/log/header.h"
#include "libmemprof/src/stacks/unwinder.h"

namespace memprof::recorder {
namespace {

std::map<std::string, std::string> g_variables;

Settings Read(std::map<std::string, std::string> variables, bool preloaded = true) {
  g_variables = std::move(variables);
  return ReadSettings(
      [](const char* name) -> const char* {
        const auto found = g_variables.find(name);
        return found == g_variables.end() ? nullptr : found->second.c_str();
      },
      preloaded);
}

TEST(Settings, Defaults) {
  const Settings settings = Read({});
  EXPECT_STREQ(settings.output, "memprof.%p.mprof");
  EXPECT_FALSE(settings.disabled);
  EXPECT_FALSE(settings.start_paused);
  EXPECT_EQ(settings.stack_depth, 64);
  EXPECT_EQ(settings.ring_events, 1u << 20);
  EXPECT_TRUE(settings.driver);
  EXPECT_FALSE(settings.cupti);
  EXPECT_TRUE(settings.begins_by_itself);
}

TEST(Settings, ALinkedLibraryBeginsByItselfOnlyWhenRequested) {
  EXPECT_FALSE(Read({}, false).begins_by_itself);
  EXPECT_TRUE(Read({{"MEMPROF_OUTPUT", "x.mprof"}}, false).begins_by_itself);
  EXPECT_TRUE(Read({{"MEMPROF_START", "now"}}, false).begins_by_itself);
  EXPECT_FALSE(Read({{"MEMPROF_START", "paused"}}, true).begins_by_itself);
}

TEST(Settings, Sources) {
  const auto pair = [](const char* text, const char* cupti) {
    const Settings settings = Read({{"MEMPROF_SOURCE", text}, {"MEMPROF_CUPTI", cupti}});
    return std::make_pair(settings.driver, settings.cupti);
  };
  EXPECT_EQ(pair("", ""), std::make_pair(true, false));
  EXPECT_EQ(pair("auto", "1"), std::make_pair(true, true));
  EXPECT_EQ(pair("auto", "0"), std::make_pair(true, false));
  EXPECT_EQ(pair("driver", "1"), std::make_pair(true, false));
  EXPECT_EQ(pair("cupti", ""), std::make_pair(false, true));
  EXPECT_EQ(pair("driver,cupti", ""), std::make_pair(true, true));
}

TEST(Settings, NonsenseIsSaidAndIgnored) {
  ::testing::internal::CaptureStderr();
  const Settings settings = Read({{"MEMPROF_STACK_DEPTH", "12frames"},
                                  {"MEMPROF_RING_EVENTS", "-5"},
                                  {"MEMPROF_SOURCE", "magic"},
                                  {"MEMPROF_START", "later"}});
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(settings.stack_depth, 64);
  EXPECT_EQ(settings.ring_events, 1u << 20);
  EXPECT_TRUE(settings.driver);
  EXPECT_THAT(said, ::testing::HasSubstr("MEMPROF_STACK_DEPTH=12frames"));
  EXPECT_THAT(said, ::testing::HasSubstr("MEMPROF_RING_EVENTS=-5"));
  EXPECT_THAT(said, ::testing::HasSubstr("MEMPROF_SOURCE=magic"));
  EXPECT_THAT(said, ::testing::HasSubstr("MEMPROF_START=later"));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 4);
}

TEST(Settings, NumbersWithinTheirLimits) {
  EXPECT_EQ(Read({{"MEMPROF_STACK_DEPTH", "0"}}).stack_depth, 0);
  EXPECT_EQ(Read({{"MEMPROF_STACK_DEPTH", "512"}}).stack_depth, kMaxStackDepth);
  EXPECT_TRUE(Read({{"MEMPROF_DISABLE", "1"}}).disabled);
  EXPECT_FALSE(Read({{"MEMPROF_DISABLE", "0"}}).disabled);
}

TEST(Settings, NumbersOutOfTheirLimitsKeepTheDefault) {
  for (const char* text : {"1023", "16777217", "18446744073709551616", "-1", " ", "1e6", "0x10",
                           "99999999999999999999999999", "\n", "5 5"}) {
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(Read({{"MEMPROF_RING_EVENTS", text}}).ring_events, 1u << 20) << text;
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << text;
  }
  EXPECT_EQ(Read({{"MEMPROF_RING_EVENTS", "1024"}}).ring_events, 1024u);
  EXPECT_EQ(Read({{"MEMPROF_RING_EVENTS", "16777216"}}).ring_events, 1u << 24);
  EXPECT_EQ(Read({{"MEMPROF_RING_EVENTS", ""}}).ring_events, 1u << 20);
  for (const char* text : {"31", "65537", "256M", "-1"}) {
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(Read({{"MEMPROF_MEMORY_MIB", text}}).memory_bytes, 256u << 20) << text;
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::HasSubstr(text));
  }
  EXPECT_EQ(Read({}).memory_bytes, 256u << 20);
  EXPECT_EQ(Read({{"MEMPROF_MEMORY_MIB", "32"}}).memory_bytes, 32u << 20);
  EXPECT_EQ(Read({{"MEMPROF_MEMORY_MIB", "65536"}}).memory_bytes, std::uint64_t{1} << 36);
  for (const char* text : {"19", "1001", "-1", "1s"}) {
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(Read({{"MEMPROF_WRITE_MS", text}}).rest_ms, 1000u) << text;
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::HasSubstr(text));
  }
  EXPECT_EQ(Read({{"MEMPROF_WRITE_MS", "200"}}).rest_ms, 200u);
}

TEST(Settings, PathsThatDoNotFitAreSaidAndLeftOut) {
  const std::string longest(kMaxPathBytes - 1, 'x'), too_long(kMaxPathBytes, 'x');
  EXPECT_EQ(Read({{"MEMPROF_OUTPUT", longest}}).output, longest);
  for (const auto& [name, value] : {std::pair<std::string, std::string>{"MEMPROF_OUTPUT", too_long},
                                    {"MEMPROF_SHM", "relative/path"},
                                    {"MEMPROF_SHM", "/" + std::string(300, 'y')}}) {
    ::testing::internal::CaptureStderr();
    const Settings settings = Read({{name, value}});
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_THAT(said, ::testing::HasSubstr(name));
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
    EXPECT_STREQ(settings.output, "memprof.%p.mprof");
    EXPECT_STREQ(settings.shared_directory, "/dev/shm");
  }
  EXPECT_STREQ(Read({{"MEMPROF_SHM", "/tmp"}}).shared_directory, "/tmp");
}

// A variable may contain anything; a message about it is one line of plain characters.
TEST(Settings, MessagesAreOneLineWhateverTheEnvironmentHolds) {
  ::testing::internal::CaptureStderr();
  Read({{"MEMPROF_SOURCE", "cu\npti\x1b[31m\x7f"}, {"MEMPROF_START", std::string(5000, 'z')}});
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 2);
  EXPECT_THAT(said, ::testing::HasSubstr("cu?pti?[31m?"));
  EXPECT_THAT(said, ::testing::Not(::testing::HasSubstr("\x1b")));
  EXPECT_LT(said.size(), 1024u);
}

TEST(Settings, SwitchesAreOnUnlessEmptyOrZero) {
  for (const char* name : {"MEMPROF_DISABLE", "MEMPROF_VERBOSE", "MEMPROF_CUPTI"}) {
    const auto is_on = [name](const char* value) {
      const Settings settings = Read({{name, value}});
      return settings.disabled || settings.verbose || settings.cupti;
    };
    EXPECT_TRUE(is_on("1")) << name;
    EXPECT_TRUE(is_on("yes")) << name;
    EXPECT_FALSE(is_on("0")) << name;
    EXPECT_FALSE(is_on("")) << name;
  }
}

TEST(Environment, OnlyWhatExplainsAGpuProgram) {
  EXPECT_TRUE(EnvironmentBelongsInLog("CUDA_VISIBLE_DEVICES=0"));
  EXPECT_TRUE(EnvironmentBelongsInLog("RANK=3"));
  EXPECT_TRUE(EnvironmentBelongsInLog("SIMCUDA=devices=2"));
  EXPECT_FALSE(EnvironmentBelongsInLog("RANKING=3"));
  EXPECT_FALSE(EnvironmentBelongsInLog("AWS_SECRET=x"));
  EXPECT_FALSE(EnvironmentBelongsInLog("XCUDA_Y=x"));
  for (const char* named : {"LOCAL_RANK=1",
                            "GROUP_RANK=0",
                            "TORCHELASTIC_RUN_ID=a",
                            "TORCHELASTIC_RESTART_COUNT=2",
                            "TP_RANK=0",
                            "PP_RANK=1",
                            "DP_RANK=2",
                            "EP_RANK=3",
                            "OMPI_COMM_WORLD_LOCAL_RANK=1",
                            "OMPI_COMM_WORLD_SIZE=8",
                            "PMI_SIZE=8",
                            "PMIX_NAMESPACE=1",
                            "MPI_LOCALRANKID=1",
                            "SLURM_JOB_ID=7",
                            "SLURM_ARRAY_JOB_ID=7",
                            "SLURM_ARRAY_TASK_ID=1",
                            "SLURM_RESTART_COUNT=1",
                            "SLURM_LOCALID=1",
                            "SLURM_NODEID=0",
                            "SLURM_NTASKS=8",
                            "JOB_COMPLETION_INDEX=3",
                            "JOB_NAME=llm",
                            "AWS_BATCH_JOB_ID=x",
                            "AWS_BATCH_JOB_ATTEMPT=1",
                            "RAY_JOB_ID=01"})
    EXPECT_TRUE(EnvironmentBelongsInLog(named)) << named;
  // What the same launchers and schedulers set besides, which may be secret.
  for (const char* left_out : {"SLURM_JWT=x", "SLURM_JOB_ACCOUNT=x", "MASTER_ADDR=x",
                               "PMIX_SECURITY_MODE=x", "TORCHELASTIC_ERROR_FILE=x", "RAY_ADDRESS=x",
                               "JOB_TOKEN=x", "AWS_BATCH_JOB_IDENTITY=x", "AWS_SESSION_TOKEN=x"})
    EXPECT_FALSE(EnvironmentBelongsInLog(left_out)) << left_out;
}

}  // namespace
}  // namespace memprof::recorder
