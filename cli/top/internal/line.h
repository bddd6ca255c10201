// A line of a page, which is cut where the terminal ends, whatever its colours.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/console/terminal.h"
#include "cli/console/text.h"

namespace memprof::cli {

class Line {
 public:
  Line& Add(std::string_view text, Style style = Style::kPlain) {
    columns_ += Columns(text);
    pieces_.emplace_back(style, text);
    return *this;
  }
  // In a field of its own, after a space: at its right end for a positive width, else at its left.
  Line& Field(std::string_view text, int width, Style style = Style::kPlain) {
    const std::size_t size = width < 0 ? -width : width, used = Columns(text);
    const std::string pad(size > used ? size - used : 0, ' ');
    Add(" ");
    return width < 0 ? Add(text, style).Add(pad) : Add(pad).Add(text, style);
  }
  std::size_t columns() const { return columns_; }

  // At most `width` columns, without spaces at the end.
  std::string Text(std::size_t width) const {
    std::string line;
    std::size_t left = width;
    std::size_t blanks = 0;
    for (const auto& [style, piece] : pieces_) {
      if (left == 0) break;
      std::string text = CutEnd(piece, left);
      left -= Columns(text);
      const std::size_t last = text.find_last_not_of(' ');
      if (last == std::string::npos) {
        blanks += text.size();
        continue;
      }
      line.append(blanks, ' ');
      blanks = text.size() - last - 1;
      line += Styled(style, text.substr(0, last + 1));
    }
    return line;
  }

 private:
  std::vector<std::pair<Style, std::string>> pieces_;
  std::size_t columns_ = 0;
};

}  // namespace memprof::cli
