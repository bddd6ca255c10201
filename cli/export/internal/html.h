// Pieces of HTML. Everything from a log is escaped as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/console/json.h"

namespace memprof::cli {

// `text` for the inside of an element or of a quoted attribute. Invalid UTF-8, control characters
// except line feeds, and characters that change the direction of writing become U+FFFD.
std::string EscapeHtml(std::string_view text);

// Removes the terminal's colours.
std::string WithoutColour(std::string_view text);

// A table that the reader can sort by columns.
class HtmlTable {
 public:
  enum class Kind { kText, kNumber };
  struct Column {
    std::string_view title;
    Kind kind = Kind::kText;
  };
  explicit HtmlTable(std::vector<Column> columns);

  // Cells of one row, in order. A number has a value to sort by and a text to show.
  HtmlTable& Text(std::string_view text);
  HtmlTable& Number(std::uint64_t value, std::string_view shown);
  void EndRow() { rows_ += "</tr>\n"; }
  bool empty() const { return rows_.empty(); }
  std::string Html() const;

 private:
  void BeginRow();
  std::vector<Column> columns_;
  std::string rows_;
  std::size_t cell_ = 0;
};

}  // namespace memprof::cli
