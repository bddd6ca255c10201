// Contexts: memory that ends with them, with a reset, and with a checkpoint in between.
#include <unistd.h>

#include "calls.h"
#include "families.h"

namespace {

CUcontext NewContext() {
  CUcontext context = nullptr;
  MUST(PROC(cuCtxCreate_v2, "cuCtxCreate", 3020)(&context, 0, 0));
  Expect("context_create", "none", 0, 0, 0, "cuCtxCreate_v2");
  return context;
}

void DestroyContext(CUcontext context) {
  MUST(PROC(cuCtxDestroy_v2, "cuCtxDestroy", 4000)(context));
  Expect("context_destroy", "none", 0, 0, 0, "cuCtxDestroy_v2");
}

void Use(CUcontext context) { MUST(PROC(cuCtxSetCurrent, "cuCtxSetCurrent", 4000)(context)); }

// Retained once more.
CUcontext Primary() {
  CUcontext context = nullptr;
  MUST(PROC(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", 7000)(&context, 0));
  return context;
}

void ReleasePrimary() {
  MUST(PROC(cuDevicePrimaryCtxRelease_v2, "cuDevicePrimaryCtxRelease", 11000)(0));
}

// Never freed: ends with its own context.
Block TakeWithContext(std::uint64_t bytes) {
  CUcontext before = nullptr;
  CALL(cuCtxGetCurrent, &before);
  CUcontext own = NewContext();
  const CUdeviceptr block = Allocate(bytes);
  Use(before);
  return {bytes, [=] {
            DestroyContext(own);
            ExpectEnd("context", "linear", 0, block, bytes);
          }};
}

// Two contexts beside the primary one, each with its own memory.
void Destroyed() {
  const CUdeviceptr kept = Allocate(1000);
  CUcontext first = NewContext();
  const CUdeviceptr lost = Allocate(2000);
  const CUDA_ARRAY_DESCRIPTOR flat{64, 64, CU_AD_FORMAT_FLOAT, 1};
  const auto create = PROC(cuArrayCreate_v2, "cuArrayCreate", 3020);
  constexpr std::uint64_t kArray = std::uint64_t{64} * 64 * 4;
  CUarray array = TAKE(create, "array", 0, kArray, &flat);
  CUcontext second = nullptr;
  MUST(PROC(cuCtxCreate_v3, "cuCtxCreate", 11040)(&second, nullptr, 0, 0, 1));
  Expect("context_create", "none", 1, 0, 0, "cuCtxCreate_v3");
  const CUdeviceptr lost_there = Allocate(3000, 1);
  DestroyContext(first);
  ExpectEnd("context", "linear", 0, lost, 2000);
  ExpectEnd("context", "array", 0, array, kArray);
  MUST(SYMBOL_LIKE(cuCtxDestroy_v2, "cuCtxDestroy")(second));
  Expect("context_destroy", "none", 1, 0, 0, "cuCtxDestroy");
  ExpectEnd("context", "linear", 1, lost_there, 3000);
  Use(Primary());
  Free(kept, 1000);
}

// The last of two releases ends the primary context.
void Released() {
  Primary();
  const CUdeviceptr first = Allocate(4000);
  ReleasePrimary();
  const CUdeviceptr second = Allocate(5000);
  ReleasePrimary();
  Expect("context_destroy", "none", 0, 0, 0, "cuDevicePrimaryCtxRelease_v2");
  ExpectEnd("context", "linear", 0, first, 4000);
  ExpectEnd("context", "linear", 0, second, 5000);
  UsePrimary();
  Allocate(6000);
}

void Reset() {
  const CUdeviceptr linear = Allocate(7000);
  const CUdeviceptr managed = AllocateManaged(8000);
  MUST(PROC(cuDevicePrimaryCtxReset_v2, "cuDevicePrimaryCtxReset", 11000)(0));
  Expect("device_reset", "none", 0, 0, 0, "cuDevicePrimaryCtxReset_v2");
  ExpectEnd("reset", "linear", 0, linear, 7000);
  ExpectEnd("reset", "managed", 0, managed, 8000);
  UsePrimary();
  Allocate(9000);
}

#if CUDA_VERSION >= 12040
// Memory allocated in a green context lives until the primary context ends.
void Green() {
  CUdevResource all{};
  CUdevResourceDesc some = nullptr;
  const auto resources = PROC(cuDeviceGetDevResource, "cuDeviceGetDevResource", 12040);
  MUST(resources(0, &all, CU_DEV_RESOURCE_TYPE_SM));
  MUST(PROC(cuDevResourceGenerateDesc, "cuDevResourceGenerateDesc", 12040)(&some, &all, 1));
  CUgreenCtx green = nullptr;
  CUcontext context = nullptr;
  MUST(PROC(cuGreenCtxCreate, "cuGreenCtxCreate", 12040)(&green, some, 0,
                                                         CU_GREEN_CTX_DEFAULT_STREAM));
  MUST(PROC(cuCtxFromGreenCtx, "cuCtxFromGreenCtx", 12040)(&context, green));
  Expect("context_create", "none", 0, 0, 0, "cuCtxFromGreenCtx");
  Use(context);
  const CUdeviceptr freed = Allocate(1000), lost = Allocate(2000);
  MUST(PROC(cuGreenCtxDestroy, "cuGreenCtxDestroy", 12040)(green));
  Use(Primary());
  Free(freed, 1000);
  ReleasePrimary();
  ReleasePrimary();
  Expect("context_destroy", "none", 0, 0, 0, "cuDevicePrimaryCtxRelease_v2");
  Expect("context_destroy", "none", 0, 0, 0, "cuDevicePrimaryCtxRelease_v2");
  ExpectEnd("context", "linear", 0, lost, 2000);
  UsePrimary();
  Allocate(3000);
}
#endif

#if CUDA_VERSION >= 12080
void ExpectCheckpoint(const char* api) { Expect("checkpoint", "none", -1, 0, 0, api); }

void Checkpoint() {
  const CUdeviceptr memory = Allocate(10000);
  const int self = getpid();
  MUST(PROC(cuCheckpointProcessLock, "cuCheckpointProcessLock", 12080)(self, nullptr));
  ExpectCheckpoint("cuCheckpointProcessLock");
  const auto save = PROC(cuCheckpointProcessCheckpoint, "cuCheckpointProcessCheckpoint", 12080);
  MUST(save(self, nullptr));
  ExpectCheckpoint("cuCheckpointProcessCheckpoint");
  MUST(PROC(cuCheckpointProcessRestore, "cuCheckpointProcessRestore", 12080)(self, nullptr));
  ExpectCheckpoint("cuCheckpointProcessRestore");
  MUST(PROC(cuCheckpointProcessUnlock, "cuCheckpointProcessUnlock", 12080)(self, nullptr));
  ExpectCheckpoint("cuCheckpointProcessUnlock");
  Allocate(11000);
  Free(memory, 10000);
}
#endif

constexpr Family kFamilies[] = {{"context", TakeWithContext}};
constexpr Scenario kScenarios[] = {{"destroyed", Destroyed},
                                   {"released", Released},
#if CUDA_VERSION >= 12040
                                   {"green", Green},
#endif
#if CUDA_VERSION >= 12080
                                   {"checkpoint", Checkpoint},
#endif
                                   {"reset", Reset}};

}  // namespace

const Group kContexts{kFamilies, kScenarios};
