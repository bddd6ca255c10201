// A program whose requests grow with its input, on an allocator that works like PyTorch's. The
// expected contents of its log are known without a GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/allocators/caching.h"
#include "analysis/testing/log_builder.h"

namespace memprof::analysis::testing {

// One request, made in every step.
struct ToyRequest {
  int site = 0;                                    // function "F<site>"
  double per_square = 0, per_unit = 0, fixed = 0;  // bytes = per_square · b² + per_unit · b + fixed
  int lives = 1;            // freed after so many more requests, or at the end of the step
  bool only_above = false;  // only with inputs above 10
};

struct ToyProgram {
  std::vector<ToyRequest> requests;
  int steps = 3;
  bool caching = true;   // blocks of a caching allocator; else driver memory for each
  bool asked = true;     // its log has the requested sizes; else only those of blocks, as PyTorch's
  bool empties = false;  // releases cached memory after every step
  std::uint64_t outside_fixed = 0, outside_per_unit = 0;  // driver memory besides the allocator's

  static ToyProgram Random(std::uint32_t seed, bool quadratic = false);
};

struct ToyPeaks {
  std::uint64_t driver = 0, reserved = 0, requested = 0;
  bool failed = false;
};

// Runs with an input of `batch`. Writes to `log`, if not null, what a recorder would write. Returns
// the peaks. With a `capacity`, a request may fail, which ends the run.
ToyPeaks RunToy(const ToyProgram& program, std::uint64_t batch, LogBuilder* log,
                std::uint64_t capacity = allocators::kUnlimited);

}  // namespace memprof::analysis::testing
