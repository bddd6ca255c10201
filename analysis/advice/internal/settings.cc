// Settings of PyTorch's allocator that did nothing.
#include <set>

#include "absl/strings/str_cat.h"
#include "analysis/advice/internal/drafts.h"
#include "analysis/allocators/torch_settings.h"

namespace memprof::analysis::advice {
namespace {

// A variable can be long.
std::string Short(const allocators::TorchSetting& setting) {
  constexpr std::size_t kMost = 80;
  std::string text =
      setting.key.empty() ? setting.value : absl::StrCat(setting.key, ":", setting.value);
  if (text.size() > kMost) {
    std::size_t end = kMost;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    text = absl::StrCat(text.substr(0, end), "…");
  }
  return absl::StrCat(text, " of ", setting.variable);
}

}  // namespace

void FindIdleSettings(Drafts& drafts) {
  std::set<std::string> told;  // ranks of a job have the same settings
  for (const allocators::TorchSettings& all : allocators::TorchSettingsOf(drafts.session())) {
    for (const allocators::TorchSetting& setting : all.settings) {
      if (!allocators::DidNothing(setting.state)) continue;
      const std::string what = absl::StrCat(
          Short(setting), ": ", std::string(SettingStateName(setting.state)), ". ", setting.why);
      if (!told.insert(what).second) continue;
      Draft& draft = drafts.At(Pattern::kSetting, kNoDevice, Layer::kUnspecified, StackId());
      drafts.Count(draft, 0, {EventId(), AllocationId(), AllocationId(), what});
      std::string& why = draft.finding.why;
      absl::StrAppend(&why, why.empty() ? "" : " ", what);
    }
  }
}

}  // namespace memprof::analysis::advice
