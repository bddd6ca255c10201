// The parser of SIMCUDA, also with malformed input.
#include "simcuda/common/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace memprof::simcuda {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Config Parse(std::string_view text, std::vector<std::string>* complaints) {
  complaints->clear();
  return ParseConfig(text, complaints);
}

TEST(Config, EmptyGivesDefaults) {
  std::vector<std::string> complaints;
  const Config config = Parse("", &complaints);
  EXPECT_EQ(config.devices, 1);
  EXPECT_EQ(config.memory_bytes, uint64_t{81090} << 20);  // an H100 as its driver reports it
  EXPECT_EQ(config.gpu->multiprocessors, 132);
  EXPECT_EQ(config.overhead_bytes, uint64_t{256} << 20);
  EXPECT_EQ(config.driver_version, 13000);
  EXPECT_EQ(config.name, "memprof stand-in GPU");
  EXPECT_TRUE(config.async);
  EXPECT_EQ(config.threads, 0);
  EXPECT_THAT(config.faults, IsEmpty());
  EXPECT_THAT(complaints, IsEmpty());
}

TEST(Config, LaterWordsGoBeforeEarlierOnes) {
  std::vector<std::string> complaints;
  Config config = Parse("memory=1GiB,contents=none", &complaints);
  ApplyConfig("memory=2GiB,fail=cuMemAlloc_v2:1", &config, &complaints);
  EXPECT_EQ(config.memory_bytes, uint64_t{2} << 30);
  EXPECT_FALSE(config.contents);
  EXPECT_EQ(config.faults.size(), 1u);
  ApplyConfig("contents=kept,contents=half", &config, &complaints);
  EXPECT_TRUE(config.contents);
  EXPECT_FALSE(config.upward_addresses);
  ApplyConfig("addresses=windows,addresses=down", &config, &complaints);
  EXPECT_TRUE(config.upward_addresses);
  EXPECT_THAT(complaints, ElementsAre("'contents=half' makes no sense, ignored",
                                      "'addresses=down' makes no sense, ignored"));
}

TEST(Config, ReadsEveryKey) {
  std::vector<std::string> complaints;
  const Config config = Parse(
      "devices=2,memory=24GiB,overhead=0,fail=cuMemAlloc_v2:3,fail=cuStreamCreate:1:999,"
      "version=12040,name=A B,async=0,threads=3,contents=none",
      &complaints);
  EXPECT_FALSE(config.contents);
  EXPECT_THAT(complaints, IsEmpty());
  EXPECT_EQ(config.devices, 2);
  EXPECT_EQ(config.memory_bytes, uint64_t{24} << 30);
  EXPECT_EQ(config.overhead_bytes, 0u);
  EXPECT_EQ(config.driver_version, 12040);
  EXPECT_EQ(config.name, "A B");
  EXPECT_FALSE(config.async);
  EXPECT_EQ(config.threads, 3);
  ASSERT_EQ(config.faults.size(), 2u);
  EXPECT_EQ(config.faults[0].function, "cuMemAlloc_v2");
  EXPECT_EQ(config.faults[0].nth, 3u);
  EXPECT_EQ(config.faults[0].result, 2);
  EXPECT_EQ(config.faults[1].result, 999);
}

TEST(Config, ModelsGoBeforeWhatElseIsSaid) {
  std::vector<std::string> complaints;
  Config config = Parse("memory=4GiB,gpu=a100-40gb", &complaints);
  EXPECT_THAT(complaints, IsEmpty());
  EXPECT_EQ(config.gpu->capability, 80);
  EXPECT_EQ(config.gpu->multiprocessors, 108);
  EXPECT_EQ(config.name, "NVIDIA A100-SXM4-40GB");
  EXPECT_EQ(config.memory_bytes, uint64_t{4} << 30);
  EXPECT_EQ(config.overhead_bytes, uint64_t{108} * 2048 * 2048);
  // A later setting of `gpu` replaces all values of the earlier one.
  ApplyConfig("gpu=RTX3060-12GB", &config, &complaints);
  EXPECT_EQ(config.gpu->capability, 86);
  EXPECT_EQ(config.memory_bytes, uint64_t{12037} << 20);
  ApplyConfig("gpu=H1000", &config, &complaints);
  EXPECT_EQ(config.gpu->capability, 86);
  EXPECT_THAT(complaints,
              ElementsAre(testing::AllOf(HasSubstr("no GPU 'H1000'"), HasSubstr("A100-40GB"))));
}

TEST(Config, AnOverheadIncludesCode) {
  std::vector<std::string> complaints;
  EXPECT_FALSE(Parse("memory=4GiB", &complaints).models_code);
  EXPECT_TRUE(Parse("memory=4GiB,gpu=T4", &complaints).models_code);
  EXPECT_FALSE(Parse("overhead=300MiB,gpu=T4", &complaints).models_code);
}

// Contexts that were measured on GPUs: docs/torch-sim.md, "The context".
TEST(Config, ContextsAreNearThoseOfGpus) {
  const auto near = [](const char* key, double mib) {
    const double model = static_cast<double>(FindGpuModel(key)->context_bytes() >> 20);
    EXPECT_LE(std::abs(model / mib - 1), 0.05) << key;
  };
  near("H200", 518);
  near("H100-80GB", 534);
  near("B200", 612);
  near("RTX3090", 256);
  near("V100-16GB", 307);
  near("RTX6000Ada", 426);
  near("RTXPRO6000", 555);
}

