// A guest of contexts: memory that ends with them, with a reset, and with a checkpoint in between.
#include <unistd.h>

#include "by_name.h"

namespace {

CUdeviceptr Allocate(std::size_t bytes, int device = 0) {
  const auto allocate = PROC(cuMemAlloc_v2, "cuMemAlloc", 3020);
  CUdeviceptr memory = 0;
  MUST(allocate(&memory, bytes));
  Expect("alloc", "linear", device, memory, bytes, "cuMemAlloc_v2");
  return memory;
}

// Two contexts beside the primary one, each with its own memory.
void Destroyed() {
  UsePrimary();
  const CUdeviceptr kept = Allocate(1000);
  CUcontext first = nullptr, second = nullptr;
  MUST(PROC(cuCtxCreate_v2, "cuCtxCreate", 3020)(&first, 0, 0));
  Expect("context_create", "none", 0, 0, 0, "cuCtxCreate_v2");
  const CUdeviceptr lost = Allocate(2000);
  CUarray array = nullptr;
  const CUDA_ARRAY_DESCRIPTOR flat{64, 64, CU_AD_FORMAT_FLOAT, 1};
  MUST(PROC(cuArrayCreate_v2, "cuArrayCreate", 3020)(&array, &flat));
  Expect("alloc", "array", 0, array, 64 * 64 * 4, "cuArrayCreate_v2");
  MUST(PROC(cuCtxCreate_v3, "cuCtxCreate", 11040)(&second, nullptr, 0, 0, 1));
  Expect("context_create", "none", 1, 0, 0, "cuCtxCreate_v3");
  const CUdeviceptr lost_there = Allocate(3000, 1);
  MUST(PROC(cuCtxDestroy_v2, "cuCtxDestroy", 4000)(first));
  Expect("context_destroy", "none", 0, 0, 0, "cuCtxDestroy_v2");
  ExpectEnd("context", "linear", 0, lost, 2000);
  ExpectEnd("context", "array", 0, array, 64 * 64 * 4);
  MUST(SYMBOL_LIKE(cuCtxDestroy_v2, "cuCtxDestroy")(second));
  Expect("context_destroy", "none", 1, 0, 0, "cuCtxDestroy");
  ExpectEnd("context", "linear", 1, lost_there, 3000);
  MUST(PROC(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", 7000)(&first, 0));
  MUST(PROC(cuCtxSetCurrent, "cuCtxSetCurrent", 4000)(first));
  Expect("free", "linear", 0, kept, 1000, "cuMemFree_v2");
  MUST(PROC(cuMemFree_v2, "cuMemFree", 3020)(kept));
  AskForTooMuch();
}

// The last of two releases ends the primary context.
void Released() {
  UsePrimary();
  CUcontext again = nullptr;
  MUST(PROC(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", 7000)(&again, 0));
  const CUdeviceptr first = Allocate(4000);
  const auto release = PROC(cuDevicePrimaryCtxRelease_v2, "cuDevicePrimaryCtxRelease", 11000);
  MUST(release(0));
  const CUdeviceptr second = Allocate(5000);
  MUST(release(0));
  Expect("context_destroy", "none", 0, 0, 0, "cuDevicePrimaryCtxRelease_v2");
  ExpectEnd("context", "linear", 0, first, 4000);
  ExpectEnd("context", "linear", 0, second, 5000);
  UsePrimary();
  Allocate(6000);
  AskForTooMuch();
}

void Reset() {
  UsePrimary();
  const CUdeviceptr linear = Allocate(7000);
  CUdeviceptr managed = 0;
  MUST(PROC(cuMemAllocManaged, "cuMemAllocManaged", 6000)(&managed, 8000, 1));
  Expect("alloc", "managed", 0, managed, 8000, "cuMemAllocManaged");
  MUST(PROC(cuDevicePrimaryCtxReset_v2, "cuDevicePrimaryCtxReset", 11000)(0));
  Expect("device_reset", "none", 0, 0, 0, "cuDevicePrimaryCtxReset_v2");
  ExpectEnd("reset", "linear", 0, linear, 7000);
  ExpectEnd("reset", "managed", 0, managed, 8000);
  UsePrimary();
  Allocate(9000);
  AskForTooMuch();
}

#if CUDA_VERSION >= 12080
void Checkpoint() {
  UsePrimary();
  const CUdeviceptr memory = Allocate(10000);
  const int self = getpid();
  MUST(PROC(cuCheckpointProcessLock, "cuCheckpointProcessLock", 12080)(self, nullptr));
  Expect("checkpoint", "none", -1, 0, 0, "cuCheckpointProcessLock");
  const auto save = PROC(cuCheckpointProcessCheckpoint, "cuCheckpointProcessCheckpoint", 12080);
  MUST(save(self, nullptr));
  Expect("checkpoint", "none", -1, 0, 0, "cuCheckpointProcessCheckpoint");
  MUST(PROC(cuCheckpointProcessRestore, "cuCheckpointProcessRestore", 12080)(self, nullptr));
  Expect("checkpoint", "none", -1, 0, 0, "cuCheckpointProcessRestore");
  MUST(PROC(cuCheckpointProcessUnlock, "cuCheckpointProcessUnlock", 12080)(self, nullptr));
  Expect("checkpoint", "none", -1, 0, 0, "cuCheckpointProcessUnlock");
  Allocate(11000);
  Expect("free", "linear", 0, memory, 10000, "cuMemFree_v2");
  MUST(PROC(cuMemFree_v2, "cuMemFree", 3020)(memory));
  AskForTooMuch();
}
#else
void Checkpoint() {}
#endif

constexpr Scenario kScenarios[] = {
    {"destroyed", Destroyed}, {"released", Released}, {"reset", Reset}, {"checkpoint", Checkpoint}};

}  // namespace

int main(int argc, char** argv) { return RunScenario(kScenarios, argc, argv); }
