// One run: a log in which every case is one site, or one for each, what memprof says of it, and
// what older methods say of the same lives.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/studies/leakbench/cases.h"

namespace memprof::leakbench {

// One block of a site, in steps; -1 = before the first.
struct BlockLife {
  int birth = 0;
  int death = -1;  // -1 = alive at the end
  std::uint64_t bytes = 0;
  bool alive() const { return death < 0; }
};

// What memprof said of a site.
enum class Said { kNothing, kGrowing, kSuspected };

struct Sample {
  const Case* of = nullptr;
  int steps = 0;
  std::vector<BlockLife> blocks;
  Said said = Said::kNothing;
  bool site_right = false;    // of what was said: it names the case's function
  double bytes_per_step = 0;  // likewise
  double true_bytes_per_step = 0;
};

// What the log tells of steps.
enum class Steps {
  kMarked,     // all of it; all cases run side by side
  kUnmarked,   // only that each turn is like the others: a training loop around one case alone
  kNoPattern,  // nothing: a server, whose every request is another, around one case alone
};

struct RunOptions {
  Kinds kinds = Kinds::kDevelopment;
  Steps marks = Steps::kMarked;
  bool accesses = true;  // the log has what kernels were given
  int until = 0;         // the run is cut off after so many steps; what was drawn stays the same
};

// All cases with numbers drawn from `seed`. Empty when the log cannot be read.
std::vector<Sample> Run(std::uint32_t seed, int steps, const RunOptions& options = {});

}  // namespace memprof::leakbench
