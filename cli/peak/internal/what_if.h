// `memprof peak --what-if`: the exact peak if allocations had other sizes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/peak/savings.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"
#include "cli/console/json.h"

namespace memprof::cli {

// "Linear::Forward=0.5": what has TEXT in the name of its call site, or of a tensor in it, would
// have FACTOR times its size; 0 = would not be.
struct SizeRule {
  std::string text;
  double factor = 0;
};
// Errors (kInvalidArgument): no "=", no text, no factor from 0 to 1000.
absl::StatusOr<SizeRule> ParseSizeRule(std::string_view argument);
absl::StatusOr<std::vector<SizeRule>> ParseSizeRules(const std::vector<std::string>& arguments);

class WhatIf {
 public:
  // The first rule that fits an allocation counts. What an allocator suballocates is not resized:
  // what its segments would be depends on the allocator.
  WhatIf(const analysis::Session& session, analysis::Symbols& symbols, std::vector<SizeRule> rules);

  // How many allocations `rule` resizes.
  std::uint64_t Matches(std::size_t rule) const { return matches_[rule]; }
  const std::vector<SizeRule>& rules() const { return rules_; }

  // What becomes of the peaks of `device`.
  std::string Text(const analysis::PeakSavings& savings, int device) const;
  Json ToJson(const analysis::PeakSavings& savings, int device) const;

 private:
  bool Resizes(int device, analysis::PeakLayer of) const;
  analysis::PeakSaving NewPeak(const analysis::PeakSavings& savings, int device,
                               analysis::PeakLayer of) const;

  const analysis::Session& session_;
  std::vector<SizeRule> rules_;
  std::vector<std::uint64_t> matches_;
  std::vector<float> factor_;  // by allocation
};

}  // namespace memprof::cli
