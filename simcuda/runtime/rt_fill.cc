// Fills.
#include <cuda_runtime_api.h>

#include "simcuda/runtime/state.h"

using memprof::simcuda::runtime::Address;

SIMCUDA_RT_STREAM(cudaMemset, _ptds, (void* pointer, int value, size_t bytes),
                  (pointer, value, bytes)) {
  return cu.cuMemsetD8_v2(Address(pointer), static_cast<unsigned char>(value), bytes);
}

SIMCUDA_RT_STREAM(cudaMemsetAsync, _ptsz,
                  (void* pointer, int value, size_t bytes, cudaStream_t stream),
                  (pointer, value, bytes, stream)) {
  return cu.cuMemsetD8Async(Address(pointer), static_cast<unsigned char>(value), bytes, stream);
}

SIMCUDA_RT_STREAM(cudaMemset2D, _ptds,
                  (void* pointer, size_t pitch, int value, size_t width, size_t height),
                  (pointer, pitch, value, width, height)) {
  return cu.cuMemsetD2D8_v2(Address(pointer), pitch, static_cast<unsigned char>(value), width,
                            height);
}

SIMCUDA_RT_STREAM(cudaMemset2DAsync, _ptsz,
                  (void* pointer, size_t pitch, int value, size_t width, size_t height,
                   cudaStream_t stream),
                  (pointer, pitch, value, width, height, stream)) {
  return cu.cuMemsetD2D8Async(Address(pointer), pitch, static_cast<unsigned char>(value), width,
                              height, stream);
}

SIMCUDA_RT_STREAM(cudaMemset3D, _ptds, (cudaPitchedPtr pitched, int value, cudaExtent extent),
                  (pitched, value, extent)) {
  for (size_t z = 0; z < extent.depth; ++z) {
    const CUresult result =
        cu.cuMemsetD2D8_v2(Address(pitched.ptr) + z * pitched.pitch * pitched.ysize, pitched.pitch,
                           static_cast<unsigned char>(value), extent.width, extent.height);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

SIMCUDA_RT_STREAM(cudaMemset3DAsync, _ptsz,
                  (cudaPitchedPtr pitched, int value, cudaExtent extent, cudaStream_t stream),
                  (pitched, value, extent, stream)) {
  for (size_t z = 0; z < extent.depth; ++z) {
    const CUresult result = cu.cuMemsetD2D8Async(
        Address(pitched.ptr) + z * pitched.pitch * pitched.ysize, pitched.pitch,
        static_cast<unsigned char>(value), extent.width, extent.height, stream);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}
