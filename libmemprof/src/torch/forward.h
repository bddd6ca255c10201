// The functions of PyTorch that ours interpose.
//
// Ours are found first because they are in the global scope. The real ones mostly are not: Python
// loads PyTorch with RTLD_LOCAL. So the right definition depends on the caller.
#pragma once

#include "libmemprof/src/torch/functions.h"

namespace memprof::recorder {

enum class TorchFunction {
#define MEMPROF_TORCH_ID(identifier, name) identifier,
  MEMPROF_TORCH_FUNCTIONS(MEMPROF_TORCH_ID)
#undef MEMPROF_TORCH_ID
      kCount
};

// The function that a call from `caller`, a return address, would reach without the recorder; null
// if there is none. `ours`: the function of that name here. The result is cached for each caller.
// The first time it takes the lock of the loader's list for a moment, and the loader's main lock
// only if several libraries define the function.
void* RealTorchFunction(TorchFunction function, const void* caller, const void* ours);

// The exported functions, in the order of TorchFunction.
void SetTorchFunctions(void* const* ours);

// For a recorder that was loaded after PyTorch: makes the calls of PyTorch's libraries reach ours,
// and leads them back. One thread at a time. Again after more libraries were loaded.
void RedirectTorch();
void RestoreTorch();

}  // namespace memprof::recorder
