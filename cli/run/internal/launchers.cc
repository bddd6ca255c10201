// Skips the options of launchers.
#include "cli/run/internal/launchers.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace memprof::cli {
namespace {

namespace fs = std::filesystem;

struct Launcher {
  std::string_view name;
  std::string_view letters;                    // one-letter options with a value
  std::vector<std::string_view> long_options;  // options with a value; it may follow as a word
  int operands = 0;                            // words between the options and the program
};

const std::vector<Launcher>& Launchers() {
  static const std::vector<Launcher> launchers = {
      {"env", "uCS", {"--unset", "--chdir", "--split-string"}},
      {"nice", "n", {"--adjustment"}},
      {"nohup", "", {}},
      {"setsid", "", {}},
      {"stdbuf", "ioe", {"--input", "--output", "--error"}},
      {"timeout", "sk", {"--signal", "--kill-after"}, 1},
      {"time", "of", {"--output", "--format"}},
      {"taskset", "", {}, 1},
      {"ionice", "cn", {"--class", "--classdata"}},
      {"chrt", "TPD", {"--sched-runtime", "--sched-period", "--sched-deadline"}, 1},
      {"numactl",
       "iNmCp",
       {"--interleave", "--cpunodebind", "--membind", "--physcpubind", "--preferred"}},
      {"catchsegv", "", {}},
  };
  return launchers;
}

const Launcher* FindLauncher(const std::string& word) {
  const std::string name = fs::path(word).filename().string();
  for (const Launcher& launcher : Launchers())
    if (name == launcher.name) return &launcher;
  return nullptr;
}

std::vector<std::string> Split(const std::string& line) {
  return absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
}

// A word of options: letters without a value, and the last option with its name ("-u", "--unset").
struct Option {
  std::string letters, name, value;
  bool value_follows = false;  // as the next word
};

Option OptionOf(const Launcher& launcher, const std::string& word) {
  if (absl::StartsWith(word, "--")) {
    const std::vector<std::string> parts = absl::StrSplit(word, absl::MaxSplits('=', 1));
    const auto& names = launcher.long_options;
    const bool takes = std::find(names.begin(), names.end(), parts[0]) != names.end();
    return {"", parts[0], parts.size() > 1 ? parts[1] : "", takes && parts.size() == 1};
  }
  const std::size_t at = word.find_first_of(launcher.letters, 1);
  if (at == std::string::npos) return {word.substr(1), "-", ""};
  return {word.substr(1, at - 1), {'-', word[at]}, word.substr(at + 1), at + 1 == word.size()};
}

// Of env, which changes the environment.
bool RemovesPreload(const Option& option) {
  const bool is_dash = option.letters.empty() && option.name == "-";
  return is_dash || option.name == "--ignore-environment" ||
         absl::StrContains(option.letters, 'i') ||
         ((option.name == "-u" || option.name == "--unset") && option.value == "LD_PRELOAD");
}

}  // namespace

std::vector<std::string> InterpreterLine(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line(256, '\0');
  file.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<std::size_t>(file.gcount()));
  line = line.substr(0, line.find('\n'));
  return absl::StartsWith(line, "#!") ? Split(line.substr(2)) : std::vector<std::string>();
}

bool IsLauncher(const std::string& word) { return FindLauncher(word) != nullptr; }

Launched LaunchedBy(const std::vector<std::string>& words) {
  const Launcher* launcher = words.empty() ? nullptr : FindLauncher(words[0]);
  if (launcher == nullptr) return {};
  Launched launched;
  std::vector<std::string> rest(words.rbegin(), words.rend() - 1);  // the next word is the last
  const auto take = [&rest] {
    std::string word = rest.empty() ? "" : rest.back();
    if (!rest.empty()) rest.pop_back();
    return word;
  };
  const bool is_env = launcher->name == "env";
  while (!rest.empty() && absl::StartsWith(rest.back(), "-")) {
    Option option = OptionOf(*launcher, take());
    if (option.name == "--" && !option.value_follows) break;
    if (option.value_follows) option.value = take();
    if (is_env && RemovesPreload(option)) launched.keeps_preload = false;
    if (is_env && (option.name == "-S" || option.name == "--split-string")) {
      const std::vector<std::string> split = Split(option.value);
      rest.insert(rest.end(), split.rbegin(), split.rend());
    }
  }
  while (is_env && !rest.empty() && absl::StrContains(rest.back(), "=")) {
    if (absl::StartsWith(take(), "LD_PRELOAD=")) launched.keeps_preload = false;
  }
  for (int i = 0; i < launcher->operands; ++i) take();
  launched.words.assign(rest.rbegin(), rest.rend());
  return launched;
}

}  // namespace memprof::cli
