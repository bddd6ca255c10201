// A program that is built with AddressSanitizer: one allocation, which is freed.
#include <cuda_runtime_api.h>

#include <cstdio>

int main() {
  void* memory = nullptr;
  if (cudaMalloc(&memory, 4096) != cudaSuccess || cudaFree(memory) != cudaSuccess) return 3;
  std::printf("ended\n");
  return 0;
}
