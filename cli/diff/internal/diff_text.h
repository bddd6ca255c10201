// Comparisons, as text and as JSON.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/diff/diff.h"
#include "cli/console/json.h"

namespace memprof::cli {

// The compared states as text for headings: "a.mprof", or "the end of step 3".
struct DiffSides {
  std::string before, after;
  bool moments = false;
  bool at_end = false;  // of runs: compares sites at the end instead of the peaks
};

// Leaves out changes of sites below `threshold` bytes; tables have `top` rows (0 = all).
std::string DiffText(const analysis::DiffReport& report, const DiffSides& sides,
                     std::uint64_t threshold, std::size_t top);
// The JSON without the part that all verbs share.
Json DiffJson(const analysis::DiffReport& report, std::uint64_t threshold);  // without its steps
Json DiffStepJson(const analysis::DiffStep& step);

}  // namespace memprof::cli
