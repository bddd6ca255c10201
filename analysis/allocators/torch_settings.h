// The settings that a process gave PyTorch's allocator in its environment, and which of them took
// effect.
//
// The facts are those of PyTorch's source (c10/cuda/CUDAAllocatorConfig.{h,cpp},
// c10/core/AllocatorConfig.{h,cpp} from 2.9 on, c10/cuda/CUDACachingAllocator.cpp) as released from
// 2.2 to 2.15; where torch_settings.cc says "tried", PyTorch 2.9.1 or 2.15 did so on the stand-in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/base/run_info.h"
#include "analysis/store/session.h"

namespace memprof::analysis::allocators {

enum class SettingState : std::uint8_t {
  kInEffect,
  kDepends,       // on something that the log does not say: `why` says on what
  kNoEffect,      // PyTorch accepts and ignores it
  kNotInRelease,  // of a newer release; PyTorch refuses to use a GPU with it
  kUnknown,       // of no release; likewise
  kRefused,       // PyTorch refuses its value; likewise
};
// "in-effect", for JSON. SettingStateName: "in effect", for people.
std::string_view SettingStateId(SettingState state);
std::string_view SettingStateName(SettingState state);
// Whether it did not do what it was set for.
constexpr bool DidNothing(SettingState state) { return state > SettingState::kDepends; }

// Text of the log: show it cut, and without control characters.
struct TorchSetting {
  std::string variable;    // PYTORCH_ALLOC_CONF, or the old name PYTORCH_CUDA_ALLOC_CONF
  std::string key, value;  // "" and the text where a comma or colon is missing
  SettingState state = SettingState::kInEffect;
  std::string why;  // a sentence; "" if there is nothing to say
};

struct TorchSettings {
  std::string release;                 // of PyTorch; "" = the log does not say
  std::string variable;                // the one that PyTorch read; "" = none
  bool variables = false;              // whether any of the two is in the log
  std::vector<TorchSetting> settings;  // in the order of the variables, at most kMaxSettings
  std::size_t left_out = 0;
};
inline constexpr std::size_t kMaxSettings = 64;

// What of the allocator the process's events show.
struct AllocatorEvidence {
  bool blocks = false, segments = false, expandable = false;
};

// No function here fails: variables may hold anything. Thread-safe.
TorchSettings ReadTorchSettings(const RunInfo& run, const AllocatorEvidence& evidence);
// Of all processes of the session, in their order; empty for those that did not use PyTorch.
std::vector<TorchSettings> TorchSettingsOf(const Session& session);

// The value that PyTorch read: with both variables set the old name counts, and up to 2.9 the new
// one is not read. "" = none.
std::string_view TorchConfigurationOf(const RunInfo& run);

// Of a value that PyTorch accepted as a number of MiB, in bytes; the largest number if it is none.
std::uint64_t MebibytesOf(std::string_view value);

// Of "2.15.0+cu132": 215; 0 = unknown. Releases before 2.0 are 1.
int TorchReleaseNumber(std::string_view release);

}  // namespace memprof::analysis::allocators
