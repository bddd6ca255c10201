// Reads and matches suppressions.
#include "analysis/leaks/suppressions.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace memprof::analysis {
namespace {

constexpr std::string_view kLeak = "leak:";
constexpr std::size_t kMaxFileBytes = 1 << 20;

// `*` is anything, everything else itself; the whole of `text`. After a mismatch the last `*` takes
// one more character, which is enough: earlier ones never need to.
bool MatchesWhole(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, taken = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::string_view Stripped(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t begin = std::min(text.find_first_not_of(kBlank), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(kBlank) + 1);
}

}  // namespace

bool MatchesTemplate(std::string_view pattern, std::string_view text) {
  std::string whole;
  if (!pattern.empty() && pattern.front() == '^')
    pattern.remove_prefix(1);
  else
    whole = "*";
  const bool to_the_end = !pattern.empty() && pattern.back() == '$';
  if (to_the_end) pattern.remove_suffix(1);
  whole += pattern;
  if (!to_the_end) whole += '*';
  return MatchesWhole(whole, text);
}

absl::StatusOr<Suppressions> Suppressions::Parse(std::string_view text, std::string_view name) {
  Suppressions suppressions;
  int line_number = 0;
  while (!text.empty()) {
    ++line_number;
    const std::size_t end = std::min(text.find('\n'), text.size() - 1);
    const std::string_view line = Stripped(text.substr(0, end + 1));
    text.remove_prefix(end + 1);
    if (line.empty() || line.front() == '#') continue;
    if (!line.starts_with(kLeak) || line.size() == kLeak.size())
      return absl::InvalidArgumentError(absl::StrCat(std::string(name), ":", line_number,
                                                     ": expected 'leak:PATTERN' or a comment"));
    suppressions.patterns_.emplace_back(line.substr(kLeak.size()));
  }
  return suppressions;
}

absl::StatusOr<Suppressions> Suppressions::Read(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text;
  // One byte more than allowed, so that too much is seen. A directory opens, and cannot be read.
  if (file) {
    text.resize(kMaxFileBytes + 1);
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
  }
  if (!file.is_open() || file.bad()) {
    const int error = errno != 0 ? errno : EIO;
    return absl::Status(absl::ErrnoToStatusCode(error),
                        absl::StrCat(path, ": ", std::strerror(error)));
  }
  if (text.size() > kMaxFileBytes)
    return absl::InvalidArgumentError(absl::StrCat(path, ": is too large for suppressions"));
  return Parse(text, path);
}

int Suppressions::Match(std::span<const SourceFrame> stack) const {
  for (std::size_t i = 0; i < patterns_.size(); ++i)
    for (const SourceFrame& frame : stack)
      if (MatchesTemplate(patterns_[i], frame.function) ||
          (!frame.file.empty() && MatchesTemplate(patterns_[i], frame.file)) ||
          (!frame.module.empty() && MatchesTemplate(patterns_[i], frame.module)))
        return static_cast<int>(i);
  return -1;
}

}  // namespace memprof::analysis
