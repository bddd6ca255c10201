// The stream that PyTorch allocates for: that of the allocator's caller, which the report of a
// block does not contain. It is queried by the two functions that every CUDA extension of PyTorch
// uses (c10::cuda::getCurrentCUDAStream and CUDAStream::stream, the same in all of 2.x).
//
// Thread-safe. PyTorch may hold locks of its allocator: these functions take none of them. They are
// called for the device of a block that was just allocated, which is a device that they know.
#pragma once

#include <cstdint>

namespace memprof::recorder {

// Handle of the calling thread's stream on a device; 0 = the default stream, or not known. The
// thread is bound to the recording.
std::uint64_t TorchStreamHere(std::int32_t device);

}  // namespace memprof::recorder
