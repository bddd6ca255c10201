// A process that shares its device with others of the same run. "hold N": allocates N MiB, creates
// the file "held" and sleeps. "take N": prints whether N MiB can be allocated, and what was free
// before. "static": makes the first call of the toolkit's static runtime, and returns its result.
#include <cuda.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

int main(int argc, char** argv) {
  if (argc < 2 || cuInit(0) != CUDA_SUCCESS) return 2;
  if (std::strcmp(argv[1], "static") == 0) {
    const CUuuid id = {{0x6b, static_cast<char>(0xd5), static_cast<char>(0xfb), 0x6c}};
    const void* table = nullptr;
    return cuGetExportTable(&table, &id) == CUDA_SUCCESS ? 0 : 1;
  }
  CUcontext context = nullptr;
  size_t free = 0;
  size_t total = 0;
  CUdeviceptr memory = 0;
  if (argc < 3 || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
      cuCtxSetCurrent(context) != CUDA_SUCCESS || cuMemGetInfo(&free, &total) != CUDA_SUCCESS) {
    return 3;
  }
  const size_t bytes = std::strtoull(argv[2], nullptr, 10) << 20;
  const bool taken = cuMemAlloc(&memory, bytes) == CUDA_SUCCESS;
  if (std::strcmp(argv[1], "take") == 0) {
    std::printf("%s, %zu MiB free\n", taken ? "taken" : "no room", free >> 20);
    return 0;
  }
  std::FILE* file = std::fopen("held", "w");
  if (file != nullptr) std::fclose(file);
  sleep(60);
  return 0;
}
