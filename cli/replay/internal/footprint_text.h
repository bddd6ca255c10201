// The output of `memprof footprint`, as text and as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/footprint/footprint.h"
#include "analysis/symbols/symbols.h"
#include "cli/console/json.h"

namespace memprof::cli {

// The query of one device, and its result.
struct FootprintAnswer {
  const analysis::Footprint* footprint = nullptr;
  std::vector<analysis::FootprintPrediction> predictions;
  // The capacity of the device; the program gets it less the overhead. 0 = unknown.
  std::uint64_t capacity = 0;
  bool capacity_given = false;
  analysis::FootprintLimit limit;  // if the capacity is known
};

// "constant", "linear", "quadratic", "irregular", "unknown".
std::string_view GrowthName(analysis::Growth growth);

// `logs`: the paths of the runs, by size of input. Tables of at most `top` rows (0 = all).
std::string FootprintText(const FootprintAnswer& answer, analysis::Symbols& symbols,
                          const std::vector<std::string>& logs, std::size_t top);
Json FootprintJson(const FootprintAnswer& answer, analysis::Symbols& symbols,
                   const std::vector<std::string>& logs, std::size_t top);

}  // namespace memprof::cli
