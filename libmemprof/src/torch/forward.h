// The functions of PyTorch that ours stand in front of.
//
// Ours are found first because they are in the global scope; the real ones mostly are not: Python
// loads PyTorch with RTLD_LOCAL. Who calls decides which is meant.
#pragma once

#include "libmemprof/src/torch/functions.h"

namespace memprof::recorder {

enum class TorchFunction {
#define MEMPROF_TORCH_ID(identifier, name) identifier,
  MEMPROF_TORCH_FUNCTIONS(MEMPROF_TORCH_ID)
#undef MEMPROF_TORCH_ID
      kCount
};

// What a call from `caller`, a return address, would reach without us; null if nothing. `ours` is
// the function of that name here. Remembered for each caller. Takes the lock of the loader's list
// for a moment the first time, and the loader's big lock only where several libraries define the
// function.
void* RealTorchFunction(TorchFunction function, const void* caller, const void* ours);

}  // namespace memprof::recorder
