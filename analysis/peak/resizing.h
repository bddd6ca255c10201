// The exact peak if allocations had other sizes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analysis/peak/savings.h"

namespace memprof::analysis {

// Allocations with `text` in the name of their call site, or of a tensor in them, would have
// `factor` times their size; 0 = would not exist.
struct SizeRule {
  std::string text;
  double factor = 0;
};

class Resizing {
 public:
  // `name_of`: the name of a call site. The first rule that matches an allocation applies. Memory
  // that an allocator divides is not resized: the size of its segments would depend on the
  // allocator.
  Resizing(const Session& session, const std::function<std::string(StackId)>& name_of,
           std::vector<SizeRule> rules);

  const std::vector<SizeRule>& rules() const { return rules_; }
  // The number of allocations that `rule` resizes.
  std::uint64_t Matches(std::size_t rule) const { return matches_[rule]; }
  // Whether any allocation that counts for this peak is resized.
  bool Changes(int device, PeakLayer of) const;
  // The new peak.
  PeakSaving NewPeak(const PeakSavings& savings, int device, PeakLayer of) const;

 private:
  const Session& session_;
  std::vector<SizeRule> rules_;
  std::vector<std::uint64_t> matches_;
  std::vector<float> factor_;  // by allocation
};

}  // namespace memprof::analysis
