// A guest with a static CUDA runtime, which is nvcc's default: the preloaded library sees no
// runtime calls, only the resulting driver calls.
#include <cuda_runtime_api.h>

#include <cstdlib>

#include "../../families/expected.h"

namespace {

void Check(cudaError_t result, const char* what, int line) {
  g_line = line;
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "%s: %d (%s)\n", what, static_cast<int>(result), cudaGetErrorName(result));
  std::exit(3);
}

#define MUST(call) Check((call), #call, __LINE__)

}  // namespace

int main() {
  void* linear = nullptr;
  MUST(cudaMalloc(&linear, 1000001));
  Expect("alloc", "linear", 0, linear, 1000001, "cuMemAlloc_v2");
  std::size_t free = 0, total = 0;
  MUST(cudaMemGetInfo(&free, &total));
  if (free == 0 || free >= total) return 5;
  void* ordered = nullptr;
  MUST(cudaMallocAsync(&ordered, 4099, nullptr));
  Expect("alloc", "stream-ordered", 0, ordered, 4099, "cuMemAllocAsync");
  Expect("free", "stream-ordered", 0, ordered, 4099, "cuMemFreeAsync");
  MUST(cudaFreeAsync(ordered, nullptr));
  MUST(cudaDeviceSynchronize());
  Expect("free", "linear", 0, linear, 1000001, "cuMemFree_v2");
  MUST(cudaFree(linear));
  return 0;
}
