// The stand-in libcuda as its libcupti sees it: found at run time, as the real pair does it.
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

// Null when libcuda.so.1 is not there or is not the stand-in. Looked up once it is there.
const Driver* FindDriver();

}  // namespace memprof::simcuda_cupti
