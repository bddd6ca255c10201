// `memprof peak --what-if`: the exact peak if allocations had other sizes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/peak/resizing.h"
#include "analysis/peak/savings.h"
#include "analysis/store/session.h"
#include "cli/console/json.h"

namespace memprof::cli {

// Parses "Linear::Forward=0.5". Errors (kInvalidArgument): no "=", no text, no factor from 0 to
// 1000.
absl::StatusOr<analysis::SizeRule> ParseSizeRule(std::string_view argument);
absl::StatusOr<std::vector<analysis::SizeRule>> ParseSizeRules(
    const std::vector<std::string>& arguments);

// The new peaks of `device`.
std::string WhatIfText(const analysis::Session& session, const analysis::Resizing& resizing,
                       const analysis::PeakSavings& savings, int device);
Json WhatIfJson(const analysis::Session& session, const analysis::Resizing& resizing,
                const analysis::PeakSavings& savings, int device);

}  // namespace memprof::cli
