// Allocates and frees until its input ends, and says how often: for `memprof attach`.
#include <cuda_runtime_api.h>
#include <poll.h>

#include <cstdio>

int main() {
  void* kept = nullptr;
  if (cudaMalloc(&kept, 8192) != cudaSuccess) return 1;
  std::puts("ready");
  std::fflush(stdout);
  long count = 0;
  for (pollfd input{0, POLLIN, 0}; poll(&input, 1, 1) == 0; ++count) {
    void* pointer = nullptr;
    if (cudaMalloc(&pointer, 4096) != cudaSuccess || cudaFree(pointer) != cudaSuccess) return 1;
  }
  std::printf("ended %ld\n", count);
  return cudaFree(kept) == cudaSuccess ? 0 : 1;
}
