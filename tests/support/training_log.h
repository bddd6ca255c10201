// Realistic logs of training: layers, micro-batches, evaluations, an optimizer; with or without
// marks and ranges. Every step begins with the upload of a batch.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "analysis/testing/log_builder.h"

namespace memprof::analysis::testing {

struct TrainingOptions {
  std::uint32_t seed = 1;
  int steps = 12;
  int layers = 3;
  int tensors_per_layer = 4;
  int micro_batches = 1;
  int evaluate_every = 0;       // 0 = never
  bool leak = false;            // some memory in every step
  bool keep_gradients = false;  // from one step to the next
  bool vary_batch = false;      // a different number of rows in each step
  bool stacks = true;
  bool marks = false;
  std::string range;  // around each step, followed by the step's number; "" = none
  bool optimizer_range = false;
};

// The expected contents of the log: blocks allocated before each step, from the first step on.
struct TrainingTruth {
  std::vector<std::uint32_t> births_before_step;
};

// Writes blocks (no tensors) on device 0.
TrainingTruth WriteTrainingRun(const TrainingOptions& options, LogBuilder* log);

}  // namespace memprof::analysis::testing
