// Which settings of PyTorch's allocator took effect.
#include "analysis/allocators/torch_settings.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "analysis/allocators/internal/torch_keys.h"
#include "analysis/base/run_identity.h"
#include "proto/memprof.pb.h"

namespace memprof::analysis::allocators {
namespace {

constexpr std::string_view kNewName = "PYTORCH_ALLOC_CONF", kOldName = "PYTORCH_CUDA_ALLOC_CONF";

bool IsSet(const RunInfo& run, std::string_view name) {
  return std::any_of(run.environment.begin(), run.environment.end(), [name](const auto& entry) {
    return entry.starts_with(name) && entry.size() > name.size() && entry[name.size()] == '=';
  });
}

// PyTorch 2.9 warns that the old name is deprecated, but its allocator reads no other one (tried
// with 2.9.1); since 2.10 it reads the old name first, even if it is empty (tried with 2.15).
std::string_view NameThatCounts(const RunInfo& run) {
  const int release = TorchReleaseNumber(run.torch_release);
  if (IsSet(run, kOldName)) return kOldName;
  if (IsSet(run, kNewName) && (release == 0 || release >= 210)) return kNewName;
  return "";
}

std::string WithoutSpaces(std::string_view text) {
  std::string kept;
  for (const char c : text)
    if (!absl::ascii_isspace(static_cast<unsigned char>(c))) kept += c;
  return kept;
}

// The options of a value, as PyTorch divides them: a comma ends one, but not within brackets.
std::vector<std::string> Options(std::string_view text) {
  std::vector<std::string> options;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    for (bool inside = false; end < text.size() && (inside || text[end] != ','); ++end) {
      if (text[end] == '[') inside = true;
      if (text[end] == ']') inside = false;
    }
    options.push_back(WithoutSpaces(text.substr(at, end - at)));
    at = end + 1;
  }
  return options;
}

// Judges the settings of one process.
class Judge {
 public:
  Judge(const RunInfo& run, const AllocatorEvidence& evidence, const TorchSettings& all)
      : release_(TorchReleaseNumber(run.torch_release)), evidence_(evidence), all_(all) {
    uncached_ = IsSet(run, "PYTORCH_NO_CUDA_MEMORY_CACHING") && !evidence.blocks;
  }

  void Set(std::size_t index, TorchSetting* setting) const {
    if (setting->variable != all_.variable) return Unread(setting);
    const TorchKey* key = FindTorchKey(setting->key);
    if (key == nullptr) return Unknown(setting);
    if (release_ != 0 && release_ < key->since) {
      return Say(setting, SettingState::kNotInRelease,
                 absl::StrCat("PyTorch has it from ", key->since / 100, ".", key->since % 100,
                              " on, and refuses to use a GPU with it before."));
    }
    const std::string bad = RefusedValue(*key, setting->value, release_, LargeSegment());
    if (!bad.empty()) return Say(setting, SettingState::kRefused, bad);
    for (std::size_t later = index + 1; later < all_.settings.size(); ++later) {
      const TorchSetting& other = all_.settings[later];
      if (other.variable == setting->variable && other.key == setting->key)
        return Say(setting, SettingState::kNoEffect,
                   "It is given again later, and the last counts.");
    }
    Overruled(*key, setting);
    if (setting->state == SettingState::kInEffect && setting->variable == kNewName && release_ == 0)
      Say(setting, SettingState::kDepends,
          "PyTorch reads PYTORCH_ALLOC_CONF from 2.10 on, and the log does not say its release.");
  }

 private:
  static void Say(TorchSetting* setting, SettingState state, std::string why) {
    setting->state = state;
    setting->why = std::move(why);
  }

  void Unread(TorchSetting* setting) const {
    Say(setting, SettingState::kNoEffect,
        !all_.variable.empty()
            ? "PYTORCH_CUDA_ALLOC_CONF is set too, and PyTorch then reads no other variable."
            : "Up to 2.9 PyTorch's CUDA allocator reads PYTORCH_CUDA_ALLOC_CONF alone: use that "
              "name.");
  }

