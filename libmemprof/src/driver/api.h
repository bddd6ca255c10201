// The CUDA driver's types, and the real functions behind our wrappers. libcuda is not linked:
// functions are looked up in the library that the program has loaded.
//
// Thread-safety: everything here may be called by any thread.
#pragma once

// All versions of a function under their own names, instead of macros that rename them.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "libmemprof/src/driver/table.h"

namespace memprof::recorder {

enum class FunctionId : int {
#define MEMPROF_FUNCTION_ID(name, ...) k_##name,
  MEMPROF_DRIVER_FUNCTIONS(MEMPROF_FUNCTION_ID)
#undef MEMPROF_FUNCTION_ID
      kCount
};
inline constexpr int kFunctionCount = static_cast<int>(FunctionId::kCount);

const char* FunctionName(FunctionId id);
// Whether the function uses the calling thread's own stream, not the legacy one, for a null stream.
bool UsesThreadStream(FunctionId id);

// The real function from libcuda.so.1, which is loaded if necessary. Null when there is no libcuda
// or it lacks the function. May take the loader's lock: must not be called with a lock of ours
// held.
void* FindRealFunction(FunctionId id);
extern std::atomic<void*> g_real_functions[kFunctionCount];
inline void* RealFunction(FunctionId id) {
  void* function = g_real_functions[static_cast<int>(id)].load(std::memory_order_acquire);
  return function != nullptr ? function : FindRealFunction(id);
}
// Any other driver function by name, e.g. "cuCtxGetCurrent".
void* RealDriverSymbol(const char* name);
// Whether libcuda was found already; does not search or load it.
bool DriverIsLoaded();
// The same; if it was not found yet, first checks whether the program has loaded it without passing
// a hook.
bool NoticeLoadedDriver();
// The result of a wrapper if RealFunction is null.
CUresult WithoutDriver();

// Our wrapper of that function.
void* WrapperFunction(FunctionId id);
// Called by exports/driver.cc, which defines the wrappers; without them no function is replaced.
void SetWrappers(void* const* wrappers);

// `address` is the result of dlsym or cuGetProcAddress for `name`. Returns the wrapper if it is a
// function of the table in libcuda, else `address` itself.
void* SwapByName(const char* name, void* address);
// The same for cuGetProcAddress, by comparing pointers: drivers 470 to 550 return the exported
// functions, for every base name, version and stream flavour of the table. Any other pointer for a
// base name of the table is a version that the table does not have. Its parameters are unknown, so
// it is left alone and counted.
void* SwapByAddress(const char* base, void* address);
// How many such pointers were returned.
std::uint64_t UnknownVersions();

// Driver functions that the recorder itself calls.
#define MEMPROF_CALLED_FUNCTIONS(X)                                                        \
  X(cuCtxGetCurrent, (CUcontext*))                                                         \
  X(cuCtxGetDevice, (CUdevice*))                                                           \
  X(cuDriverGetVersion, (int*))                                                            \
  X(cuDeviceGetName, (char*, int, CUdevice))                                               \
  X(cuDeviceTotalMem_v2, (size_t*, CUdevice))                                              \
  X(cuDeviceGetUuid_v2, (CUuuid*, CUdevice))                                               \
  X(cuDeviceGetAttribute, (int*, CUdevice_attribute, CUdevice))                            \
  X(cuDevicePrimaryCtxGetState, (CUdevice, unsigned*, int*))                               \
  X(cuMemGetInfo_v2, (size_t*, size_t*))                                                   \
  X(cuPointerGetAttribute, (void*, CUpointer_attribute, CUdeviceptr))                      \
  X(cuStreamIsCapturing, (CUstream, CUstreamCaptureStatus*))                               \
  X(cuStreamGetCaptureInfo_v2,                                                             \
    (CUstream, CUstreamCaptureStatus*, cuuint64_t*, CUgraph*, void*, std::size_t*))        \
  X(cuStreamGetCaptureInfo_v3,                                                             \
    (CUstream, CUstreamCaptureStatus*, cuuint64_t*, CUgraph*, void*, void*, std::size_t*)) \
  X(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode*))                             \
  X(cuDeviceGetGraphMemAttribute, (CUdevice, CUgraphMem_attribute, void*))                 \
  X(cuDeviceGetPCIBusId, (char*, int, CUdevice))                                           \
  X(cuMemGetAddressRange_v2, (CUdeviceptr*, std::size_t*, CUdeviceptr))                    \
  X(cuDeviceGetMemPool, (CUmemoryPool*, CUdevice))                                         \
  X(cuDeviceGetDefaultMemPool, (CUmemoryPool*, CUdevice))                                  \
  X(cuMemPoolGetAttribute, (CUmemoryPool, CUmemPool_attribute, void*))                     \
  X(cuCtxPushCurrent_v2, (CUcontext))                                                      \
  X(cuCtxPopCurrent_v2, (CUcontext*))                                                      \
  X(cuMemAlloc_v2, (CUdeviceptr*, size_t))                                                 \
  X(cuMemFree_v2, (CUdeviceptr))                                                           \
  X(cuArray3DGetDescriptor_v2, (CUDA_ARRAY3D_DESCRIPTOR*, CUarray))                        \
  X(cuArrayGetMemoryRequirements, (CUDA_ARRAY_MEMORY_REQUIREMENTS*, CUarray, CUdevice))

struct CalledFunctions {
#define MEMPROF_CALLED_POINTER(name, parameters) CUresult(*name) parameters;
  MEMPROF_CALLED_FUNCTIONS(MEMPROF_CALLED_POINTER)
#undef MEMPROF_CALLED_POINTER
};
// Filled at the first call after libcuda was loaded; before that all are null. A function that
// libcuda lacks is null.
extern std::atomic<const CalledFunctions*> g_called_functions;
const CalledFunctions& FindCalledFunctions();
inline const CalledFunctions& Driver() {
  const CalledFunctions* ready = g_called_functions.load(std::memory_order_acquire);
  return ready != nullptr ? *ready : FindCalledFunctions();
}

}  // namespace memprof::recorder
