// Measures and pads cells.
#include "cli/console/table.h"

#include <algorithm>

#include "cli/console/terminal.h"
#include "cli/console/text.h"

namespace memprof::cli {
namespace {

constexpr std::size_t kGap = 2;

std::string Pad(const std::string& cell, std::size_t width, Align align) {
  const std::size_t columns = Columns(cell);
  const std::string spaces(width > columns ? width - columns : 0, ' ');
  return align == Align::kRight ? spaces + cell : cell + spaces;
}

}  // namespace

// The last column, cut to the remaining width, or wrapped in it.
std::vector<std::string> Table::LastCells(const std::vector<std::size_t>& widths,
                                          std::size_t width) const {
  std::size_t used = indent_;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) used += widths[i] + kGap;
  std::vector<std::string> cells;
  for (const auto& row : rows_)
    cells.push_back(row.size() == widths.size() && !row.empty() ? row.back() : "");
  if (!wraps_last_) return CutApart(cells, width > used + 8 ? width - used : 8);
  for (std::string& cell : cells)
    cell = Wrap(Cat(std::string(used, '.'), cell), std::max(width, used + 8), used).substr(used);
  return cells;
}

std::string Table::Text(std::size_t width) const {
  std::vector<std::size_t> widths(columns_.size(), 0);
  const auto measure = [&widths](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < std::min(cells.size(), widths.size()); ++i) {
      widths[i] = std::max(widths[i], Columns(cells[i]));
    }
  };
  measure(header_);
  for (const auto& row : rows_) measure(row);
  const std::vector<std::string> last_cells = LastCells(widths, width);

  const auto line = [&](const std::vector<std::string>& cells, const std::string* fitting) {
    std::string text(indent_, ' ');
    for (std::size_t i = 0; i < std::min(cells.size(), widths.size()); ++i) {
      const bool last = i + 1 == widths.size() || i + 1 == cells.size();
      std::string cell = cells[i];
      if (last && fitting != nullptr && i + 1 == widths.size()) cell = *fitting;
      text += Pad(cell, widths[i], columns_[i]);
      if (!last) text.append(kGap, ' ');
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    return text;
  };
  std::string text;
  if (!header_.empty()) Append(text, Styled(Style::kDim, line(header_, nullptr)), '\n');
  for (std::size_t i = 0; i < rows_.size(); ++i) Append(text, line(rows_[i], &last_cells[i]), '\n');
  return text;
}

}  // namespace memprof::cli
