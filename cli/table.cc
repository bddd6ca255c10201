// Measures and pads cells.
#include "cli/table.h"

#include <algorithm>

#include "cli/terminal.h"
#include "cli/text.h"

namespace memprof::cli {
namespace {

constexpr std::size_t kGap = 2;

std::string Pad(const std::string& cell, std::size_t width, Align align) {
  const std::size_t columns = Columns(cell);
  const std::string spaces(width > columns ? width - columns : 0, ' ');
  return align == Align::kRight ? spaces + cell : cell + spaces;
}

}  // namespace

std::string Table::Text(std::size_t width) const {
  std::vector<std::size_t> widths(columns_.size(), 0);
  const auto measure = [&widths](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < std::min(cells.size(), widths.size()); ++i) {
      widths[i] = std::max(widths[i], Columns(cells[i]));
    }
  };
  measure(header_);
  for (const auto& row : rows_) measure(row);

  const auto line = [this, &widths, width](const std::vector<std::string>& cells) {
    std::string text(indent_, ' ');
    std::size_t used = indent_;
    for (std::size_t i = 0; i < std::min(cells.size(), widths.size()); ++i) {
      const bool last = i + 1 == widths.size() || i + 1 == cells.size();
      std::string cell = cells[i];
      if (last && used + Columns(cell) > width) {
        cell = CutEnd(cell, width > used + 8 ? width - used : 8);
      }
      text += Pad(cell, widths[i], columns_[i]);
      if (!last) text.append(kGap, ' ');
      used += widths[i] + kGap;
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    return text;
  };
  std::string text;
  if (!header_.empty()) Append(text, Styled(Style::kDim, line(header_)), '\n');
  for (const auto& row : rows_) Append(text, line(row), '\n');
  return text;
}

}  // namespace memprof::cli
