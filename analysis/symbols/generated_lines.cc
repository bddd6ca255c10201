#include "analysis/symbols/generated_lines.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

#include "analysis/log/wire.h"

namespace memprof::analysis {
namespace {

constexpr std::string_view kLinesEnding = ".lines";
constexpr std::size_t kHashLetters = 52;
constexpr std::size_t kMostFrames = 64;  // of a part

// The number at the begin of `text`, which is removed; 0 if there is none.
int TakeNumber(std::string_view* text) {
  int number = 0;
  const char* const end = text->data() + text->size();
  const auto [rest, error] = std::from_chars(text->data(), end, number);
  if (error != std::errc()) return 0;
  text->remove_prefix(static_cast<std::size_t>(rest - text->data()));
  return number;
}

}  // namespace

std::optional<SourceFrame> FrameOfTraceback(std::string_view text) {
  constexpr std::string_view kFile = "File \"", kLine = "\", line ", kIn = ", in ";
  const std::size_t end = text.rfind(kLine);
  if (!text.starts_with(kFile) || end == std::string_view::npos) return std::nullopt;
  SourceFrame frame{.file = LogText(text.substr(kFile.size(), end - kFile.size())),
                    .module = "python",
                    .python = true};
  text.remove_prefix(end + kLine.size());
  frame.line = TakeNumber(&text);
  if (frame.line <= 0 || !text.starts_with(kIn) || text.size() == kIn.size()) return std::nullopt;
  frame.function = LogText(text.substr(kIn.size()));
  frame.symbolised = true;
  return frame;
}

bool IsGeneratedFile(std::string_view file) {
  constexpr std::string_view kEnding = ".py";
  if (!file.ends_with(kEnding) || file.size() < kHashLetters + 7) return false;
  file.remove_suffix(kEnding.size());
  const std::string_view hash = file.substr(file.size() - kHashLetters);
  const std::string_view folder = file.substr(0, file.size() - kHashLetters);
  return hash[0] == 'c' && folder.ends_with("/" + std::string(hash.substr(1, 2)) + "/") &&
         std::all_of(hash.begin(), hash.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '2' && c <= '7'); });
}

std::string LinesName(std::string_view file) { return std::string(file).append(kLinesEnding); }

GeneratedLines::GeneratedLines(const KeptSources& sources) {
  for (const auto& [name, text] : sources) {
    if (!name.ends_with(kLinesEnding)) continue;
    std::vector<Part>& parts = files_[name];
    std::string_view rest = text;
    while (!rest.empty()) {
      std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
      if (std::optional<SourceFrame> frame = FrameOfTraceback(line)) {
        if (!parts.empty() && parts.back().frames.size() < kMostFrames)
          parts.back().frames.push_back(*std::move(frame));
      } else if (const int begin = TakeNumber(&line); begin > 0 && line.empty()) {
        parts.push_back({.begin = begin, .frames = {}});
      }
    }
    std::stable_sort(parts.begin(), parts.end(),
                     [](const Part& a, const Part& b) { return a.begin < b.begin; });
    for (Part& part : parts) std::reverse(part.frames.begin(), part.frames.end());
  }
}

std::vector<SourceFrame> GeneratedLines::OriginOf(std::string_view file, int line) const {
  const auto found = files_.find(LinesName(file));
  if (found == files_.end()) return {};
  const auto after = std::upper_bound(found->second.begin(), found->second.end(), line,
                                      [](int l, const Part& part) { return l < part.begin; });
  return after == found->second.begin() ? std::vector<SourceFrame>() : std::prev(after)->frames;
}

}  // namespace memprof::analysis
