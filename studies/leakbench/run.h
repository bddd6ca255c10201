// One run: a log in which each case is one site, or one log for each case; memprof's result for it;
// and the results of older methods for the same lives.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "studies/leakbench/cases.h"

namespace memprof::leakbench {

// One block of a site; times are steps, -1 = before the first.
struct BlockLife {
  int birth = 0;
  int death = -1;  // -1 = live at the end
  std::uint64_t bytes = 0;
  bool alive() const { return death < 0; }
};

// memprof's verdict for a site.
enum class Said { kNothing, kGrowing, kSuspected };

struct Sample {
  const Case* of = nullptr;
  int steps = 0;
  std::vector<BlockLife> blocks;
  Said said = Said::kNothing;
  bool site_right = false;    // the reported site is the case's function
  double bytes_per_step = 0;  // as reported
  double true_bytes_per_step = 0;
};

// What the log shows about steps.
enum class Steps {
  kMarked,     // step marks; all cases run side by side
  kUnmarked,   // no marks, but similar iterations: a training loop around a single case
  kNoPattern,  // no steps: a server with requests that all differ, around a single case
};

struct RunOptions {
  Kinds kinds = Kinds::kDevelopment;
  Steps marks = Steps::kMarked;
  bool accesses = true;  // the log contains arguments of kernels
  // the run is truncated after so many steps; random parameters stay the same
  int until = 0;
};

// All cases with numbers drawn from `seed`. Empty when the log cannot be read.
std::vector<Sample> Run(std::uint32_t seed, int steps, const RunOptions& options = {});

}  // namespace memprof::leakbench
