// Bars of a small chart of survivors by the step of their birth.
#include "viewer/geometry/bars.h"

#include <algorithm>
#include <cmath>

namespace memprof::viewer {

std::vector<SurvivorBar> LayOutSurvivors(std::span<const analysis::BirthStep> survivors,
                                         std::int64_t steps, std::int64_t guard_steps, QRectF area,
                                         double min_bar) {
  std::vector<SurvivorBar> bars;
  for (const analysis::BirthStep& birth : survivors) steps = std::max(steps, birth.step + 1);
  if (steps <= 0 || area.width() <= 0 || area.height() <= 0) return bars;
  const double wanted = std::max(1.0, std::floor(area.width() / std::max(min_bar, 0.1)));
  const auto group = static_cast<std::int64_t>(std::ceil(static_cast<double>(steps) / wanted));
  const std::int64_t count = (steps + group - 1) / group;
  const double width = area.width() / static_cast<double>(count);
  for (std::int64_t i = 0; i < count; ++i) {
    SurvivorBar bar;
    bar.first_step = i * group;
    bar.last_step = std::min(steps, (i + 1) * group) - 1;
    bar.evidence = bar.first_step < steps - guard_steps;
    bars.push_back(bar);
  }
  std::uint64_t highest = 0;
  for (const analysis::BirthStep& birth : survivors) {
    SurvivorBar& bar =
        bars[static_cast<std::size_t>(std::max<std::int64_t>(birth.step, 0) / group)];
    bar.bytes += birth.bytes;
    bar.blocks += birth.blocks;
    highest = std::max(highest, bar.bytes);
  }
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const double share =
        highest > 0 ? static_cast<double>(bars[i].bytes) / static_cast<double>(highest) : 0;
    const double height = area.height() * share;
    bars[i].rect =
        QRectF(area.left() + static_cast<double>(i) * width, area.bottom() - height, width, height);
  }
  return bars;
}

}  // namespace memprof::viewer
