#include "cli/run/internal/recorded.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "cli/run/log_names.h"
#include "proto/run_variables.h"

namespace memprof::cli {
namespace {

namespace fs = std::filesystem;

// A report is of one session that is held in memory: good for the ranks of a host.
constexpr std::int64_t kMostForReport = 8;

std::string Short(const std::string& path) {
  std::error_code error;
  const std::string relative = fs::proximate(path, error).string();
  return error || absl::StartsWith(relative, "..") ? path : relative;
}

// A word of a shell, in which "*" keeps its meaning.
std::string Word(const std::string& text) {
  constexpr char kUnquoted[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/+=:,@%";
  std::vector<std::string> parts = absl::StrSplit(text, '*');
  for (std::string& part : parts)
    if (part.find_first_not_of(kUnquoted) != std::string::npos)
      part = absl::StrCat("'", absl::StrReplaceAll(part, {{"'", "'\\''"}}), "'");
  const std::string word = absl::StrJoin(parts, "*");
  return absl::StartsWith(word, "-") ? "./" + word : word;
}

std::string CommonFolder(const std::vector<std::string>& logs) {
  fs::path folder = fs::path(logs[0]).parent_path();
  for (const std::string& log : logs) {
    const fs::path other = fs::path(log).parent_path();
    const auto [end, unused] =
        std::mismatch(folder.begin(), folder.end(), other.begin(), other.end());
    fs::path common;
    for (auto name = folder.begin(); name != end; ++name) common /= *name;
    folder = common;
  }
  return folder.empty() ? "." : folder.string();
}

// What a shell expands to the logs. The folder is named, because a job's is one of many.
std::string PatternOf(const std::vector<std::string>& logs, const std::string& output) {
  const fs::path folder = CommonFolder(logs);
  for (const std::string& log : logs)
    if (fs::path(log).parent_path() != folder) return Short(PatternOfLogs(output));
  return Short((folder / PatternOfLogs(fs::path(output).filename())).string());
}

}  // namespace

std::string RecordedText(const std::vector<std::string>& logs, const std::string& output,
                         std::int64_t ranks) {
  const bool one = logs.size() == 1;
  const std::string where = one ? absl::StrCat("recorded to ", Short(logs[0]))
                                : absl::StrCat("recorded ", logs.size(), " processes, ",
                                               Short(logs[0]), " to ", Short(logs.back()));
  const std::string next =
      std::max<std::int64_t>(ranks, std::ssize(logs)) > kMostForReport
          ? absl::StrCat("memprof fleet map ", Word(Short(CommonFolder(logs))), " -o fleet")
          : absl::StrCat("memprof report ", Word(one ? Short(logs[0]) : PatternOf(logs, output)));
  return absl::StrCat(where, "; next: ", next);
}

std::int64_t RanksOfJob() {
  std::int64_t most = 1;
  for (const log::RunVariableRow& row : log::kRunVariables) {
    if (row.meaning != log::RunVariable::kWorldSize) continue;
    const char* value = getenv(row.name);
    std::int64_t number = 0;
    if (value != nullptr && absl::SimpleAtoi(value, &number)) most = std::max(most, number);
  }
  return most;
}

}  // namespace memprof::cli
