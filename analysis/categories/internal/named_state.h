// Parameters that the program named, and what follows for other names.
#pragma once

#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "analysis/categories/categories.h"

namespace memprof::analysis {

// Names that were given in a range of kParametersRange are parameters, whatever they are called.
// They determine others: "x.grad" is the gradient of the parameter x, "x.exp_avg" and the like are
// its optimizer state. Views the session's strings.
class NamedState {
 public:
  explicit NamedState(const Session& session);

  bool any() const { return !parameters_.empty(); }
  // kUnknown if the program did not name it.
  Category CategoryOf(std::string_view name) const;

 private:
  absl::flat_hash_set<std::string_view> parameters_;
};

}  // namespace memprof::analysis
