// Which settings of PyTorch's allocator took effect, by release.
#include "analysis/allocators/torch_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "analysis/testing/log_builder.h"
#include "tests/support/load_log.h"

namespace memprof::analysis::allocators {
namespace {

using analysis::testing::LoadLog;
using analysis::testing::LogBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kOld[] = "PYTORCH_CUDA_ALLOC_CONF=", kNew[] = "PYTORCH_ALLOC_CONF=";
constexpr AllocatorEvidence kSeen = {.blocks = true, .segments = true, .expandable = true};

TorchSettings Read(const std::string& release, std::vector<std::string> environment,
                   const AllocatorEvidence& evidence = kSeen) {
  RunInfo run;
  run.torch_release = release;
  run.environment = std::move(environment);
  return ReadTorchSettings(run, evidence);
}

// Of the last setting.
TorchSetting Last(const std::string& release, const std::string& value,
                  const AllocatorEvidence& evidence = kSeen) {
  const TorchSettings all = Read(release, {kOld + value}, evidence);
  return all.settings.empty() ? TorchSetting{} : all.settings.back();
}
SettingState State(const std::string& release, const std::string& value) {
  return Last(release, value).state;
}

TEST(TorchSettings, ReleasesAreComparedByNumber) {
  EXPECT_EQ(TorchReleaseNumber("2.15.0+cu132"), 215);
  EXPECT_EQ(TorchReleaseNumber("2.9.1"), 209);
  EXPECT_EQ(TorchReleaseNumber("2.10.0a0+git123"), 210);
  EXPECT_EQ(TorchReleaseNumber("1.13.1"), 1);
  for (const char* bad :
       {"", "2", ".", "2.", "x.y", "0.4", "99999999999.1", "2.99999999999", "2.-1"})
    EXPECT_EQ(TorchReleaseNumber(bad), 0) << bad;
}

TEST(TorchSettings, TheOldNameCountsBeforeTheNewOneAndAloneUpTo29) {
  const auto variable = [](const std::string& release, std::vector<std::string> environment) {
    return Read(release, std::move(environment)).variable;
  };
  const std::string old = std::string(kOld) + "max_split_size_mb:64";
  const std::string fresh = std::string(kNew) + "max_split_size_mb:32";
  EXPECT_EQ(variable("2.15.0", {fresh, old}), "PYTORCH_CUDA_ALLOC_CONF");
  EXPECT_EQ(variable("2.15.0", {fresh}), "PYTORCH_ALLOC_CONF");
  EXPECT_EQ(variable("2.10.0", {fresh}), "PYTORCH_ALLOC_CONF");
  EXPECT_EQ(variable("2.9.1", {fresh}), "");
  EXPECT_EQ(variable("2.9.1", {fresh, old}), "PYTORCH_CUDA_ALLOC_CONF");
  EXPECT_EQ(variable("2.15.0", {fresh, kOld}), "PYTORCH_CUDA_ALLOC_CONF") << "empty, but set";
  EXPECT_EQ(variable("2.15.0", {"XPYTORCH_ALLOC_CONF=a", "PYTORCH_ALLOC_CONFX=b"}), "");

  RunInfo run;
  run.torch_release = "2.9.1";
  run.environment = {fresh};
  EXPECT_EQ(TorchConfigurationOf(run), "");
  run.torch_release = "";
  EXPECT_EQ(TorchConfigurationOf(run), "max_split_size_mb:32");
  run.environment.push_back(old);
  EXPECT_EQ(TorchConfigurationOf(run), "max_split_size_mb:64");
}

TEST(TorchSettings, WhatIsInTheVariableThatIsNotReadDoesNothing) {
  const TorchSettings all = Read("2.15.0", {std::string(kNew) + "expandable_segments:True",
                                            kOld + std::string("max_split_size_mb:64")});
  ASSERT_EQ(all.settings.size(), 2u);
  EXPECT_EQ(all.settings[0].key, "max_split_size_mb");
  EXPECT_EQ(all.settings[0].state, SettingState::kInEffect);
  EXPECT_EQ(all.settings[1].state, SettingState::kNoEffect);
  EXPECT_THAT(all.settings[1].why, HasSubstr("reads no other variable"));
  const TorchSettings before = Read("2.9.1", {std::string(kNew) + "expandable_segments:True"});
  ASSERT_EQ(before.settings.size(), 1u);
  EXPECT_EQ(before.settings[0].state, SettingState::kNoEffect);
  EXPECT_THAT(before.settings[0].why, HasSubstr("use that name"));
}

TEST(TorchSettings, AnUnknownReleaseMakesTheNewNameUncertain) {
  const TorchSettings all = Read("", {std::string(kNew) + "max_split_size_mb:64"});
  ASSERT_EQ(all.settings.size(), 1u);
  EXPECT_EQ(all.settings[0].state, SettingState::kDepends);
  EXPECT_EQ(State("", "max_split_size_mb:64"), SettingState::kInEffect);
  EXPECT_EQ(State("", "pinned_max_round_threshold_mb:1"), SettingState::kInEffect);
}

TEST(TorchSettings, KeysByRelease) {
  EXPECT_EQ(State("2.10.0", "large_segment_size_mb:64"), SettingState::kNotInRelease);
  EXPECT_EQ(State("2.11.0", "large_segment_size_mb:64"), SettingState::kInEffect);
  EXPECT_EQ(State("2.12.1", "pinned_max_round_threshold_mb:1"), SettingState::kNotInRelease);
  EXPECT_EQ(State("2.13.0", "pinned_max_round_threshold_mb:1"), SettingState::kInEffect);
  const TorchSetting misspelt = Last("2.15.0", "expandable_segmnts:True");
  EXPECT_EQ(misspelt.state, SettingState::kUnknown);
  EXPECT_THAT(misspelt.why, HasSubstr("meant: expandable_segments?"));
  EXPECT_THAT(Last("2.15.0", "svm:False").why, ::testing::Not(HasSubstr("meant")));
}

TEST(TorchSettings, ValuesThatPyTorchRefuses) {
  for (const char* bad :
       {"expandable_segments:true", "max_split_size_mb:lots", "max_split_size_mb:10",
        "max_split_size_mb=64", "backend:cudamallocasync", "garbage_collection_threshold:1.5",
        "roundup_power2_divisions:3", "roundup_power2_divisions:[256:3]",
        "roundup_power2_divisions:[256:1", "roundup_power2_divisions:[[256:1]]",
        "roundup_power2_divisions:[256]", "pinned_num_register_threads:256", "expandable_segments",
        "max_split_size_mb:64;expandable_segments:True,expandable_segments", ",",
        "expandable_segments_reserve:", "pinned_reserve_segment_size_mb:0"})
    EXPECT_EQ(State("2.15.0", bad), SettingState::kRefused) << bad;
  for (const char* good :
       {"max_split_size_mb:64MB", "roundup_power2_divisions:[256:1,512:2,>:4]",
        "roundup_power2_divisions:[1:0]", "roundup_power2_divisions:8",
        "roundup_power2_divisions:[]", " expandable_segments : True ", "expandable_segments:True,",
        "backend:native", "expandable_segments:True,expandable_segments_reserve:40G"})
    EXPECT_EQ(State("2.15.0", good), SettingState::kInEffect) << good;
  // More than 20 up to 2.9, at least 20 later.
  EXPECT_EQ(State("2.9.1", "max_split_size_mb:20"), SettingState::kRefused);
  EXPECT_EQ(State("2.15.0", "max_split_size_mb:20"), SettingState::kInEffect);
  EXPECT_EQ(State("2.15.0", "large_segment_size_mb:64,max_split_size_mb:40"),
            SettingState::kRefused);
}

TEST(TorchSettings, SettingsThatAnotherOneMakesIneffective) {
  for (const char* idle : {"backend:cudaMallocAsync,max_split_size_mb:64",
                           "max_non_split_rounding_mb:40", "pinned_num_register_threads:8",
                           "pinned_use_cuda_host_register:False,pinned_num_register_threads:8",
                           "expandable_segments_reserve:0.5",
                           "expandable_segments:False,expandable_segments_reserve:0.5",
                           "expandable_segments:True,garbage_collection_threshold:0.6"})
    EXPECT_EQ(State("2.15.0", idle), SettingState::kNoEffect) << idle;
  for (const char* effective : {"backend:cudaMallocAsync,pinned_use_background_threads:True",
                                "max_split_size_mb:64,max_non_split_rounding_mb:40",
                                "pinned_use_cuda_host_register:True,pinned_num_register_threads:8",
                                "expandable_segments:True,roundup_power2_divisions:8",
                                "per_process_memory_fraction:0.9,garbage_collection_threshold:0.6"})
    EXPECT_EQ(State("2.15.0", effective), SettingState::kInEffect) << effective;
  EXPECT_EQ(State("2.15.0", "garbage_collection_threshold:0.6"), SettingState::kDepends);
  EXPECT_EQ(State("2.15.0", "per_process_memory_fraction:1.0,garbage_collection_threshold:0.6"),
            SettingState::kDepends);
  const TorchSettings twice =
      Read("2.15.0", {kOld + std::string("max_split_size_mb:64,max_split_size_mb:128")});
  ASSERT_EQ(twice.settings.size(), 2u);
  EXPECT_EQ(twice.settings[0].state, SettingState::kNoEffect);
  EXPECT_EQ(twice.settings[1].state, SettingState::kInEffect);
  const TorchSettings uncached =
      Read("2.15.0",
           {"PYTORCH_NO_CUDA_MEMORY_CACHING=1", kOld + std::string("max_split_size_mb:64")}, {});
  EXPECT_EQ(uncached.settings.at(0).state, SettingState::kNoEffect);
}

TEST(TorchSettings, TheLogShowsThatNoSegmentIsExpandable) {
  EXPECT_EQ(Last("2.15.0", "expandable_segments:True", {.segments = true}).state,
            SettingState::kNoEffect);
  EXPECT_EQ(Last("2.15.0", "expandable_segments:True", {}).state, SettingState::kInEffect);
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.header().add_environment(std::string(kOld) + "expandable_segments:True");
  log::Framework* framework = log.definitions().add_framework();
  framework->set_name("PyTorch");
  framework->set_release("2.8.0");
  log.definitions().add_framework()->set_name("other");
  log.Alloc(Layer::kLinear, 0x400000, 0x200000);
  log.Alloc(Layer::kSegment, 0x400000, 0x200000);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const std::vector<TorchSettings> all = TorchSettingsOf(*session);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].release, "2.8.0");
  EXPECT_TRUE(all[0].variables);
  EXPECT_EQ(all[0].settings.at(0).state, SettingState::kNoEffect);
}

