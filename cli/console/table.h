// Text tables with aligned columns.
#pragma once

#include <string>
#include <vector>

namespace memprof::cli {

enum class Align { kLeft, kRight };

// Rows of cells, printed with two spaces between columns. The last column is cut to fit, as sites
// are (text.h); different rows stay different. Or it is broken into lines.
class Table {
 public:
  explicit Table(std::vector<Align> columns, std::size_t indent = 2)
      : columns_(std::move(columns)), indent_(indent) {}
  void Header(std::vector<std::string> cells) { header_ = std::move(cells); }
  void Row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  void WrapLast() { wraps_last_ = true; }
  bool empty() const { return rows_.empty(); }
  // Lines of at most `width` columns, each ended by a newline.
  std::string Text(std::size_t width = 100) const;

 private:
  std::vector<std::string> LastCells(const std::vector<std::size_t>& widths,
                                     std::size_t width) const;

  std::vector<Align> columns_;
  std::size_t indent_;
  bool wraps_last_ = false;
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace memprof::cli
