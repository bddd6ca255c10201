// One colour for a call site.
#include "viewer/models/site_colors.h"

#include <algorithm>

namespace memprof::viewer {

std::vector<int> SiteColors::Of(const QStringList& keys) {
  const std::lock_guard lock(mutex_);
  std::vector<int> colors(static_cast<std::size_t>(keys.size()), -1);
  const std::size_t shown = std::min<std::size_t>(colors.size(), kColors);
  bool taken[kColors] = {};
  for (std::size_t i = 0; i < shown; ++i) {
    const auto known = known_.constFind(keys[static_cast<qsizetype>(i)]);
    if (known == known_.constEnd() || taken[*known]) continue;
    colors[i] = *known;
    taken[*known] = true;
  }
  for (std::size_t i = 0; i < shown; ++i) {
    if (colors[i] >= 0) continue;
    int color = -1;
    for (int c = 0; c < kColors; ++c)
      if (!taken[c] && (color < 0 || given_[c] < given_[color])) color = c;
    colors[i] = color;
    taken[color] = true;
    const QString& key = keys[static_cast<qsizetype>(i)];
    if (known_.contains(key)) continue;
    known_.insert(key, color);
    ++given_[color];
  }
  return colors;
}

}  // namespace memprof::viewer
