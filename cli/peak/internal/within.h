// `memprof peak --within`: the peak while named ranges were open.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/peak/within.h"
#include "analysis/symbols/symbols.h"
#include "cli/console/json.h"

namespace memprof::cli {

struct Within {
  std::vector<std::string> ranges;            // their names
  std::vector<analysis::TimeWindow> times;    // in which all of them were open
  std::vector<analysis::UsePeak> peaks = {};  // the highest first
};
// Of all devices, or of one. Errors: kNotFound, with one line.
absl::StatusOr<Within> FindWithin(const analysis::Session& session,
                                  const std::vector<std::string>& ranges, std::int64_t device);

std::string WithinText(const analysis::Session& session, analysis::Symbols& symbols,
                       const Within& within, std::size_t top);
Json WithinJson(const analysis::Session& session, analysis::Symbols& symbols, const Within& within,
                std::size_t top);

}  // namespace memprof::cli
