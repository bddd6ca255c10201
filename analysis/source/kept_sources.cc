// Collects the user's source files.
#include "analysis/source/kept_sources.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "analysis/source/internal/open_file.h"
#include "analysis/source/source_text.h"
#include "analysis/symbols/plumbing.h"

namespace memprof::analysis {
namespace {

bool IsUsersPath(std::string_view path) {
  constexpr std::array<std::string_view, 10> kSystem = {
      "/usr/", "/lib", "/bin/", "/sbin/", "/etc/", "/proc/", "/sys/", "/dev/", "/nix/", "<"};
  // Where programs in containers often are.
  if (path.starts_with("/usr/src/")) return true;
  return !path.empty() && path.find("-packages/") == std::string_view::npos &&
         path.find("/lib/python3") == std::string_view::npos &&
         std::none_of(kSystem.begin(), kSystem.end(),
                      [path](std::string_view folder) { return path.starts_with(folder); });
}

// Modules of the system are not looked at: theirs is the time to read debug information.
std::set<std::string> UsersFiles(const Session& session, Symbols& symbols) {
  std::set<std::string> files;
  const auto add = [&files](std::string_view file) {
    if (IsUsersPath(file) && IsSourceName(file)) files.emplace(file);
  };
  for (std::uint32_t i = 0; i < session.frame_count(); ++i) {
    const Frame& frame = session.frame(FrameId(i));
    if (frame.python) {
      add(session.string(frame.file));
    } else if (frame.module < session.modules().size() &&
               IsUsersPath(session.modules()[frame.module].path)) {
      for (const SourceFrame& source : symbols.Resolve(FrameId(i)))
        if (source.line > 0 && !IsPlumbing(source)) add(source.file);
    }
  }
  return files;
}

std::optional<std::string> ReadUnchanged(const std::string& path, std::int64_t newest_unix_ns) {
  std::error_code error;
  const std::string real = std::filesystem::canonical(path, error).string();
  if (error || !IsUsersPath(real) || !IsSourceName(real)) return std::nullopt;
  const OpenFile file(real);
  struct stat status {};
  if (!file.Status(&status) || !S_ISREG(status.st_mode)) return std::nullopt;
  const std::int64_t changed =
      std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  std::string text;
  if (changed > newest_unix_ns || !file.Read(kMostKeptFileBytes, &text)) return std::nullopt;
  return text;
}

}  // namespace

KeptSources SourcesToKeep(const Session& session, Symbols& symbols, std::int64_t newest_unix_ns) {
  const SourcePlaces places{
      session.run().working_directory, session.run().executable, {}, 0, nullptr};
  KeptSources kept;
  std::size_t bytes = 0;
  for (const std::string& file : UsersFiles(session, symbols)) {
    for (const std::string& path : PlacesOfSource(file, places)) {
      std::optional<std::string> text = ReadUnchanged(path, newest_unix_ns);
      if (!text) continue;
      if (bytes + text->size() > kMostKeptBytes || kept.size() == kMostKeptFiles) return kept;
      bytes += text->size();
      kept.emplace(file, *std::move(text));
      break;
    }
  }
  return kept;
}

}  // namespace memprof::analysis
