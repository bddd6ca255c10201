// The remedies, each found by one function. A finder fills in what would change, and the sentences;
// what that saves is computed for all of them in one place (remedies.cc).
#pragma once

#include <string_view>
#include <vector>

#include "analysis/remedies/internal/training.h"
#include "analysis/remedies/remedies.h"

namespace memprof::analysis::remedies {

struct Input {
  const Session& session;
  Symbols& symbols;
  const Training& training;
};
using Found = std::vector<PeakRemedy>;

// Of the peak of blocks. `changes.gone` is in order.
PeakSaving SavingOf(const Input& input, const BlockChanges& changes);

// The innermost line of Python on a stack whose file contains `file`; no function if there is none.
SourceFrame PythonFrameIn(Symbols& symbols, StackId stack, std::string_view file);

// Temporaries of the optimizer's step, and its state.
void FindOptimizerRemedies(const Input& input, Found* found);
// Gradients that live through forward passes; two halves of the batch.
void FindGradientRemedies(const Input& input, Found* found);
// Logits and what the loss makes of them.
void FindLossRemedies(const Input& input, Found* found);
// Activations of modules that repeat.
void FindCheckpointing(const Input& input, Found* found);

}  // namespace memprof::analysis::remedies
