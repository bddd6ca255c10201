// The leak "extension": plain CUDA, as in a library without the framework.
#include <cuda_runtime_api.h>

#include "demo_trainer/error.h"
#include "demo_trainer/leaks/leaks.h"

namespace memprof::demo {

DEMO_NOINLINE void ExtensionScratch(Device& device) {
  device.Select();
  void* scratch = nullptr;
  Check(cudaMalloc(&scratch, kExtensionBytes), "allocating the extension's scratch memory");
  Check(cudaMemsetAsync(scratch, 0, kExtensionBytes, device.compute_stream()),
        "clearing the extension's scratch memory");
}

}  // namespace memprof::demo