  static void Unknown(TorchSetting* setting) {
    if (setting->key.empty())
      return Say(setting, SettingState::kRefused, "A key with a colon and a value is missing.");
    const std::string_view like = SimilarTorchKey(setting->key);
    Say(setting, SettingState::kUnknown,
        absl::StrCat("No release of PyTorch has it, and it refuses to use a GPU with it",
                     like.empty() ? "." : absl::StrCat("; meant: ", std::string(like), "?")));
  }

  // The last value of a key that counts; "" if none.
  std::string_view Value(std::string_view key) const {
    std::string_view value;
    for (const TorchSetting& one : all_.settings)
      if (one.variable == all_.variable && one.key == key) value = one.value;
    return value;
  }

  std::uint64_t LargeSegment() const {
    std::uint64_t mebibytes = 0;
    return LeadingNumber(Value("large_segment_size_mb"), &mebibytes) ? mebibytes : 20;
  }

  void Overruled(const TorchKey& key, TorchSetting* setting) const {
    const auto nothing = [setting](const char* why) { Say(setting, SettingState::kNoEffect, why); };
    const bool expandable = Value("expandable_segments") == "True";
    if (key.scope == KeyScope::kNative && uncached_)
      return nothing("PYTORCH_NO_CUDA_MEMORY_CACHING switched the caching allocator off.");
    if (key.scope == KeyScope::kNative && Value("backend").ends_with("MallocAsync"))
      return nothing("backend:cudaMallocAsync ignores it: the driver's pool decides.");
    // FreeBlock compares with it only above max_split_size.
    if (key.name == "max_non_split_rounding_mb" && Value("max_split_size_mb").empty())
      return nothing("It is for blocks of at least max_split_size_mb, which is not set.");
    if (key.name == "pinned_num_register_threads" && !RegistersPinned())
      return nothing("It is for pinned_use_cuda_host_register:True, which is not set.");
    if (key.name.starts_with("expandable_segments_reserve") && !expandable)
      return nothing("It is for expandable_segments:True, which is not set.");
    if (key.name == "garbage_collection_threshold") return Collection(expandable, setting);
    if (key.name == "max_split_size_mb" && expandable) {
      setting->why =
          "Expandable segments are split at any size: it only keeps smaller requests "
          "out of free blocks of that size.";
    }
    if (key.name == "expandable_segments" && expandable && evidence_.segments &&
        !evidence_.expandable)
      return nothing(
          "No segment of this log is expandable: it was set after PyTorch had read its "
          "settings, or this platform does not support it.");
  }

  bool RegistersPinned() const {
    return Value("pinned_use_cuda_host_register") == "True" ||
           Value("pinned_use_hip_host_register") == "True";
  }

  // It frees no expandable segment, and runs only below a limit of memory (both tried with 2.9.1
  // and 2.15).
  void Collection(bool expandable, TorchSetting* setting) const {
    if (expandable)
      return Say(setting, SettingState::kNoEffect,
                 "It frees no expandable segment, and expandable_segments:True is set.");
    double share = 1;
    if (const std::string text(Value("per_process_memory_fraction"));
        !text.empty() && absl::SimpleAtod(text, &share) && share < 1)
      return;
    Say(setting, SettingState::kDepends,
        "It works only if the program limits its memory: "
        "torch.cuda.set_per_process_memory_fraction, or from 2.10 on "
        "per_process_memory_fraction below 1.");
  }

  int release_;
  const AllocatorEvidence& evidence_;
  const TorchSettings& all_;
  bool uncached_ = false;
};

void AddSettings(const RunInfo& run, std::string_view variable, TorchSettings* all) {
  for (const std::string& option : Options(VariableOf(run, variable))) {
    if (all->settings.size() == kMaxSettings) {
      ++all->left_out;
      continue;
    }
    const std::size_t colon = option.find(':');
    TorchSetting setting{.variable = std::string(variable)};
    if (colon == std::string::npos) {
      setting.value = option;
    } else {
      setting.key = option.substr(0, colon);
      setting.value = option.substr(colon + 1);
    }
    all->settings.push_back(std::move(setting));
  }
}

}  // namespace

