// A guest that carries its CUDA runtime within itself, as nvcc links it by default: the preloaded
// library sees no call of the runtime, only what that asks of the driver.
#include <cuda_runtime_api.h>

#include <cstdlib>

#include "expected.h"

namespace {

void Check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "%s: %d (%s)\n", what, static_cast<int>(result), cudaGetErrorName(result));
  std::exit(3);
}

}  // namespace

int main() {
  void* linear = nullptr;
  Check(cudaMalloc(&linear, 1000001), "cudaMalloc");
  Expect("alloc", "linear", 0, linear, 1000001, "cuMemAlloc_v2", __LINE__ - 1);
  std::size_t free = 0, total = 0;
  Check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  if (free == 0 || free >= total) return 5;
  void* ordered = nullptr;
  Check(cudaMallocAsync(&ordered, 4099, nullptr), "cudaMallocAsync");
  Expect("alloc", "stream-ordered", 0, ordered, 4099, "cuMemAllocAsync", __LINE__ - 1);
  Expect("free", "stream-ordered", 0, ordered, 4099, "cuMemFreeAsync");
  Check(cudaFreeAsync(ordered, nullptr), "cudaFreeAsync");
  Check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  Expect("free", "linear", 0, linear, 1000001, "cuMemFree_v2");
  Check(cudaFree(linear), "cudaFree");
  return 0;
}
