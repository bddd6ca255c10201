// Escaping, and tables.
#include "cli/export/internal/html.h"

#include "analysis/log/wire.h"
#include "cli/console/text.h"

namespace memprof::cli {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

// U+200E, U+200F, U+202A…U+202E, U+2066…U+2069: three bytes each.
bool TurnsDirection(std::string_view text) {
  if (text.size() < 3 || text[0] != '\xe2') return false;
  const auto middle = static_cast<unsigned char>(text[1]),
             last = static_cast<unsigned char>(text[2]);
  if (middle == 0x80) return last == 0x8e || last == 0x8f || (last >= 0xaa && last <= 0xae);
  return middle == 0x81 && last >= 0xa6 && last <= 0xa9;
}

}  // namespace

std::string EscapeHtml(std::string_view raw) {
  const std::string text = analysis::ValidUtf8(raw);
  std::string escaped;
  escaped.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    switch (c) {
      case '&':
        escaped += "&amp;";
        continue;
      case '<':
        escaped += "&lt;";
        continue;
      case '>':
        escaped += "&gt;";
        continue;
      case '"':
        escaped += "&quot;";
        continue;
      case '\'':
        escaped += "&#39;";
        continue;
      default:
        break;
    }
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f) {
      escaped += kReplacement;
    } else if (TurnsDirection(std::string_view(text).substr(i))) {
      escaped += kReplacement;
      i += 2;
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string WithoutColour(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\033' && i + 1 < text.size() && text[i + 1] == '[') {
      i = text.find('m', i);
      if (i == std::string_view::npos) break;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

HtmlTable::HtmlTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

void HtmlTable::BeginRow() {
  if (cell_++ % columns_.size() == 0) rows_ += "<tr>";
}

HtmlTable& HtmlTable::Text(std::string_view text) {
  BeginRow();
  Append(rows_, "<td>", EscapeHtml(text), "</td>");
  return *this;
}

HtmlTable& HtmlTable::Number(std::uint64_t value, std::string_view shown) {
  BeginRow();
  Append(rows_, "<td class=\"n\" data-v=\"", value, "\">", EscapeHtml(shown), "</td>");
  return *this;
}

std::string HtmlTable::Html() const {
  std::string html = "<table class=\"sortable\"><thead><tr>";
  for (const Column& column : columns_) {
    Append(html, column.kind == Kind::kNumber ? "<th class=\"n\">" : "<th>",
           EscapeHtml(column.title), "</th>");
  }
  Append(html, "</tr></thead><tbody>\n", rows_, "</tbody></table>\n");
  return html;
}

}  // namespace memprof::cli
