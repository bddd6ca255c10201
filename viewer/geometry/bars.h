// Bars of a small chart: the survivors of a leak by the step of their birth. Pure; thread-safe.
#pragma once

#include <QRectF>
#include <span>
#include <vector>

#include "analysis/leaks/leaks.h"

namespace memprof::viewer {

struct SurvivorBar {
  std::int64_t first_step = 0, last_step = 0;  // steps that share the bar
  std::uint64_t bytes = 0, blocks = 0;
  bool evidence = true;  // false: too young to be evidence
  QRectF rect;
};

// One bar per step of [0, steps), or per group of steps if bars would be narrower than `min_bar`
// pixels. Births before step 0 count in step 0. The highest bar is as high as the area. Steps of
// the last `guard_steps` are not evidence.
std::vector<SurvivorBar> LayOutSurvivors(std::span<const analysis::BirthStep> survivors,
                                         std::int64_t steps, std::int64_t guard_steps, QRectF area,
                                         double min_bar);

}  // namespace memprof::viewer
