#include "cli/run/log_names.h"

#include <cstring>
#include <filesystem>
#include <string_view>

namespace memprof::cli {
namespace {

namespace fs = std::filesystem;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The letters that stand for something after % (libmemprof/src/log/output_name.h), % itself apart.
bool IsLetterOfPattern(char c) { return c != '\0' && std::strchr("phjr", c) != nullptr; }

// Whether `text` can be `pattern` with %p as digits, %h, %j and %r as anything, and %% as %.
bool Matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] != '%' || pattern.size() == 1 ||
      (!IsLetterOfPattern(pattern[1]) && pattern[1] != '%'))
    return !text.empty() && text[0] == pattern[0] && Matches(pattern.substr(1), text.substr(1));
  const std::string_view rest = pattern.substr(2);
  if (pattern[1] == '%') return !text.empty() && text[0] == '%' && Matches(rest, text.substr(1));
  for (std::size_t taken = 1; taken <= text.size(); ++taken) {
    if (pattern[1] == 'p' && !IsDigit(text[taken - 1])) break;
    if (Matches(rest, text.substr(taken))) return true;
  }
  return false;
}

// Whether the recorder may have made this name from the last component of its pattern.
bool IsLogName(const std::string& pattern, const std::string& name) {
  const std::size_t dot = pattern.rfind('.');
  const std::size_t extension = dot == std::string::npos || dot == 0 ? pattern.size() : dot;
  const std::string front = pattern.substr(0, extension), back = pattern.substr(extension);
  return Matches(pattern, name) || Matches(front + ".%p" + back, name) ||
         Matches(front + ".%p.%p" + back, name);
}

// Files below `folder` whose path from there matches the rest of a pattern, a name at a time.
void FindMatching(const fs::path& folder, const std::vector<std::string>& names, std::size_t at,
                  std::vector<std::string>* found) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder, error)) {
    const std::string name = entry.path().filename().string();
    if (at + 1 == names.size()) {
      if (IsLogName(names[at], name)) found->push_back((folder / name).string());
    } else if (Matches(names[at], name) && entry.is_directory(error)) {
      FindMatching(folder / name, names, at + 1, found);
    }
  }
}

}  // namespace

std::string FixedFolder(const std::string& pattern) {
  fs::path folder = fs::path(pattern).parent_path();
  while (folder.string().find('%') != std::string::npos) folder = folder.parent_path();
  return folder.string();
}

std::vector<std::string> FilesOfPattern(const std::string& pattern) {
  const fs::path fixed = FixedFolder(pattern);
  std::vector<std::string> names, files;
  for (const fs::path& name : fs::path(pattern).lexically_relative(fixed))
    names.push_back(name.string());
  if (fixed.empty()) names.assign(fs::path(pattern).begin(), fs::path(pattern).end());
  FindMatching(fixed, names, 0, &files);
  return files;
}

std::string PatternOfLogs(const std::string& output) {
  std::string pattern;
  bool varies = false;
  for (std::size_t i = 0; i < output.size(); ++i) {
    if (output[i] == '%' && i + 1 < output.size() && IsLetterOfPattern(output[i + 1])) {
      pattern += '*';
      varies = true;
      ++i;
    } else {
      pattern += output[i];
    }
  }
  if (varies) return pattern;
  // The first log has the name itself; others have ".PID" before the extension.
  const std::size_t dot = pattern.rfind('.');
  const std::size_t slash = pattern.rfind('/');
  if (dot == std::string::npos || (slash != std::string::npos && dot < slash)) return pattern + "*";
  return pattern.insert(dot, "*");
}

}  // namespace memprof::cli
