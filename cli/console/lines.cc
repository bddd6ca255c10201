// Lines that many reports share.
#include "cli/console/lines.h"

#include <algorithm>

#include "analysis/base/units.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"

namespace memprof::cli {

std::string Heading(std::string_view title) { return Cat("\n", Styled(Style::kBold, title), "\n"); }

std::string Paragraph(std::string_view words, std::size_t indent) {
  const std::string text = Wrap(Cat(std::string(indent, '.'), words), kWidth, indent);
  return Cat(std::string(indent, ' '), text.substr(indent), "\n");
}

std::size_t Shown(std::size_t total, std::size_t top) {
  return top == 0 ? total : std::min(top, total);
}

std::string MoreLine(std::size_t shown, std::size_t total) {
  if (shown >= total) return "";
  return Styled(Style::kDim,
                Cat("  … and ", analysis::FormatCount(total - shown), " more (--top=0 for all)")) +
         "\n";
}

std::string Percent(double part, double whole) {
  return whole <= 0 ? "-" : analysis::FormatPercent(part / whole);
}

}  // namespace memprof::cli
