// Compares two runs, or two moments of one, by category and by layer.
#pragma once

#include <array>
#include <cstdint>

#include "analysis/categories/categories.h"
#include "analysis/diff/diff.h"
#include "analysis/store/session.h"

namespace memprof::analysis {

struct DiffShare {
  std::uint64_t before = 0, after = 0;  // bytes, of all devices

  std::int64_t change() const { return static_cast<std::int64_t>(after - before); }
};

struct DiffGroups {
  std::array<DiffShare, kCategoryCount> categories{};  // by Category; sum to the driver's bytes
  std::array<DiffShare, kLayerCount> layers{};         // by Layer; layers contain each other
};

// Compares the memory live at each device's peak, or at the end.
DiffGroups GroupRuns(const Session& before, const Categories& before_categories,
                     const Session& after, const Categories& after_categories,
                     DiffMoment moment = DiffMoment::kPeak);
// The states after two events; none = before the first.
DiffGroups GroupMoments(const Session& session, const Categories& categories, EventId from,
                        EventId to);

}  // namespace memprof::analysis
