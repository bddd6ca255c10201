// Hooks of cuGetProcAddress: the real one answers, and what it answers is swapped for our wrapper
// where there is one. Not an event.
#pragma once

#include "libmemprof/src/driver/api.h"

namespace memprof::recorder {

template <typename Real>
CUresult GetProcAddress(FunctionId, Real real, const char* symbol, void** function, int version,
                        cuuint64_t flags) {
  const CUresult result = real(symbol, function, version, flags);
  if (result == CUDA_SUCCESS && function != nullptr) *function = SwapByAddress(symbol, *function);
  return result;
}

template <typename Real>
CUresult GetProcAddressV2(FunctionId, Real real, const char* symbol, void** function, int version,
                          cuuint64_t flags, void* status) {
  const CUresult result = real(symbol, function, version, flags, status);
  if (result == CUDA_SUCCESS && function != nullptr) *function = SwapByAddress(symbol, *function);
  return result;
}

}  // namespace memprof::recorder
