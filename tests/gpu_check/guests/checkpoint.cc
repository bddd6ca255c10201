// Guest of scripts/gpu-check: checkpoints its own device memory and restores it.
//
//   checkpoint BYTES
//
// Prints the free memory before, while checkpointed, and after.
#include <unistd.h>

#include "driver.h"

namespace memprof::gpu_check {
namespace {

#if CUDA_VERSION >= 12080
std::string Describe(std::uint64_t bytes) {
  UsePrimaryContext();
  CUdeviceptr block = 0;
  CALL(cuMemAlloc_v2, &block, bytes);
  unsigned char written[64], read[64] = {};
  for (unsigned i = 0; i < sizeof written; ++i) written[i] = static_cast<unsigned char>(i * 7);
  CALL(cuMemcpyHtoD_v2, block, written, sizeof written);
  Mark("before");
  const int self = static_cast<int>(getpid());
  CUcheckpointLockArgs lock{};
  lock.timeoutMs = 3000;
  CALL(cuCheckpointProcessLock, self, &lock);
  CALL(cuCheckpointProcessCheckpoint, self, nullptr);
  CALL(cuCheckpointProcessRestore, self, nullptr);
  CALL(cuCheckpointProcessUnlock, self, nullptr);
  Mark("after");
  CALL(cuMemcpyDtoH_v2, read, block, sizeof read);
  bool same = true;
  for (unsigned i = 0; i < sizeof written; ++i) same = same && read[i] == written[i];
  CALL(cuMemFree_v2, block);
  return "\"asked\":" + std::to_string(bytes) + ",\"same\":" + (same ? "true" : "false");
}
#else
std::string Describe(std::uint64_t) { throw Skipped("not built with this toolkit"); }
#endif

}  // namespace
}  // namespace memprof::gpu_check

int main(int argc, char** argv) {
  const unsigned long long bytes = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 4u << 20;
  return memprof::gpu_check::Answer([bytes] { return memprof::gpu_check::Describe(bytes); });
}
