// Text by columns.
#include "cli/console/text.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <set>

#include "cli/console/controls.h"

namespace memprof::cli {
namespace {

bool StartsCodePoint(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

constexpr std::string_view kIn = ", in ";

// "train.py:51" of "main (train.py:51)", "NCCL for train.py:51" of "NCCL for main (train.py:51)".
std::string WithoutFunction(std::string_view frame) {
  constexpr std::string_view kFor = " for ";
  const std::size_t open = frame.rfind(" (");
  if (open == std::string_view::npos || !frame.ends_with(')')) return std::string(frame);
  const std::size_t at = frame.substr(0, open).find(kFor);
  return Cat(at == std::string_view::npos ? "" : frame.substr(0, at + kFor.size()),
             frame.substr(open + 2, frame.size() - open - 3));
}

// The parts of a SiteLabel() that is too wide.
struct SiteParts {
  std::string_view user, cut;  // of "main (train.py:51), in forward (gpt2.py:9)"
  // "main (train.py:51), in ", or without the function, as `width` allows. Empty if the site is one
  // frame, or if the user's frame is too long even so.
  std::string kept;
};
SiteParts PartsOf(std::string_view site, std::size_t width) {
  constexpr std::size_t kEnough = 16;  // for the end of a path and a line
  SiteParts parts;
  const std::size_t in = site.find(kIn);
  if (in == std::string_view::npos || Columns(site) <= width) return parts;
  parts.user = site.substr(0, in);
  parts.cut = site.substr(in + kIn.size());
  for (const std::string& user : {std::string(parts.user), WithoutFunction(parts.user)}) {
    parts.kept = Cat(user, kIn);
    if (Columns(parts.kept) + kEnough <= width) return parts;
  }
  parts.kept.clear();
  return parts;
}

// Cuts each text to `width`, after the first difference that can be shown.
std::vector<std::string> CutWhereTheyDiffer(const std::vector<std::string_view>& texts,
                                            std::size_t width) {
  const std::string_view first = texts[0];
  std::size_t same = first.size();
  for (const std::string_view text : texts) {
    const auto [a, b] = std::mismatch(first.begin(), first.end(), text.begin(), text.end());
    if (b != text.end() || a != first.end())
      same = std::min(same, static_cast<std::size_t>(a - first.begin()));
  }
  while (same > 0 && same < first.size() && !StartsCodePoint(first[same])) --same;
  const std::size_t head = std::min(Columns(first.substr(0, same)), width / 3);
  std::vector<std::string> cut;
  for (const std::string_view text : texts)
    cut.push_back(Cat(CutEnd(text.substr(0, same), head),
                      CutMiddle(text.substr(same), width - head, (width - head) / 2)));
  return cut;
}

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
  if (Columns(site) <= width) return std::string(site);
  const SiteParts parts = PartsOf(site, width);
  return parts.kept.empty() ? CutMiddle(site, width)
                            : Cat(parts.kept, CutFront(parts.cut, width - Columns(parts.kept)));
}

std::vector<std::string> CutApart(const std::vector<std::string>& cells, std::size_t width) {
  std::vector<std::string> cut;
  std::map<std::string, std::vector<std::size_t>> alike;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cut.push_back(CutSite(cells[i], width));
    alike[cut.back()].push_back(i);
  }
  for (const auto& [shown, rows] : alike) {
    SiteParts parts = PartsOf(cells[rows[0]], width);
    bool differ = false;
    for (const std::size_t row : rows) {
      differ |= cells[row] != cells[rows[0]];
      // Sites with the same user's line differ in what follows it.
      if (PartsOf(cells[row], width).user != parts.user) parts.kept.clear();
    }
    if (!differ) continue;
    std::vector<std::string_view> texts;
    for (const std::size_t row : rows)
      texts.push_back(parts.kept.empty() ? cells[row] : PartsOf(cells[row], width).cut);
    const std::vector<std::string> distinct =
        CutWhereTheyDiffer(texts, width - Columns(parts.kept));
    for (std::size_t i = 0; i < distinct.size(); ++i) cut[rows[i]] = Cat(parts.kept, distinct[i]);
  }
  // Texts that still look alike become too wide rather than equal.
  std::map<std::string, std::set<std::string>> distinct;
  for (std::size_t i = 0; i < cells.size(); ++i) distinct[cut[i]].insert(cells[i]);
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (distinct.at(cut[i]).size() > 1) cut[i] = cells[i];
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
