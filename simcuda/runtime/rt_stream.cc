// Streams and events.
#include <cuda_runtime_api.h>

#include <memory>

#include "simcuda/runtime/state.h"

using memprof::simcuda::runtime::Calls;

SIMCUDA_RT(cudaStreamCreate, (cudaStream_t * stream), (stream)) {
  return cu.cuStreamCreate(stream, CU_STREAM_DEFAULT);
}

SIMCUDA_RT(cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned flags), (stream, flags)) {
  return cu.cuStreamCreate(stream, flags);
}

SIMCUDA_RT(cudaStreamCreateWithPriority, (cudaStream_t * stream, unsigned flags, int priority),
           (stream, flags, priority)) {
  return cu.cuStreamCreateWithPriority(stream, flags, priority);
}

SIMCUDA_RT(cudaStreamDestroy, (cudaStream_t stream), (stream)) {
  return cu.cuStreamDestroy_v2(stream);
}

SIMCUDA_RT_STREAM(cudaStreamSynchronize, _ptsz, (cudaStream_t stream), (stream)) {
  return cu.cuStreamSynchronize(stream);
}

SIMCUDA_RT_STREAM(cudaStreamQuery, _ptsz, (cudaStream_t stream), (stream)) {
  return cu.cuStreamQuery(stream);
}

SIMCUDA_RT_STREAM(cudaStreamWaitEvent, _ptsz,
                  (cudaStream_t stream, cudaEvent_t event, unsigned flags),
                  (stream, event, flags)) {
  return cu.cuStreamWaitEvent(stream, event, flags);
}

SIMCUDA_RT_STREAM(cudaStreamGetPriority, _ptsz, (cudaStream_t stream, int* priority),
                  (stream, priority)) {
  return cu.cuStreamGetPriority(stream, priority);
}

SIMCUDA_RT_STREAM(cudaStreamGetFlags, _ptsz, (cudaStream_t stream, unsigned* flags),
                  (stream, flags)) {
  return cu.cuStreamGetFlags(stream, flags);
}

namespace {

struct CallbackData {
  cudaStreamCallback_t callback;
  void* user_data;
};

void CUDA_CB RunCallback(CUstream stream, CUresult status, void* data) {
  const std::unique_ptr<CallbackData> owned(static_cast<CallbackData*>(data));
  owned->callback(stream, static_cast<cudaError_t>(status), owned->user_data);
}

}  // namespace

SIMCUDA_RT_STREAM(cudaStreamAddCallback, _ptsz,
                  (cudaStream_t stream, cudaStreamCallback_t callback, void* user_data,
                   unsigned flags),
                  (stream, callback, user_data, flags)) {
  if (callback == nullptr) return cudaErrorInvalidValue;
  auto data = std::make_unique<CallbackData>(CallbackData{callback, user_data});
  const CUresult result = cu.cuStreamAddCallback(stream, &RunCallback, data.get(), flags);
  if (result == CUDA_SUCCESS) data.release();
  return result;
}

SIMCUDA_RT_STREAM(cudaStreamAttachMemAsync, _ptsz,
                  (cudaStream_t stream, void* pointer, size_t length, unsigned flags),
                  (stream, pointer, length, flags)) {
  return cu.cuStreamAttachMemAsync(stream, reinterpret_cast<CUdeviceptr>(pointer), length, flags);
}

SIMCUDA_RT_STREAM(cudaLaunchHostFunc, _ptsz,
                  (cudaStream_t stream, cudaHostFn_t function, void* user_data),
                  (stream, function, user_data)) {
  return cu.cuLaunchHostFunc(stream, function, user_data);
}

SIMCUDA_RT(cudaEventCreate, (cudaEvent_t * event), (event)) { return cu.cuEventCreate(event, 0); }

SIMCUDA_RT(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned flags), (event, flags)) {
  return cu.cuEventCreate(event, flags);
}

SIMCUDA_RT(cudaEventDestroy, (cudaEvent_t event), (event)) { return cu.cuEventDestroy_v2(event); }

SIMCUDA_RT_STREAM(cudaEventRecord, _ptsz, (cudaEvent_t event, cudaStream_t stream),
                  (event, stream)) {
  return cu.cuEventRecord(event, stream);
}

SIMCUDA_RT_STREAM(cudaEventRecordWithFlags, _ptsz,
                  (cudaEvent_t event, cudaStream_t stream, unsigned flags),
                  (event, stream, flags)) {
  return cu.cuEventRecordWithFlags(event, stream, flags);
}

SIMCUDA_RT(cudaEventQuery, (cudaEvent_t event), (event)) { return cu.cuEventQuery(event); }

SIMCUDA_RT(cudaEventSynchronize, (cudaEvent_t event), (event)) {
  return cu.cuEventSynchronize(event);
}

SIMCUDA_RT(cudaEventElapsedTime, (float* milliseconds, cudaEvent_t start, cudaEvent_t end),
           (milliseconds, start, end)) {
  return cu.cuEventElapsedTime(milliseconds, start, end);
}