TEST(TorchSettings, WithoutPyTorchTheVariablesSayNothing) {
  for (const bool torch : {false, true}) {
    LogBuilder log;
    log.header().add_environment(std::string(kOld) + "max_split_size_mb:64");
    log.Alloc(Layer::kLinear, 0x400000, 0x200000);
    log.SourceState("torch", torch ? log::SOURCE_ON : log::SOURCE_OFF);
    const auto session = LoadLog(log);
    ASSERT_NE(session, nullptr);
    EXPECT_EQ(TorchSettingsOf(*session).at(0).variables, torch);
  }
}

TEST(TorchSettings, ALogWithoutTheVariablesHasNone) {
  const TorchSettings all = Read("2.15.0", {"CUDA_HOME=/x", "PYTORCH_NO_CUDA_MEMORY_CACHING=1"});
  EXPECT_FALSE(all.variables);
  EXPECT_TRUE(all.settings.empty());
}

TEST(TorchSettings, ValuesMayHoldAnything) {
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "a:1,";
  const TorchSettings all = Read("2.15.0", {kOld + many});
  EXPECT_EQ(all.settings.size(), kMaxSettings);
  EXPECT_EQ(all.left_out, 1000 - kMaxSettings);
  EXPECT_EQ(State("2.15.0", std::string(1 << 20, 'x') + ":1"), SettingState::kUnknown);
  EXPECT_EQ(State("2.15.0", std::string(1 << 20, '[')), SettingState::kRefused);
  std::mt19937 random(1);
  const std::string_view alphabet =
      "a:,[]>1 =\xff\0backendexpandable_segments"
      ":True,roundup_power2_divisions:";
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    for (std::size_t length = random() % 60; text.size() < length;)
      text += random() % 8 == 0 ? std::string("roundup_power2_divisions:[256:1,>:")
                                : std::string(1, alphabet[random() % alphabet.size()]);
    for (const char* release : {"", "2.2.0", "2.15.0", "\xff"}) {
      for (const TorchSetting& one : Read(release, {kOld + text, kNew + text}).settings) {
        EXPECT_EQ(DidNothing(one.state) && one.why.empty(), false) << text;
      }
    }
  }
}

TEST(TorchSettings, EveryStateHasItsNames) {
  std::set<std::string_view> ids, names;
  for (int i = 0; i < 6; ++i) {
    ids.insert(SettingStateId(static_cast<SettingState>(i)));
    names.insert(SettingStateName(static_cast<SettingState>(i)));
  }
  EXPECT_EQ(ids.size(), 6u);
  EXPECT_EQ(names.size(), 6u);
}

}  // namespace
}  // namespace memprof::analysis::allocators
