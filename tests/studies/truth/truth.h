// How often analysis is right where a program says the truth: its marks against the steps that the
// pattern of its allocations shows, and the names of its tensors against the categories that all
// other evidence gives.
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
  std::size_t right = 0;  // found ones that begin at the very allocation at which a marked one does
  double confidence = 0;
};
StepScore ScoreSteps(const analysis::Session& session);

// What is left to conclude from.
struct Evidence {
  std::string_view name;
  analysis::CategoryOptions options;
  bool marks = true;  // otherwise the steps are those that the pattern shows
};
// From all but names down to nothing but sizes and lifetimes.
std::vector<Evidence> EvidenceLeft();

// Bytes of tensors whose names say what they are.
struct CategoryScore {
  std::uint64_t right = 0, total = 0;
  // By truth, then by what was said instead.
  std::array<std::array<std::uint64_t, analysis::kCategoryCount>, analysis::kCategoryCount>
      mistaken{};

  double Share() const {
    return total == 0 ? 1 : static_cast<double>(right) / static_cast<double>(total);
  }
};
struct CategoryScores {
  CategoryScore at_peaks;  // of all devices
  CategoryScore of_run;    // of all that the run asked for
};
CategoryScores ScoreCategories(const analysis::Session& session, analysis::Symbols& symbols,
                               const Evidence& evidence);

}  // namespace memprof::truth
