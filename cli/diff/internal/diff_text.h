// Comparisons, as text and as JSON.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/diff/diff.h"
#include "cli/console/json.h"

namespace memprof::cli {

// What is compared, in words for headings: "a.mprof", or "the end of step 3".
struct DiffSides {
  std::string before, after;
  bool moments = false;
  bool at_end = false;  // of runs: sites are compared at the end in place of the peaks
};

// Changes of sites below `threshold` bytes are left out; tables have `top` rows (0 = all).
std::string DiffText(const analysis::DiffReport& report, const DiffSides& sides,
                     std::uint64_t threshold, std::size_t top);
// All that JSON says but for what every verb says.
Json DiffJson(const analysis::DiffReport& report, std::uint64_t threshold);  // without its steps
Json DiffStepJson(const analysis::DiffStep& step);

}  // namespace memprof::cli
