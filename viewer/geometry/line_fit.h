// Pieces of one line that must fit into a width: names are shortened, then groups are left out.
// Pure; thread-safe.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace memprof::viewer {

struct LinePiece {
  double width = 0;
  double least = 0;  // the piece may be shortened to this; == width: it may not
  int group = 0;     // > 0: may be left out, the highest group first
};

// The width of each piece; 0 for those that are left out. Pieces that are shortened get the same
// width, as large as possible. If even group 0 is too wide, its names get their least width.
std::vector<double> FitLine(std::span<const LinePiece> pieces, double room);

// How many of the columns that may go (their widths, in the order in which they go; 0 = this one is
// kept or not shown) must go for a table of this width to fit.
std::size_t ColumnsToGo(double width, std::span<const int> may_go, double room);

}  // namespace memprof::viewer
