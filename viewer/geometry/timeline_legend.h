// The positions of the entries of a legend: in as many rows as needed, without overlaps, none cut
// off. Pure; thread-safe.
#pragma once

#include <QRectF>
#include <span>
#include <vector>

namespace memprof::viewer {

struct LegendSpace {
  double left = 0, right = 0;  // of every row
  double first_right = 0;      // of the first row, which may be shorter
  double first_height = 0;     // of the first row
  double row_height = 0;       // of the others
};

struct LegendLayout {
  std::vector<QRectF> boxes;  // one for each entry
  double height = 0;
};

// Each entry has its preferred width, at most that of a row; an entry that does not fit beside the
// previous ones begins a new row.
LegendLayout LayOutLegend(std::span<const double> widths, const LegendSpace& space);

}  // namespace memprof::viewer
