// Settings of PyTorch's allocator as text and as JSON.
#include "cli/report/internal/settings.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "analysis/allocators/torch_settings.h"
#include "analysis/base/units.h"
#include "cli/console/lines.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"

namespace memprof::cli {
namespace {

using analysis::allocators::SettingState;
using analysis::allocators::TorchSetting;
using analysis::allocators::TorchSettings;

struct Group {
  TorchSettings settings;
  std::vector<std::size_t> processes;  // rows of Session::processes()
};

bool Same(const TorchSettings& a, const TorchSettings& b) {
  const auto parts = [](const TorchSetting& one) {
    return std::tie(one.variable, one.key, one.value, one.state, one.why);
  };
  return a.release == b.release && a.variable == b.variable && a.left_out == b.left_out &&
         std::equal(a.settings.begin(), a.settings.end(), b.settings.begin(), b.settings.end(),
                    [parts](const auto& x, const auto& y) { return parts(x) == parts(y); });
}

// Processes of a job mostly have the same settings.
std::vector<Group> Groups(const analysis::Session& session) {
  std::vector<Group> groups;
  std::vector<TorchSettings> all = analysis::allocators::TorchSettingsOf(session);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].variables) continue;
    const auto known = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
      return Same(group.settings, all[i]);
    });
    if (known != groups.end()) {
      known->processes.push_back(i);
    } else {
      groups.push_back({std::move(all[i]), {i}});
    }
  }
  return groups;
}

std::string Written(const TorchSetting& setting) {
  return setting.key.empty() ? setting.value : Cat(setting.key, ":", setting.value);
}

std::string SettingLine(const TorchSetting& setting) {
  constexpr std::size_t kMost = 60;
  const bool idle = analysis::allocators::DidNothing(setting.state);
  const std::string state(SettingStateName(setting.state));
  const std::string text = CutEnd(Printable(Written(setting)), kMost);
  std::string line = Cat("    ", text, "  ", idle ? Styled(Style::kYellow, state) : state, "\n");
  return setting.why.empty() ? line : line + Paragraph(setting.why, 6);
}

std::string GroupText(const Group& group, std::size_t processes) {
  const TorchSettings& all = group.settings;
  std::string release = all.release.empty() ? "a release of PyTorch that the log does not name"
                                            : Cat("PyTorch ", CutEnd(Printable(all.release), 40));
  std::string text =
      Cat("  ", all.variable.empty() ? "No variable" : all.variable, " was read by ", release);
  if (processes > 1)
    Append(text, ", in ", group.processes.size(), " of ",
           analysis::FormatNumberOf(processes, "process", "processes"));
  text += "\n";
  std::string variable;
  for (const TorchSetting& setting : all.settings) {
    if (setting.variable != all.variable && setting.variable != variable)
      Append(text, "  In ", setting.variable, ":\n");
    variable = setting.variable;
    text += SettingLine(setting);
  }
  if (all.settings.empty()) text += "    It is empty.\n";
  if (all.left_out > 0) Append(text, "    … and ", all.left_out, " more\n");
  return text;
}

}  // namespace

std::string SettingsText(const analysis::Session& session) {
  std::string text;
  for (const Group& group : Groups(session)) {
    if (!text.empty()) text += "\n";
    text += GroupText(group, session.processes().size());
  }
  return text;
}

Json SettingsJson(const analysis::Session& session) {
  Json groups = Json::array();
  for (const Group& group : Groups(session)) {
    Json settings = Json::array();
    for (const TorchSetting& setting : group.settings.settings) {
      settings.push_back({{"variable", setting.variable},
                          {"key", setting.key},
                          {"value", setting.value},
                          {"state", SettingStateId(setting.state)},
                          {"why", setting.why}});
    }
    groups.push_back({{"processes", group.processes},
                      {"release", group.settings.release},
                      {"variable", group.settings.variable},
                      {"settings", std::move(settings)},
                      {"left_out", group.settings.left_out}});
  }
  return groups;
}

}  // namespace memprof::cli
