// The exact peak if allocations had other sizes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analysis/peak/savings.h"

namespace memprof::analysis {

// What has `text` in the name of its call site, or of a tensor in it, would have `factor` times its
// size; 0 = would not be.
struct SizeRule {
  std::string text;
  double factor = 0;
};

class Resizing {
 public:
  // `name_of`: the name of a call site. The first rule that fits an allocation counts. What an
  // allocator suballocates is not resized: what its segments would be depends on the allocator.
  Resizing(const Session& session, const std::function<std::string(StackId)>& name_of,
           std::vector<SizeRule> rules);

  const std::vector<SizeRule>& rules() const { return rules_; }
  // How many allocations `rule` resizes.
  std::uint64_t Matches(std::size_t rule) const { return matches_[rule]; }
  // Whether anything that counts for a peak has another size.
  bool Changes(int device, PeakLayer of) const;
  // What becomes of that peak.
  PeakSaving NewPeak(const PeakSavings& savings, int device, PeakLayer of) const;

 private:
  const Session& session_;
  std::vector<SizeRule> rules_;
  std::vector<std::uint64_t> matches_;
  std::vector<float> factor_;  // by allocation
};

}  // namespace memprof::analysis
