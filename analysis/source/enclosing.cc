#include "analysis/source/enclosing.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "absl/strings/str_cat.h"

namespace memprof::analysis {
namespace {

constexpr std::string_view kBlanks = " \t\f";

struct Definition {
  std::string_view name;
  bool is_class = false;
};

// Cuts `word` and the blanks behind it off `text`.
bool CutWord(std::string_view* text, std::string_view word) {
  if (!text->starts_with(word)) return false;
  const std::size_t next = text->find_first_not_of(kBlanks, word.size());
  if (next == word.size() || next == std::string_view::npos) return false;
  text->remove_prefix(next);
  return true;
}

// Of a line without its indentation; no name if it defines nothing.
Definition DefinitionOf(std::string_view line) {
  CutWord(&line, "async");
  const bool is_class = CutWord(&line, "class");
  if (!is_class && !CutWord(&line, "def")) return {};
  const auto ends = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x80 && std::isalnum(byte) == 0 && c != '_';
  };
  return {line.substr(0, static_cast<std::size_t>(std::find_if(line.begin(), line.end(), ends) -
                                                  line.begin())),
          is_class};
}

}  // namespace

std::string QualifiedName(std::string_view text, int line, std::string_view function) {
  std::vector<std::string_view> lines;
  while (static_cast<int>(lines.size()) < line && !text.empty()) {
    lines.push_back(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(lines.back().size() + 1, text.size()));
  }
  if (line < 1 || static_cast<int>(lines.size()) < line) return std::string(function);
  std::string name;
  std::size_t indentation = std::string_view::npos;
  for (std::size_t i = lines.size(); i-- > 0 && indentation > 0;) {
    const std::size_t begin = lines[i].find_first_not_of(kBlanks);
    if (begin == std::string_view::npos || begin >= indentation) continue;
    const Definition found = DefinitionOf(lines[i].substr(begin));
    // The line itself may be one: "def f(x): return x".
    if (indentation == std::string_view::npos && found.name != function) {
      indentation = begin;
      continue;
    }
    if (found.name.empty()) continue;
    indentation = begin;
    if (!name.empty()) {
      name = absl::StrCat(absl::string_view(found.name.data(), found.name.size()),
                          found.is_class ? "." : ".<locals>.", name);
    } else if (found.name == function) {
      name = std::string(function);
    } else {
      break;
    }
  }
  return name.empty() ? std::string(function) : name;
}

}  // namespace memprof::analysis
