// Matches the call sites of two runs: by the names of functions, never by address. Method:
// docs/diff.md.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

// How a place was matched; the weakest match of its stacks.
enum class MatchKind {
  kLines,      // functions and lines agree
  kFunctions,  // the functions agree
  kFolded,     // they agree except for functions that only one of the runs has
};

// A place in the program, of one run or of both.
struct AlignedPlace {
  SourceFrame site;       // from the second run, if it has the place
  StackId before, after;  // a stack of each run; none if the run does not have the place
  MatchKind match = MatchKind::kLines;
};

struct StackAlignment {
  static constexpr std::uint32_t kNone = 0xffffffff;

  std::vector<AlignedPlace> places;
  // By stack of each run, the last entry for allocations without a stack: a row of `places`; kNone
  // for stacks that allocate nothing.
  std::vector<std::uint32_t> before, after;

  static std::uint32_t Of(const std::vector<std::uint32_t>& rows, StackId stack) {
    return stack.value < rows.size() ? rows[stack.value] : rows.back();
  }
};

// Aligns the stacks of all allocations but tensors. Both sessions may be the same.
StackAlignment AlignStacks(const Session& before, Symbols& before_symbols, const Session& after,
                           Symbols& after_symbols);

}  // namespace memprof::analysis
