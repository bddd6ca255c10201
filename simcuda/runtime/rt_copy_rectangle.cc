// Copies of rectangles, from and to memory and arrays.
#include <cuda_runtime_api.h>

#include "simcuda/runtime/copy_box.h"
#include "simcuda/runtime/state.h"

using memprof::simcuda::runtime::Address;
using memprof::simcuda::runtime::ArrayOf;
using memprof::simcuda::runtime::MemoryTypes;

namespace {

CUDA_MEMCPY2D Rectangle(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                        size_t width, size_t height, cudaMemcpyKind kind) {
  CUDA_MEMCPY2D copy = {};
  MemoryTypes(kind, &copy.dstMemoryType, &copy.srcMemoryType);
  copy.srcHost = from;
  copy.srcDevice = Address(from);
  copy.srcPitch = from_pitch;
  copy.dstHost = to;
  copy.dstDevice = Address(to);
  copy.dstPitch = to_pitch;
  copy.WidthInBytes = width;
  copy.Height = height;
  return copy;
}

CUDA_MEMCPY2D IntoArray(cudaArray_t array, size_t x, size_t y, const void* from, size_t pitch,
                        size_t width, size_t height, cudaMemcpyKind kind) {
  CUDA_MEMCPY2D copy = Rectangle(nullptr, 0, from, pitch, width, height, kind);
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = ArrayOf(array);
  copy.dstXInBytes = x;
  copy.dstY = y;
  return copy;
}

CUDA_MEMCPY2D OutOfArray(void* to, size_t pitch, cudaArray_const_t array, size_t x, size_t y,
                         size_t width, size_t height, cudaMemcpyKind kind) {
  CUDA_MEMCPY2D copy = Rectangle(to, pitch, nullptr, 0, width, height, kind);
  copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.srcArray = ArrayOf(array);
  copy.srcXInBytes = x;
  copy.srcY = y;
  return copy;
}

}  // namespace

SIMCUDA_RT_STREAM(cudaMemcpy2D, _ptds,
                  (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                   size_t height, cudaMemcpyKind kind),
                  (to, to_pitch, from, from_pitch, width, height, kind)) {
  if (width == 0 || height == 0) return CUDA_SUCCESS;
  if (width > to_pitch || width > from_pitch) return cudaErrorInvalidPitchValue;
  const CUDA_MEMCPY2D copy = Rectangle(to, to_pitch, from, from_pitch, width, height, kind);
  return cu.cuMemcpy2DUnaligned_v2(&copy);
}

SIMCUDA_RT_STREAM(cudaMemcpy2DAsync, _ptsz,
                  (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                   size_t height, cudaMemcpyKind kind, cudaStream_t stream),
                  (to, to_pitch, from, from_pitch, width, height, kind, stream)) {
  if (width == 0 || height == 0) return CUDA_SUCCESS;
  if (width > to_pitch || width > from_pitch) return cudaErrorInvalidPitchValue;
  const CUDA_MEMCPY2D copy = Rectangle(to, to_pitch, from, from_pitch, width, height, kind);
  return cu.cuMemcpy2DAsync_v2(&copy, stream);
}

SIMCUDA_RT_STREAM(cudaMemcpy2DToArray, _ptds,
                  (cudaArray_t array, size_t x, size_t y, const void* from, size_t pitch,
                   size_t width, size_t height, cudaMemcpyKind kind),
                  (array, x, y, from, pitch, width, height, kind)) {
  const CUDA_MEMCPY2D copy = IntoArray(array, x, y, from, pitch, width, height, kind);
  return cu.cuMemcpy2DUnaligned_v2(&copy);
}

SIMCUDA_RT_STREAM(cudaMemcpy2DFromArray, _ptds,
                  (void* to, size_t pitch, cudaArray_const_t array, size_t x, size_t y,
                   size_t width, size_t height, cudaMemcpyKind kind),
                  (to, pitch, array, x, y, width, height, kind)) {
  const CUDA_MEMCPY2D copy = OutOfArray(to, pitch, array, x, y, width, height, kind);
  return cu.cuMemcpy2DUnaligned_v2(&copy);
}

SIMCUDA_RT_STREAM(cudaMemcpy2DToArrayAsync, _ptsz,
                  (cudaArray_t array, size_t x, size_t y, const void* from, size_t pitch,
                   size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream),
                  (array, x, y, from, pitch, width, height, kind, stream)) {
  const CUDA_MEMCPY2D copy = IntoArray(array, x, y, from, pitch, width, height, kind);
  return cu.cuMemcpy2DAsync_v2(&copy, stream);
}

SIMCUDA_RT_STREAM(cudaMemcpy2DFromArrayAsync, _ptsz,
                  (void* to, size_t pitch, cudaArray_const_t array, size_t x, size_t y,
                   size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream),
                  (to, pitch, array, x, y, width, height, kind, stream)) {
  const CUDA_MEMCPY2D copy = OutOfArray(to, pitch, array, x, y, width, height, kind);
  return cu.cuMemcpy2DAsync_v2(&copy, stream);
}

SIMCUDA_RT_STREAM(cudaMemcpy2DArrayToArray, _ptds,
                  (cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t from_x,
                   size_t from_y, size_t width, size_t height, cudaMemcpyKind kind),
                  (to, to_x, to_y, from, from_x, from_y, width, height, kind)) {
  CUDA_MEMCPY2D copy = IntoArray(to, to_x, to_y, nullptr, 0, width, height, kind);
  copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.srcArray = ArrayOf(from);
  copy.srcXInBytes = from_x;
  copy.srcY = from_y;
  return cu.cuMemcpy2DUnaligned_v2(&copy);
}
