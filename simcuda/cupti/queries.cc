// The queries of CUPTI that a subscriber needs beside callbacks: version, time, ids, result texts.
#include <cupti.h>
#include <time.h>

#include "simcuda/cupti/driver.h"

namespace sim = memprof::simcuda_cupti;

namespace {

struct ResultName {
  int result;
  const char* name;
};
constexpr ResultName kResults[] = {
#include "cupti_results.inc"
};

CUptiResult ResultText(CUptiResult result, const char** text) {
  if (text == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  for (const ResultName& entry : kResults) {
    if (entry.result == static_cast<int>(result)) {
      *text = entry.name;
      return CUPTI_SUCCESS;
    }
  }
  *text = "<unknown>";
  return CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult StreamId(CUstream stream, bool per_thread, uint32_t* id) {
  const sim::Driver* driver = sim::FindDriver();
  if (id == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (driver == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  const auto query = per_thread ? driver->stream_id_per_thread : driver->stream_id;
  unsigned long long value = 0;
  if (query == nullptr) return CUPTI_ERROR_NOT_SUPPORTED;
  if (query(stream, &value) != CUDA_SUCCESS) return CUPTI_ERROR_INVALID_STREAM;
  *id = static_cast<uint32_t>(value);
  return CUPTI_SUCCESS;
}

}  // namespace

extern "C" {

CUptiResult CUPTIAPI cuptiGetVersion(uint32_t* version) {
  if (version == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *version = CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}

// Nanoseconds since the Unix epoch.
CUptiResult CUPTIAPI cuptiGetTimestamp(uint64_t* timestamp) {
  if (timestamp == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  *timestamp = static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult result, const char** text) {
  return ResultText(result, text);
}

CUptiResult CUPTIAPI cuptiGetErrorMessage(CUptiResult result, const char** text) {
  return ResultText(result, text);
}

CUptiResult CUPTIAPI cuptiGetContextId(CUcontext context, uint32_t* id) {
  const sim::Driver* driver = sim::FindDriver();
  unsigned long long value = 0;
  if (id == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (driver == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  if (driver->context_id == nullptr) return CUPTI_ERROR_NOT_SUPPORTED;
  if (driver->context_id(context, &value) != CUDA_SUCCESS) return CUPTI_ERROR_INVALID_CONTEXT;
  *id = static_cast<uint32_t>(value);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetDeviceId(CUcontext context, uint32_t* id) {
  const sim::Driver* driver = sim::FindDriver();
  if (id == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (driver == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  if (driver->device_of_current_context == nullptr || driver->push_context == nullptr ||
      driver->pop_context == nullptr) {
    return CUPTI_ERROR_NOT_SUPPORTED;
  }
  // Null means the current context.
  if (context != nullptr && driver->push_context(context) != CUDA_SUCCESS) {
    return CUPTI_ERROR_INVALID_CONTEXT;
  }
  CUdevice device = 0;
  const CUresult result = driver->device_of_current_context(&device);
  if (context != nullptr) driver->pop_context(nullptr);
  if (result != CUDA_SUCCESS) return CUPTI_ERROR_INVALID_CONTEXT;
  *id = static_cast<uint32_t>(device);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetStreamId(CUcontext, CUstream stream, uint32_t* id) {
  return StreamId(stream, false, id);
}

CUptiResult CUPTIAPI cuptiGetStreamIdEx(CUcontext, CUstream stream, uint8_t per_thread_stream,
                                        uint32_t* id) {
  return StreamId(stream, per_thread_stream != 0, id);
}

}  // extern "C"
