// The thread's last error, and names of errors.
#include <cuda_runtime_api.h>

#include "simcuda/runtime/state.h"

namespace runtime = memprof::simcuda::runtime;

namespace {

struct Text {
  cudaError_t error;
  const char* name;
  const char* text;
};

#define SIMCUDA_ERROR(name, text) \
  { name, #name, text }
// The runtime's own errors, and the driver's by their names in the runtime.
constexpr Text kTexts[] = {
    SIMCUDA_ERROR(cudaSuccess, "no error"),
    SIMCUDA_ERROR(cudaErrorInvalidValue, "invalid argument"),
    SIMCUDA_ERROR(cudaErrorMemoryAllocation, "out of memory"),
    SIMCUDA_ERROR(cudaErrorInitializationError, "initialization error"),
    SIMCUDA_ERROR(cudaErrorCudartUnloading, "driver shutting down"),
    SIMCUDA_ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    SIMCUDA_ERROR(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    SIMCUDA_ERROR(cudaErrorInvalidSymbol, "invalid device symbol"),
    SIMCUDA_ERROR(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    SIMCUDA_ERROR(cudaErrorInsufficientDriver,
                  "CUDA driver version is insufficient for CUDA runtime version"),
    SIMCUDA_ERROR(cudaErrorMissingConfiguration, "__global__ function call is not configured"),
    SIMCUDA_ERROR(cudaErrorInvalidDeviceFunction, "invalid device function"),
    SIMCUDA_ERROR(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    SIMCUDA_ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
    SIMCUDA_ERROR(cudaErrorDeviceUninitialized, "invalid device context"),
    SIMCUDA_ERROR(cudaErrorUnsupportedLimit, "limit is not supported on this architecture"),
    SIMCUDA_ERROR(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    SIMCUDA_ERROR(cudaErrorPeerAccessNotEnabled, "peer access has not been enabled"),
    SIMCUDA_ERROR(cudaErrorContextIsDestroyed, "context is destroyed"),
    SIMCUDA_ERROR(cudaErrorHostMemoryAlreadyRegistered,
                  "part or all of the requested memory range is already mapped"),
    SIMCUDA_ERROR(cudaErrorHostMemoryNotRegistered,
                  "pointer does not correspond to a registered memory region"),
    SIMCUDA_ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    SIMCUDA_ERROR(cudaErrorSymbolNotFound, "named symbol not found"),
    SIMCUDA_ERROR(cudaErrorNotReady, "device not ready"),
    SIMCUDA_ERROR(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    SIMCUDA_ERROR(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    SIMCUDA_ERROR(cudaErrorLaunchFailure, "unspecified launch failure"),
    SIMCUDA_ERROR(cudaErrorNotPermitted, "operation not permitted"),
    SIMCUDA_ERROR(cudaErrorNotSupported, "operation not supported"),
    SIMCUDA_ERROR(cudaErrorStreamCaptureUnsupported,
                  "operation not permitted when stream is capturing"),
    SIMCUDA_ERROR(cudaErrorStreamCaptureInvalidated,
                  "operation failed due to a previous error during capture"),
    SIMCUDA_ERROR(cudaErrorStreamCaptureImplicit,
                  "operation would make the legacy stream depend on a capturing blocking stream"),
    SIMCUDA_ERROR(cudaErrorUnknown, "unknown error"),
};
#undef SIMCUDA_ERROR

const Text* Find(cudaError_t error) {
  for (const Text& one : kTexts) {
    if (one.error == error) return &one;
  }
  return nullptr;
}

}  // namespace

extern "C" {

cudaError_t cudaGetLastError() { return runtime::TakeLastError(); }

cudaError_t cudaPeekAtLastError() { return runtime::LastError(); }

const char* cudaGetErrorName(cudaError_t error) {
  if (const Text* known = Find(error); known != nullptr) return known->name;
  const char* name = nullptr;
  if (runtime::RequireDriver() == 0) {
    runtime::Library().legacy.cuGetErrorName(static_cast<CUresult>(error), &name);
  }
  return name == nullptr ? "unrecognized error code" : name;
}

const char* cudaGetErrorString(cudaError_t error) {
  if (const Text* known = Find(error); known != nullptr) return known->text;
  const char* text = nullptr;
  if (runtime::RequireDriver() == 0) {
    runtime::Library().legacy.cuGetErrorString(static_cast<CUresult>(error), &text);
  }
  return text == nullptr ? "unrecognized error code" : text;
}

}  // extern "C"
