// Where the entries of a legend lie: in rows, as many as it takes, none over another and none cut
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

// Entries as wide as they would like to be; what is wider than a row is as wide as the row, and
// what does not fit beside those before begins a row of its own.
LegendLayout LayOutLegend(std::span<const double> widths, const LegendSpace& space);

}  // namespace memprof::viewer
