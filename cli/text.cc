// Text by columns.
#include "cli/text.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "cli/controls.h"

namespace memprof::cli {
namespace {

bool StartsCodePoint(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

}  // namespace

std::string Wrap(std::string_view text, std::size_t width, std::size_t indent) {
  std::string result;
  std::size_t column = 0;
  bool at_start = true;
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    text = space == std::string_view::npos ? std::string_view() : text.substr(space + 1);
    if (word.empty()) continue;
    const std::size_t columns = Columns(word);
    if (!at_start && column + 1 + columns > width) {
      Append(result, '\n', std::string(indent, ' '));
      column = indent;
    } else if (!at_start) {
      result += ' ';
      ++column;
    }
    result += word;
    column += columns;
    at_start = false;
  }
  return result;
}

std::size_t Columns(std::string_view text) {
  std::size_t columns = 0;
  for (const char c : text) columns += StartsCodePoint(c);
  return columns;
}

std::string CutEnd(std::string_view text, std::size_t width) {
  if (Columns(text) <= width) return std::string(text);
  std::size_t kept = 0, end = 0;
  for (; end < text.size(); ++end) {
    if (StartsCodePoint(text[end]) && kept++ == (width == 0 ? 0 : width - 1)) break;
  }
  return Cat(text.substr(0, end), "…");
}

std::string CutFront(std::string_view text, std::size_t width) {
  const std::size_t columns = Columns(text);
  if (columns <= width) return std::string(text);
  std::size_t drop = columns - width + 1, begin = 0;
  for (; begin < text.size(); ++begin) {
    if (StartsCodePoint(text[begin]) && drop-- == 0) break;
  }
  return Cat("…", text.substr(begin));
}

std::string Hex(std::uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string Printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t control = ControlAt(text);
    result += control == 0 ? text.front() : '?';
    text.remove_prefix(std::max<std::size_t>(control, 1));
  }
  return result;
}

}  // namespace memprof::cli
