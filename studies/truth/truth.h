// How often analysis agrees with what a program states itself: its marks against the steps found
// from its allocations, and the names of its tensors against the categories from all other
// evidence.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "analysis/categories/categories.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"

namespace memprof::truth {

struct StepScore {
  std::size_t marked = 0, found = 0;
  // found steps that begin at exactly the allocation at which a marked one does
  std::size_t right = 0;
  double confidence = 0;
};
StepScore ScoreSteps(const analysis::Session& session);

// The evidence that analysis may use.
struct Evidence {
  std::string_view name;
  analysis::CategoryOptions options;
  bool marks = true;  // otherwise steps are found from the allocations
};
// From everything except names down to sizes and lifetimes only.
std::vector<Evidence> EvidenceLeft();

// Bytes of tensors whose names state their category.
struct CategoryScore {
  std::uint64_t right = 0, total = 0;
  // By true category, then by the wrong category.
  std::array<std::array<std::uint64_t, analysis::kCategoryCount>, analysis::kCategoryCount>
      mistaken{};

  double Share() const {
    return total == 0 ? 1 : static_cast<double>(right) / static_cast<double>(total);
  }
};
struct CategoryScores {
  CategoryScore at_peaks;  // at the peaks of all devices
  CategoryScore of_run;    // of all allocations of the run
};
CategoryScores ScoreCategories(const analysis::Session& session, analysis::Symbols& symbols,
                               const Evidence& evidence);

}  // namespace memprof::truth
