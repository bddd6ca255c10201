// The stand-in libcuda, found at run time, as the real libcupti finds the real libcuda.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

#include "simcuda/callbacks.h"

namespace memprof::simcuda_cupti {

struct Driver {
  int (*set_listener)(const simcuda_listener*);
  void (*enable_api)(uint32_t cbid, int on);
  void (*enable_resources)(int on);
  const char* (*api_name)(uint32_t cbid);
  CUresult (*context_id)(CUcontext context, unsigned long long* id);
  CUresult (*stream_id)(CUstream stream, unsigned long long* id);
  CUresult (*stream_id_per_thread)(CUstream stream, unsigned long long* id);
  CUresult (*device_of_current_context)(CUdevice* device);
  CUresult (*push_context)(CUcontext context);
  CUresult (*pop_context)(CUcontext* context);
};

// Null if libcuda.so.1 cannot be loaded or is not the stand-in; the next call then tries again.
const Driver* FindDriver();

}  // namespace memprof::simcuda_cupti
