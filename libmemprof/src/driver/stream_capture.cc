// Calls whichever version of the query the driver has.
#include "libmemprof/src/driver/stream_capture.h"

namespace memprof::recorder {

bool Capturing(FunctionId id, CUstream stream, CUgraph* graph) {
  const CalledFunctions& driver = Driver();
  // In half of the functions, a null stream is the thread's own.
  if (stream == nullptr && UsesThreadStream(id)) stream = CU_STREAM_PER_THREAD;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (driver.cuStreamIsCapturing == nullptr ||
      driver.cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS ||
      status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
    return false;
  if (graph == nullptr) return true;
  if (driver.cuStreamGetCaptureInfo_v2 != nullptr &&
      driver.cuStreamGetCaptureInfo_v2(stream, &status, nullptr, graph, nullptr, nullptr) ==
          CUDA_SUCCESS)
    return true;
  if (driver.cuStreamGetCaptureInfo_v3 != nullptr)
    driver.cuStreamGetCaptureInfo_v3(stream, &status, nullptr, graph, nullptr, nullptr, nullptr);
  return true;
}

std::uint64_t CaptureId(CUstream stream) {
  const CalledFunctions& driver = Driver();
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  CUresult result = CUDA_ERROR_NOT_SUPPORTED;
  if (driver.cuStreamGetCaptureInfo_v2 != nullptr)
    result = driver.cuStreamGetCaptureInfo_v2(stream, &status, &id, nullptr, nullptr, nullptr);
  else if (driver.cuStreamGetCaptureInfo_v3 != nullptr)
    result =
        driver.cuStreamGetCaptureInfo_v3(stream, &status, &id, nullptr, nullptr, nullptr, nullptr);
  return result == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? id : 0;
}

}  // namespace memprof::recorder
