// Comparisons as Markdown.
#include "cli/diff/internal/diff_markdown.h"

#include <cctype>
#include <vector>

#include "analysis/base/units.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/diff/internal/diff_rows.h"

namespace memprof::cli {
namespace {

std::string Row(const std::vector<std::string>& cells) {
  std::string text = "|";
  for (const std::string& cell : cells) Append(text, " ", MarkdownText(cell), " |");
  return text + "\n";
}

// "peak, device 0: 1.75 GiB, then 458 MiB (-74.4 %)"; the first figure of the report.
std::string Headline(const std::vector<FigureRow>& rows) {
  if (rows.empty()) return "no device memory";
  const FigureRow& row = rows.front();
  if (row[3] == "=") return Cat(row[0], ": ", row[2], ", as before");
  return Cat(row[0], ": ", row[1], ", then ", row[2], row[4].empty() ? "" : Cat(" (", row[4], ")"));
}

}  // namespace

std::string MarkdownText(std::string_view text) {
  static constexpr std::string_view kPlain = " .,:()/-+%=?'";
  std::string escaped;
  for (const char c : Printable(std::string(text))) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::ispunct(byte) == 0 || kPlain.find(c) != std::string_view::npos) {
      escaped += c;
    } else {
      Append(escaped, "&#", static_cast<int>(byte), ";");
    }
  }
  return escaped;
}

std::string DiffMarkdown(const analysis::DiffReport& report, const DiffSides& sides,
                         std::uint64_t threshold, std::size_t top) {
  const std::vector<FigureRow> figures = FigureRows(report, sides.moments);
  std::string text = Cat("### GPU memory: ", MarkdownText(Headline(figures)), "\n");
  if (!figures.empty()) {
    Append(text, "\n| | before | after | change | | |\n|---|--:|--:|--:|--:|---|\n");
    for (const FigureRow& row : figures) Append(text, Row(row));
  }
  const SiteRows sites = MakeSiteRows(report, sides.moments, threshold, top);
  if (!sites.rows.empty()) {
    Append(text, "\n<details><summary>", SitesTitle(sides),
           "</summary>\n\n| change | before | after | blocks | | site |\n",
           "|--:|--:|--:|--:|---|---|\n");
    for (const std::vector<std::string>& row : sites.rows) Append(text, Row(row));
    if (const std::size_t more = sites.total - sites.rows.size(); more > 0)
      Append(text, "\n", analysis::FormatNumberOf(more, "more site"), ".\n");
    if (sites.small > 0)
      Append(text, "\n", analysis::FormatNumberOf(sites.small, "site"), " changed by less than ",
             analysis::FormatBytes(threshold), ".\n");
    Append(text, "\n</details>\n");
  } else {
    Append(text, "\nNo call site holds more or less.\n");
  }
  return Cat(text, "\nBefore: ", MarkdownText(sides.before), "; after: ", MarkdownText(sides.after),
             ".\n");
}

}  // namespace memprof::cli