std::string_view SettingStateId(SettingState state) {
  constexpr std::array<std::string_view, 6> kIds = {"in-effect",      "depends", "no-effect",
                                                    "not-in-release", "unknown", "refused"};
  return kIds[static_cast<std::size_t>(state)];
}

std::string_view SettingStateName(SettingState state) {
  constexpr std::array<std::string_view, 6> kNames = {
      "in effect", "may be in effect", "no effect", "not in this release", "unknown", "refused"};
  return kNames[static_cast<std::size_t>(state)];
}

int TorchReleaseNumber(std::string_view release) {
  const std::size_t dot = release.find('.');
  if (dot == std::string_view::npos || dot == 0) return 0;
  std::string_view minor = release.substr(dot + 1);
  minor = minor.substr(0, minor.find_first_not_of("0123456789"));
  int major_number = 0, minor_number = 0;
  if (!absl::SimpleAtoi(std::string(release.substr(0, dot)), &major_number) ||
      !absl::SimpleAtoi(std::string(minor), &minor_number) || major_number < 1 ||
      major_number > 99 || minor_number > 99)
    return 0;
  return major_number == 1 ? 1 : major_number * 100 + minor_number;
}

std::uint64_t MebibytesOf(std::string_view value) {
  std::uint64_t number = 0;
  return LeadingNumber(value, &number) && number < (~std::uint64_t{0} >> 20) ? number << 20
                                                                             : ~std::uint64_t{0};
}

std::string_view TorchConfigurationOf(const RunInfo& run) {
  const std::string_view name = NameThatCounts(run);
  return name.empty() ? name : VariableOf(run, name);
}

TorchSettings ReadTorchSettings(const RunInfo& run, const AllocatorEvidence& evidence) {
  TorchSettings all;
  all.release = run.torch_release;
  all.variable = std::string(NameThatCounts(run));
  for (const std::string_view variable : {kOldName, kNewName}) {
    all.variables |= IsSet(run, variable);
    AddSettings(run, variable, &all);
  }
  const Judge judge(run, evidence, all);
  for (std::size_t i = 0; i < all.settings.size(); ++i) judge.Set(i, &all.settings[i]);
  return all;
}

namespace {

// Variables may be set for a whole shell: without PyTorch they say nothing.
bool SeenTorch(const Session& session) {
  return std::any_of(session.sources().begin(), session.sources().end(), [](const auto& source) {
    return source.name == "torch" &&
           (source.state == log::SOURCE_ON || source.state == log::SOURCE_LOST);
  });
}

}  // namespace

std::vector<TorchSettings> TorchSettingsOf(const Session& session) {
  std::vector<AllocatorEvidence> evidence(session.processes().size());
  for (const AllocationRecord& a : session.records()) {
    if (a.layer != Layer::kSegment && a.layer != Layer::kBlock) continue;
    const std::uint32_t process = session.ProcessOf(a.birth);
    if (process >= evidence.size()) continue;
    AllocatorEvidence& seen = evidence[process];
    if (a.layer == Layer::kBlock) {
      seen.blocks = true;
      continue;
    }
    seen.segments = true;
    seen.expandable |= a.parent.valid() && session.record(a.parent).layer == Layer::kVmmPhysical;
  }
  const bool torch = SeenTorch(session);
  std::vector<TorchSettings> all;
  for (std::size_t i = 0; i < evidence.size(); ++i) {
    const RunInfo& run = session.processes()[i].run;
    const bool uses_it = torch || evidence[i].segments || !run.torch_release.empty();
    all.push_back(uses_it ? ReadTorchSettings(run, evidence[i]) : TorchSettings());
  }
  return all;
}

}  // namespace memprof::analysis::allocators
