// Text by columns.
#include "cli/text.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <set>

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

std::string CutMiddle(std::string_view text, std::size_t width, std::size_t kept) {
  if (Columns(text) <= width) return std::string(text);
  if (kept == 0 || kept + 1 >= width) kept = width / 3;
  std::string front = CutEnd(text, kept + 1);  // with "…"
  return Cat(front, CutFront(text, width - kept).substr(std::string_view("…").size()));
}

std::string CutSite(std::string_view site, std::size_t width) {
  constexpr std::string_view kIn = ", in ";
  constexpr std::size_t kEnough = 16;  // for the end of a path and a line
  const std::size_t in = site.find(kIn);
  if (in == std::string_view::npos) return CutMiddle(site, width);
  const std::size_t front = Columns(site.substr(0, in + kIn.size()));
  return CutMiddle(site, width, front + kEnough <= width ? front : 0);
}

std::vector<std::string> CutApart(const std::vector<std::string>& cells, std::size_t width) {
  std::vector<std::string> cut;
  std::map<std::string, std::vector<std::size_t>> alike;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cut.push_back(CutSite(cells[i], width));
    alike[cut.back()].push_back(i);
  }
  for (const auto& [shown, rows] : alike) {
    // Where they begin to differ; the first of the differences that can be shown.
    const std::string& first = cells[rows[0]];
    std::size_t same = first.size();
    for (const std::size_t row : rows) {
      const auto [a, b] =
          std::mismatch(first.begin(), first.end(), cells[row].begin(), cells[row].end());
      if (b != cells[row].end() || a != first.end())
        same = std::min(same, static_cast<std::size_t>(a - first.begin()));
    }
    if (same == first.size()) continue;  // one text
    while (same > 0 && !StartsCodePoint(first[same])) --same;
    const std::size_t head = std::min(Columns(std::string_view(first).substr(0, same)), width / 3);
    for (const std::size_t row : rows) {
      const std::string_view cell = cells[row];
      cut[row] = Cat(CutEnd(cell.substr(0, same), head),
                     CutMiddle(cell.substr(same), width - head, (width - head) / 2));
    }
  }
  // What still looks alike is better too wide than the same.
  std::map<std::string, std::set<std::string>> told;
  for (std::size_t i = 0; i < cells.size(); ++i) told[cut[i]].insert(cells[i]);
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (told.at(cut[i]).size() > 1) cut[i] = cells[i];
  return cut;
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
