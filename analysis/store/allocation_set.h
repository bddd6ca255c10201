// A set of allocations of a session.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "analysis/base/types.h"

namespace memprof::analysis {

// Immutable once made, hence thread-safe.
class AllocationSet {
 public:
  explicit AllocationSet(std::vector<bool> chosen) : chosen_(std::move(chosen)) {}
  bool Has(AllocationId id) const { return id.value < chosen_.size() && chosen_[id.value]; }
  std::size_t size() const { return chosen_.size(); }  // of the session's allocations

 private:
  std::vector<bool> chosen_;
};

}  // namespace memprof::analysis
