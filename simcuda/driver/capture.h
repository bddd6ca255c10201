// Stream capture.
#ifndef SIMCUDA_DRIVER_CAPTURE_H
#define SIMCUDA_DRIVER_CAPTURE_H

#include <memory>

#include "simcuda/driver/stream.h"

namespace memprof::simcuda {

inline bool IsCapturing(const std::shared_ptr<Stream>& /*stream*/) { return false; }
inline CUresult CaptureWork(const std::shared_ptr<Stream>& /*stream*/, CUgraphNodeType /*type*/,
                            std::function<void()> /*work*/) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_CAPTURE_H
