// Evidence in the call stacks of memory, with symbols and without.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/categories/units.h"
#include "analysis/categories/words.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

// For every distinct stack of the units. Unknown stacks share one row without evidence.
class CategoryStacks {
 public:
  static constexpr std::uint32_t kNone = EventId::kNone;
  struct Facts {
    // The phase of the innermost frame that has one; kNone without symbols.
    Phase phase = Phase::kNone;
    bool gradient = false, parameter = false;  // from a frame within those of the phase
    bool backward = false;                     // from any frame
    // allocated as zeros with the shape of another tensor
    bool zeros = false;
    // The innermost frame that at most a quarter of the stacks share (by position in the code, not
    // by name): the function that allocates for a purpose.
    std::uint32_t site = kNone;
    // The site with its caller: recomputed work has another path, but shares these with the first
    // time.
    std::uint64_t leaf = 0;
  };

  // `symbols` may be null.
  CategoryStacks(const Session& session, Symbols* symbols, std::span<const CategoryUnit> units);

  // Whether stacks identify which memory belongs to parameters, and which to a backward pass.
  bool identify_parameters() const { return identify_parameters_; }
  bool identify_backward() const { return identify_backward_; }

  const Facts& Of(StackId stack) const {
    return stack.value < row_.size() ? facts_[row_[stack.value]] : facts_[0];
  }

 private:
  std::vector<std::uint32_t> row_;  // by stack; 0 = no facts
  std::vector<Facts> facts_;
  bool identify_parameters_ = false, identify_backward_ = false;
};

}  // namespace memprof::analysis
