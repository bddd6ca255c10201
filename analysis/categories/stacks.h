// What call stacks say of the memory that was made there, with symbols and without.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/categories/units.h"
#include "analysis/categories/words.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

// Of every distinct stack of the units. Stacks that are not known are one, without facts.
class CategoryStacks {
 public:
  static constexpr std::uint32_t kNone = EventId::kNone;
  struct Facts {
    // The innermost frames that say anything, kNone without symbols.
    Phase phase = Phase::kNone;
    bool gradient = false, parameter = false;  // said by a frame within those of the phase
    bool backward = false;                     // said by any frame
    bool zeros = false;                        // made as zeros of another's shape
    // The innermost frame that at most a quarter of the stacks share (by position in the code, not
    // by name): where the memory is made for a purpose.
    std::uint32_t site = kNone;
    // The site together with its caller: work that is done again comes from elsewhere, but has
    // these in common with the first time.
    std::uint64_t leaf = 0;
  };

  // `symbols` may be null.
  CategoryStacks(const Session& session, Symbols* symbols, const std::vector<CategoryUnit>& units);

  // Whether stacks say which memory is of parameters, and which of a backward pass.
  bool tell_parameters() const { return tell_parameters_; }
  bool tell_backward() const { return tell_backward_; }

  const Facts& Of(StackId stack) const {
    return stack.value < row_.size() ? facts_[row_[stack.value]] : facts_[0];
  }

 private:
  std::vector<std::uint32_t> row_;  // by stack; 0 = no facts
  std::vector<Facts> facts_;
  bool tell_parameters_ = false, tell_backward_ = false;
};

}  // namespace memprof::analysis
