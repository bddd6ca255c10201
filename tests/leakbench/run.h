// One run: a log in which every case is one site, what memprof says of it, and what older methods
// say of the same lives.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/leakbench/cases.h"

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

// All cases with numbers drawn from `seed`. With `accesses`, the log has what kernels were given.
// The run is cut off after `until` steps, if that is given: what was drawn stays the same. Empty
// when the log cannot be read.
std::vector<Sample> Run(std::uint32_t seed, int steps, bool accesses, int until = 0);

}  // namespace memprof::leakbench