TEST(Config, EveryModelHasLimits) {
  const std::string keys = GpuModelKeys();
  EXPECT_THAT(keys, HasSubstr("H100-80GB, H200"));
  for (const char* key :
       {"H100-80GB", "H200",       "GH200",      "B200",      "A100-40GB",    "A100-80GB",
        "V100-16GB", "V100-32GB",  "T4",         "L4",        "L40S",         "A10",
        "A6000",     "RTX6000Ada", "RTXPRO6000", "RTX2080Ti", "RTX3060-12GB", "RTX3080",
        "RTX3090",   "RTX4060",    "RTX4090",    "RTX5090"}) {
    const GpuModel* model = FindGpuModel(key);
    ASSERT_NE(model, nullptr) << key;
    EXPECT_THAT(keys, HasSubstr(key));
    EXPECT_EQ(LimitsOf(*model).capability, model->capability) << key;
    EXPECT_GT(model->memory_bytes(), uint64_t{7} << 30) << key;
    // A context takes some memory, but not a large part of it.
    EXPECT_GT(model->context_bytes(), uint64_t{32} << 20) << key;
    EXPECT_LT(model->context_bytes(), uint64_t{1} << 30) << key;
  }
}

TEST(Config, GroupsHavePlainNames) {
  const std::string longest(64, 'x');
  for (const std::string& good :
       {std::string("job-1"), std::string("a.b_C9"), longest, std::string("@group")}) {
    std::vector<std::string> complaints;
    EXPECT_EQ(Parse("shared=" + good, &complaints).shared, good);
    EXPECT_THAT(complaints, IsEmpty()) << good;
  }
  // Names that would leave the folder of shared memory, or be hidden in it.
  for (const std::string& bad :
       {std::string(), longest + "x", std::string("../x"), std::string(".hidden"),
        std::string("a/b"), std::string("a b"), std::string("@other"), std::string("a\n")}) {
    std::vector<std::string> complaints;
    EXPECT_EQ(Parse("shared=" + bad, &complaints).shared, "");
    EXPECT_THAT(complaints, ElementsAre(HasSubstr("makes no sense"))) << bad;
  }
}

TEST(Config, UnknownKeysAreNamedAndIgnored) {
  std::vector<std::string> complaints;
  const Config config = Parse("memery=1GiB,devices=3", &complaints);
  EXPECT_THAT(complaints, ElementsAre(HasSubstr("memery")));
  EXPECT_EQ(config.devices, 3);
}

TEST(Config, NonsenseLeavesDefaults) {
  for (const char* text : {"devices=-1",
                           "devices=65",
                           "devices=",
                           "devices",
                           "devices=1x",
                           "memory=0",
                           "memory=99999999999999999999",
                           "memory=17TiB",
                           "memory=GiB",
                           "memory=1 GiBi",
                           "memory=-1",
                           "overhead=1XiB",
                           "fail=cuInit",
                           "fail=:1",
                           "fail=cuInit:0",
                           "fail=cuInit:1:0",
                           "fail=cuInit:1:1000",
                           "fail=cuInit:1:2:3",
                           "version=1",
                           "version=x",
                           "name=",
                           "gpu=",
                           "gpu=H101",
                           "async=2",
                           "async=",
                           "threads=-1",
                           "threads=1025"}) {
    std::vector<std::string> complaints;
    const Config config = Parse(text, &complaints);
    EXPECT_EQ(complaints.size(), 1u) << text;
    EXPECT_EQ(config.devices, 1) << text;
    EXPECT_EQ(config.memory_bytes, DefaultGpuModel().memory_bytes()) << text;
    EXPECT_EQ(config.overhead_bytes, uint64_t{256} << 20) << text;
    EXPECT_EQ(config.driver_version, 13000) << text;
    EXPECT_TRUE(config.faults.empty()) << text;
    EXPECT_TRUE(config.async) << text;
    EXPECT_EQ(config.threads, 0) << text;
  }
}

TEST(Config, ComplaintsAreShortAndPrintable) {
  std::vector<std::string> complaints;
  Parse(std::string("\x1b[31m") + std::string(10000, 'k') + "=1", &complaints);
  ASSERT_EQ(complaints.size(), 1u);
  EXPECT_LT(complaints[0].size(), 120u);
  EXPECT_EQ(complaints[0].find('\x1b'), std::string::npos);
}

TEST(Config, SizesHaveUnits) {
  const std::pair<const char*, uint64_t> good[] = {{"0", 0},
                                                   {"1000000", 1000000},
                                                   {"7B", 7},
                                                   {"2KiB", 2048},
                                                   {"512MiB", 512u << 20},
                                                   {"80GB", 80000000000},
                                                   {"1TiB", uint64_t{1} << 40},
                                                   {"3kB", 3000},
                                                   {"1.5GiB", 3u << 29},
                                                   {"2 mib", 2u << 20}};
  for (const auto& [text, expected] : good) {
    uint64_t bytes = 1;
    EXPECT_TRUE(ParseSize(text, &bytes)) << text;
    EXPECT_EQ(bytes, expected) << text;
  }
  for (const char* bad : {"", "B", "1QiB", "0x10", "+1", "-1", "nan", "5000000TiB"}) {
    uint64_t bytes = 42;
    EXPECT_FALSE(ParseSize(bad, &bytes)) << bad;
    EXPECT_EQ(bytes, 42u) << bad;
  }
}

TEST(Config, RandomTextNeverBreaksIt) {
  constexpr std::string_view kAlphabet = "devicsmoryafl=,:019GiBx\xff \n";
  std::mt19937 random(3);
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (unsigned length = random() % 40; length > 0; --length) {
      text += kAlphabet[random() % kAlphabet.size()];
    }
    std::vector<std::string> complaints;
    const Config config = Parse(text, &complaints);
    EXPECT_GE(config.devices, 0);
    EXPECT_LE(config.devices, 64);
    EXPECT_GT(config.memory_bytes, 0u);
  }
}

}  // namespace
}  // namespace memprof::simcuda
