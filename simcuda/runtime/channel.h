// Channel descriptors of the runtime and formats of the driver.
#ifndef SIMCUDA_RUNTIME_CHANNEL_H
#define SIMCUDA_RUNTIME_CHANNEL_H

#include <cuda_runtime_api.h>

#include "simcuda/runtime/calls.h"

namespace memprof::simcuda::runtime {

// The driver's format for a channel descriptor; false if there is none.
bool Format(const cudaChannelFormatDesc& channel, CUarray_format* format, unsigned* channels);
cudaChannelFormatDesc Channel(CUarray_format format, unsigned channels);

}  // namespace memprof::simcuda::runtime

#endif  // SIMCUDA_RUNTIME_CHANNEL_H
