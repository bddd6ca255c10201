// A guest that allocates, calls cuptiFinalize as a profiler does at its end, and then allocates and
// frees until memprof, which lost its CUPTI by that call, has recorded an allocation, or for ten
// seconds.
#include <cuda.h>
#include <cupti.h>
#include <memprof/memprof.h>
#include <time.h>

#include <cstdio>

namespace {

unsigned long long Allocations() {
  memprof_stats stats{};
  stats.size = sizeof stats;
  memprof_get_stats(&stats);
  return stats.allocations;
}

bool Pair(std::size_t bytes) {
  CUdeviceptr address = 0;
  return cuMemAlloc(&address, bytes) == CUDA_SUCCESS && cuMemFree(address) == CUDA_SUCCESS;
}

}  // namespace

int main() {
  CUcontext context = nullptr;
  if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
      cuCtxSetCurrent(context) != CUDA_SUCCESS || !Pair(1000))
    return 5;
  memprof_flush();
  const unsigned long long before = Allocations();
  if (cuptiFinalize() != CUPTI_SUCCESS) return 6;
  for (int i = 0; i < 1000 && Allocations() == before; ++i) {
    if (!Pair(2000)) return 7;
    const timespec rest{0, 10'000'000};
    nanosleep(&rest, nullptr);
  }
  std::printf("%llu, then %s\n", before, Allocations() > before ? "more" : "no more");
}
