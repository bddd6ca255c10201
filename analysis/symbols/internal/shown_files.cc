// Finds how many folders a path needs.
#include "analysis/symbols/internal/shown_files.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "analysis/symbols/cxx_names.h"
#include "analysis/symbols/plumbing.h"

namespace memprof::analysis {
namespace {

// Without "." and "..", so that each file has one path; the path of a package's file begins with
// the package.
std::string PathOf(const SourceFrame& frame) {
  const std::string file = FileInPackage(frame);
  std::vector<std::string_view> parts;
  for (std::string_view rest = file; !rest.empty();) {
    const std::size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
    if (part == ".." && !parts.empty() && parts.back() != "..")
      parts.pop_back();
    else if (!part.empty() && part != ".")
      parts.push_back(part);
  }
  std::string path;
  for (const std::string_view part : parts)
    absl::StrAppend(&path, path.empty() ? "" : "/", std::string(part));
  return path;
}

// The last `folders` folders and the name; of a package its own name first.
std::string LastOf(std::string_view path, std::size_t folders, bool package) {
  std::size_t begin = path.size();
  for (std::size_t i = 0; i <= folders && begin != 0; ++i) {
    const std::size_t slash = path.rfind('/', begin - 1);
    begin = slash == std::string_view::npos ? 0 : slash;
  }
  if (begin == 0) return std::string(path);
  const std::size_t first = path.find('/');
  if (!package) return std::string(path.substr(begin + 1));
  return absl::StrCat(std::string(path.substr(0, first)), first == begin ? "" : "/…",
                      std::string(path.substr(begin)));
}

bool InPackage(const SourceFrame& frame) {
  return frame.package_at != 0 || frame.file.find("-packages") != std::string::npos;
}

}  // namespace

std::string ShownFiles::NameOf(const SourceFrame& frame, std::string_view path) {
  std::string_view function = BareName(frame.function);
  const std::string_view scope = ScopeOf(function);
  if (!scope.empty()) function.remove_prefix(scope.size() + 2);
  return absl::StrCat(std::string(function), "\n", LastOf(path, 0, InPackage(frame)), "\n",
                      frame.line);
}

void ShownFiles::Add(const SourceFrame& frame) {
  if (frame.file.empty()) return;
  std::string path = PathOf(frame);
  std::vector<std::string>& same = paths_[NameOf(frame, path)];
  if (std::find(same.begin(), same.end(), path) == same.end()) same.push_back(std::move(path));
}

std::string ShownFiles::Of(const SourceFrame& frame) const {
  if (frame.file.empty()) return "";
  const std::string path = PathOf(frame);
  const bool package = InPackage(frame);
  const auto found = paths_.find(NameOf(frame, path));
  for (std::size_t folders = 0;; ++folders) {
    std::string shown = LastOf(path, folders, package);
    const bool unique =
        found == paths_.end() ||
        std::none_of(found->second.begin(), found->second.end(), [&](const std::string& other) {
          return other != path && LastOf(other, folders, package) == shown;
        });
    if (unique || shown == path) return shown;
  }
}

}  // namespace memprof::analysis
