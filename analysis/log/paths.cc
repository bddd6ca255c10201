// Looks into folders.
#include "analysis/log/paths.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace memprof::analysis {

absl::StatusOr<std::vector<std::string>> LogsOf(const std::vector<std::string>& names) {
  std::vector<std::string> logs;
  for (const std::string& name : names) {
    std::error_code error;
    if (!std::filesystem::is_directory(name, error)) {
      logs.push_back(name);
      continue;
    }
    std::vector<std::string> found;
    for (std::filesystem::directory_iterator at(name, error), end; !error && at != end;
         at.increment(error)) {
      if (at->path().extension() == ".mprof") found.push_back(at->path().string());
    }
    if (error)
      return absl::UnavailableError(absl::StrCat(name, ": cannot be read: ", error.message()));
    if (found.empty())
      return absl::NotFoundError(absl::StrCat(name, ": no log (*.mprof) is in this folder"));
    std::sort(found.begin(), found.end());
    logs.insert(logs.end(), found.begin(), found.end());
  }
  return logs;
}

}  // namespace memprof::analysis
