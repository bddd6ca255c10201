// The leak "pinned".
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>

#include "demo_trainer/error.h"
#include "demo_trainer/leaks/leaks.h"

namespace memprof::demo {

DEMO_NOINLINE void StagePinned(const std::vector<int>& tokens) {
  void* staging = nullptr;
  Check(cudaHostAlloc(&staging, kPinnedBytes, cudaHostAllocDefault), "allocating pinned memory");
  std::memcpy(staging, tokens.data(), std::min(kPinnedBytes, tokens.size() * sizeof(int)));
}

}  // namespace memprof::demo
