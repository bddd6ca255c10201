// Entries of a legend in rows.
#include "viewer/geometry/timeline_legend.h"

#include <algorithm>

namespace memprof::viewer {

LegendLayout LayOutLegend(std::span<const double> widths, const LegendSpace& space) {
  LegendLayout layout;
  layout.height = space.first_height;
  double x = space.left, y = 0, height = space.first_height, right = space.first_right;
  const double full = std::max(1.0, space.right - space.left);
  for (const double wanted : widths) {
    const double width = std::min(wanted, full);
    if (x + width > right && (x > space.left || right < space.right)) {
      y += height;
      height = space.row_height;
      right = space.right;
      x = space.left;
      layout.height = y + height;
    }
    layout.boxes.emplace_back(x, y, width, height);
    x += width;
  }
  return layout;
}

}  // namespace memprof::viewer
