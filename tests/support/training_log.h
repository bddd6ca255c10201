// Logs of trainings as they happen: layers, micro-batches, evaluations, an optimizer; with marks
// and ranges or without. Every step begins with the upload of a batch.
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
  bool leak = false;            // a little in every step
  bool keep_gradients = false;  // from one step to the next
  bool vary_batch = false;      // in each step another number of rows
  bool stacks = true;
  bool marks = false;
  std::string range;  // around each step, with its number behind; "" = none
  bool optimizer_range = false;
};

// What the log should be found to hold: blocks born before each step, from the first on.
struct TrainingTruth {
  std::vector<std::uint32_t> births_before_step;
};

// Writes blocks (and no tensors) on device 0.
TrainingTruth WriteTrainingRun(const TrainingOptions& options, LogBuilder* log);

}  // namespace memprof::analysis::testing
