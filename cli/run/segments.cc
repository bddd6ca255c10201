#include "cli/run/segments.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "cli/run/rings.h"
#include "cli/run/run.h"

namespace memprof::cli {
namespace {

namespace fs = std::filesystem;

fs::path NameOf(const fs::path& log, std::uint32_t number) {
  return log.parent_path() /
         absl::StrCat(log.stem().string(), ".segment-", number, log.extension().string());
}

// By number. Other files with such a name are left alone.
std::map<std::uint32_t, fs::path> SegmentsOf(const fs::path& log) {
  std::map<std::uint32_t, fs::path> segments;
  const std::string stem = log.stem().string() + ".segment-";
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(log.parent_path(), error)) {
    const std::string name = entry.path().stem().string();
    std::uint32_t number = 0;
    if (absl::StartsWith(name, stem) && absl::SimpleAtoi(name.substr(stem.size()), &number) &&
        NameOf(log, number) == entry.path())
      segments[number] = entry.path();
  }
  return segments;
}

}  // namespace

absl::Status KeepAsSegment(const std::string& path, std::uint32_t kept) {
  FoldRings({path});
  std::map<std::uint32_t, fs::path> segments = SegmentsOf(path);
  const std::uint32_t number = segments.empty() ? 1 : segments.rbegin()->first + 1;
  std::error_code error;
  fs::rename(path, NameOf(path, number), error);
  if (error) return absl::PermissionDeniedError(absl::StrCat(path, ": ", error.message()));
  segments[number] = NameOf(path, number);
  for (; segments.size() > kept; segments.erase(segments.begin())) {
    const fs::path& oldest = segments.begin()->second;
    const absl::StatusOr<bool> is_log = MayBeReplaced(oldest);
    if (is_log.ok() && *is_log) unlink(oldest.c_str());
  }
  return absl::OkStatus();
}

}  // namespace memprof::cli
