// State of the runtime per thread and per device, and the definition of exported functions.
#ifndef SIMCUDA_RUNTIME_STATE_H
#define SIMCUDA_RUNTIME_STATE_H

#include <driver_types.h>

#include "simcuda/runtime/calls.h"

#if CUDA_VERSION < 12000
// Declarations that the headers of CUDA 11 lack.
typedef struct CUkern_st* cudaKernel_t;
enum cudaDriverEntryPointQueryResult {
  cudaDriverEntryPointSuccess = 0,
  cudaDriverEntryPointSymbolNotFound = 1,
  cudaDriverEntryPointVersionNotSufficent = 2,
};
#endif

namespace memprof::simcuda::runtime {

// Stores the thread's last error and returns its argument.
cudaError_t Record(int error);
cudaError_t TakeLastError();
cudaError_t LastError();

// Loads the driver; a cudaError.
int RequireDriver();
// Makes the primary context of the thread's device current, unless another one is; a cudaError.
int RequireContext();
// The thread's device.
int ThreadDevice();
int SetThreadDevice(int device);
// Resets the device's primary context; a cudaError.
int ResetDevice();
// The calling thread's current context.
CUcontext CurrentHandle();

// Runs `body(calls)` with a current context and stores its result as the last error.
template <class Body>
cudaError_t Enter(bool per_thread, Body body) {
  int error = RequireContext();
  if (error == 0) {
    error = static_cast<int>(body(per_thread ? Library().per_thread : Library().legacy));
  }
  return Record(error);
}

}  // namespace memprof::simcuda::runtime

// Defines an exported function:
//   SIMCUDA_RT(cudaMalloc, (void** pointer, size_t bytes), (pointer, bytes)) { return ...; }
// In its body, `cu` has the driver's functions, a context is current, and the returned value (a
// CUresult or a cudaError, whose numbers agree) becomes the thread's last error. SIMCUDA_RT_STREAM
// also defines the variant for per-thread default streams.
#define SIMCUDA_UNPACK(...) __VA_ARGS__
#define SIMCUDA_RT(name, parameters, arguments)                                                    \
  static int name##_body(const ::memprof::simcuda::runtime::Calls& cu, SIMCUDA_UNPACK parameters); \
  extern "C" cudaError_t name(SIMCUDA_UNPACK parameters) {                                         \
    return ::memprof::simcuda::runtime::Enter(                                                     \
        false, [&](const auto& cu) { return name##_body(cu, SIMCUDA_UNPACK arguments); });         \
  }                                                                                                \
  static int name##_body([[maybe_unused]] const ::memprof::simcuda::runtime::Calls& cu,            \
                         SIMCUDA_UNPACK parameters)
#define SIMCUDA_RT_STREAM(name, suffix, parameters, arguments)                                     \
  static int name##_body(const ::memprof::simcuda::runtime::Calls& cu, SIMCUDA_UNPACK parameters); \
  extern "C" cudaError_t name##suffix(SIMCUDA_UNPACK parameters);                                  \
  extern "C" cudaError_t name##suffix(SIMCUDA_UNPACK parameters) {                                 \
    return ::memprof::simcuda::runtime::Enter(                                                     \
        true, [&](const auto& cu) { return name##_body(cu, SIMCUDA_UNPACK arguments); });          \
  }                                                                                                \
  SIMCUDA_RT(name, parameters, arguments)

#endif  // SIMCUDA_RUNTIME_STATE_H
