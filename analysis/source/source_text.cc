// Finds and reads source files.
#include "analysis/source/source_text.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analysis/base/text.h"
#include "analysis/log/wire.h"
#include "analysis/source/internal/open_file.h"

namespace memprof::analysis {
namespace {

constexpr std::size_t kMostSource = 4 << 20;
constexpr std::size_t kMostLines = 200'000;
constexpr std::size_t kLongestLine = 1000;
constexpr std::size_t kTab = 4;
constexpr std::size_t kMostEntries = 100'000;  // of a checkout

constexpr std::array<std::string_view, 22> kEndings = {
    ".py", ".pyx", ".pyi", ".cc",  ".cpp", ".cxx", ".c",  ".h",  ".hh", ".hpp", ".hxx",
    ".cu", ".cuh", ".inl", ".inc", ".ipp", ".tcc", ".rs", ".jl", ".f",  ".f90", ".go"};

// "/a/b" of "./a/../b": the names of a path, none of which leaves its folder, each after a slash.
std::vector<std::string> NamesOf(std::string_view path) {
  std::vector<std::string> names;
  while (!path.empty()) {
    const std::string_view name = path.substr(0, path.find('/'));
    if (!name.empty() && name != "." && name != "..") names.push_back("/" + std::string(name));
    path.remove_prefix(std::min(path.size(), name.size() + 1));
  }
  return names;
}

std::string Joined(std::string path, const std::vector<std::string>& names, std::size_t begin) {
  for (std::size_t i = begin; i < names.size(); ++i) path += names[i];
  return path;
}

// Whether `path` is in `folder`, a whole name.
bool IsBelow(std::string_view path, std::string_view folder) {
  while (folder.ends_with('/')) folder.remove_suffix(1);
  return path.starts_with(folder) && path.substr(folder.size()).starts_with('/');
}

// A line of valid UTF-8 without tabs and control characters, cut at a whole character.
std::string DisplayedLine(std::string_view line) {
  std::string shown;
  std::size_t column = 0;
  for (const char c : line) {
    const auto byte = static_cast<unsigned char>(c);
    const bool inside = (byte & 0xc0) == 0x80;  // of a character
    if (shown.size() >= kLongestLine && !inside) return shown + "…";
    if (c == '\t')
      shown.append(kTab - column % kTab, ' ');
    else
      shown += byte < 0x20 || byte == 0x7f ? '?' : c;
    column += c == '\t' ? kTab - column % kTab : inside ? 0 : 1;
  }
  return shown;
}

absl::StatusOr<std::vector<std::string>> LinesOf(std::string_view bytes, const std::string& path) {
  if (bytes.find('\0') != std::string_view::npos)
    return absl::InvalidArgumentError(absl::StrCat(path, " is not text."));
  const std::string valid = ValidUtf8(bytes);
  std::string_view text = valid;
  std::vector<std::string> lines;
  while (!text.empty()) {
    if (lines.size() == kMostLines)
      return absl::InvalidArgumentError(
          absl::StrCat(path, " has more than ", kMostLines, " lines."));
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(DisplayedLine(line));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

// Why a text is too short to be the one that ran; "" if it is not.
std::string TooShort(std::size_t lines, int last_line) {
  if (last_line <= 0 || lines >= static_cast<std::size_t>(last_line)) return "";
  return absl::StrCat("This is not the text that ran: it has ", lines,
                      " lines, and the log names line ", last_line, ".");
}

std::string DoubtOf(const struct stat& status, const SourcePlaces& places, std::size_t lines,
                    int last_line) {
  if (std::string doubt = TooShort(lines, last_line); !doubt.empty()) return doubt;
  const std::uint64_t changed =
      static_cast<std::uint64_t>(std::max<std::int64_t>(0, std::int64_t{status.st_mtim.tv_sec})) *
          1'000'000'000 +
      static_cast<std::uint64_t>(status.st_mtim.tv_nsec);
  if (places.run_unix_ns == 0 || changed <= places.run_unix_ns) return "";
  return "Changed after the run began: these may not be the lines that ran.";
}

bool Exists(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0;
}

absl::StatusOr<SourceText> ReadFile(const std::string& path, const SourcePlaces& places,
                                    int last_line) {
  const OpenFile opened(path);
  struct stat status {};
  if (!opened.Status(&status))
    return absl::InvalidArgumentError(absl::StrCat(path, " cannot be read."));
  if (!S_ISREG(status.st_mode))
    return absl::InvalidArgumentError(absl::StrCat(path, " is not a regular file."));
  std::string text;
  if (!opened.Read(kMostSource, &text))
    return absl::InvalidArgumentError(absl::StrCat(path, " is larger than 4 MiB."));
  absl::StatusOr<std::vector<std::string>> lines = LinesOf(text, path);
  if (!lines.ok()) return lines.status();
  SourceText found{path, *std::move(lines), "", false};
  found.doubt = DoubtOf(status, places, found.lines.size(), last_line);
  return found;
}

absl::StatusOr<SourceText> KeptText(const std::string& file, const std::string& text,
                                    int last_line) {
  absl::StatusOr<std::vector<std::string>> lines = LinesOf(text, file);
  if (!lines.ok()) return lines.status();
  std::string doubt = TooShort(lines->size(), last_line);
  return SourceText{file, *std::move(lines), std::move(doubt), true};
}

// The files below a folder that have the longest common end with `names`, at least the last one.
// Folders with a dot are left out, and links are not followed.
std::vector<std::string> FindBelow(const std::string& folder,
                                   const std::vector<std::string>& names) {
  namespace fs = std::filesystem;
  std::vector<std::string> found;
  std::size_t longest = 1, entries = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator
           at(folder, fs::directory_options::skip_permission_denied, error),
       end;
       !error && at != end && entries < kMostEntries; at.increment(error), ++entries) {
    const std::string name = at->path().filename().string();
    std::error_code ignored;
    if (name.starts_with('.')) at.disable_recursion_pending();
    if (names.empty() || "/" + name != names.back() || !at->is_regular_file(ignored)) continue;
    const std::vector<std::string> here = NamesOf(at->path().string());
    std::size_t common = 0;
    while (common < std::min(here.size(), names.size()) &&
           here[here.size() - 1 - common] == names[names.size() - 1 - common])
      ++common;
    if (common > longest) found.clear();
    longest = std::max(longest, common);
    if (common == longest) found.push_back(at->path().string());
  }
  return found;
}

}  // namespace

absl::StatusOr<SourceMap> ParseSourceMap(std::string_view text) {
  const std::size_t equals = text.find('=');
  const bool checkout = equals == std::string_view::npos;
  SourceMap map{std::string(checkout ? "" : text.substr(0, equals)),
                std::string(checkout ? text : text.substr(equals + 1))};
  if (map.to.empty() || (!checkout && map.from.empty()))
    return absl::InvalidArgumentError("a source map is FROM=TO, or a folder");
  return map;
}

std::string SourceMapText(const SourceMap& map) {
  return map.from.empty() ? map.to : absl::StrCat(map.from, "=", map.to);
}

absl::StatusOr<SourceMap> LearnSourceMap(std::string_view file, std::string_view path) {
  if (BaseName(file) != BaseName(path))
    return absl::InvalidArgumentError(absl::StrCat("The log names ", std::string(BaseName(file)),
                                                   ", and ", std::string(BaseName(path)),
                                                   " was chosen."));
  // Whole names of the common end.
  while (true) {
    const std::size_t in_file = file.rfind('/'), in_path = path.rfind('/');
    if (in_file == std::string_view::npos || in_path == std::string_view::npos) break;
    if (file.substr(in_file) != path.substr(in_path)) break;
    file = file.substr(0, in_file);
    path = path.substr(0, in_path);
  }
  if (path.empty()) path = "/";
  // A relative name, or one that is all of it: the folder is a checkout.
  if (file.empty() || !file.starts_with('/')) {
    if (BaseName(file) == BaseName(path)) path = path.substr(0, path.rfind('/') + 1);
    return SourceMap{"", std::string(path)};
  }
  return SourceMap{std::string(file), std::string(path)};
}

bool IsSourceName(std::string_view file) {
  return std::any_of(kEndings.begin(), kEndings.end(),
                     [file](std::string_view ending) { return file.ends_with(ending); });
}

std::vector<std::string> PlacesOfSource(const std::string& file, const SourcePlaces& places) {
  std::vector<std::string> found;
  const std::vector<std::string> names = NamesOf(file);
  if (file.starts_with('/')) {
    found.push_back(file);
  } else if (!file.empty()) {
    if (!places.working_directory.empty()) found.push_back(places.working_directory + "/" + file);
    for (std::string_view above = places.executable; above.find('/') != std::string_view::npos;) {
      above = above.substr(0, above.rfind('/'));
      found.push_back(Joined(std::string(above), names, 0));
    }
  }
  for (const SourceMap& map : places.maps) {
    if (map.from.empty())
      for (std::size_t i = 0; i < names.size(); ++i) found.push_back(Joined(map.to, names, i));
    else if (IsBelow(file, map.from))
      found.push_back(Joined(map.to, NamesOf(std::string_view(file).substr(map.from.size())), 0));
  }
  return found;
}

absl::StatusOr<SourceText> ReadSource(const std::string& file, const SourcePlaces& places,
                                      int last_line) {
  if (!IsSourceName(file))
    return absl::InvalidArgumentError(
        absl::StrCat(file, " does not end as a source file does, and is not opened."));
  if (places.kept != nullptr)
    if (const auto at = places.kept->find(file); at != places.kept->end())
      return KeptText(file, at->second, last_line);
  for (const std::string& path : PlacesOfSource(file, places))
    if (Exists(path)) return ReadFile(path, places, last_line);
  for (const SourceMap& map : places.maps) {
    if (!map.from.empty()) continue;
    const std::vector<std::string> found = FindBelow(map.to, NamesOf(file));
    if (found.size() == 1) return ReadFile(found[0], places, last_line);
    if (found.size() > 1)
      return absl::NotFoundError(absl::StrCat(file, " may be ", found[0], " or ", found[1], "."));
  }
  return absl::NotFoundError(absl::StrCat(file, " is not on this machine."));
}

}  // namespace memprof::analysis
