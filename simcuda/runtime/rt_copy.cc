// Copies, fills and access to variables.
#include <cuda_runtime_api.h>

#include <cstring>

#include "simcuda/runtime/copy_box.h"
#include "simcuda/runtime/registry.h"
#include "simcuda/runtime/state.h"

using memprof::simcuda::runtime::Address;
using memprof::simcuda::runtime::ArrayOf;
using memprof::simcuda::runtime::BoxOf;
using memprof::simcuda::runtime::Calls;
using memprof::simcuda::runtime::CurrentHandle;
using memprof::simcuda::runtime::FindVariable;
using memprof::simcuda::runtime::MemoryTypes;

namespace {

int Copy(const Calls& cu, void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  if (bytes == 0) return CUDA_SUCCESS;
  switch (kind) {
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
      return cu.cuMemcpy(Address(to), Address(from), bytes);
    case cudaMemcpyHostToDevice:
      return cu.cuMemcpyHtoD_v2(Address(to), from, bytes);
    case cudaMemcpyDeviceToHost:
      return cu.cuMemcpyDtoH_v2(to, Address(from), bytes);
    case cudaMemcpyDeviceToDevice:
      return cu.cuMemcpyDtoD_v2(Address(to), Address(from), bytes);
  }
  return cudaErrorInvalidMemcpyDirection;
}

int CopyAsync(const Calls& cu, void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
              cudaStream_t stream) {
  if (bytes == 0) return CUDA_SUCCESS;
  switch (kind) {
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
      return cu.cuMemcpyAsync(Address(to), Address(from), bytes, stream);
    case cudaMemcpyHostToDevice:
      return cu.cuMemcpyHtoDAsync_v2(Address(to), from, bytes, stream);
    case cudaMemcpyDeviceToHost:
      return cu.cuMemcpyDtoHAsync_v2(to, Address(from), bytes, stream);
    case cudaMemcpyDeviceToDevice:
      return cu.cuMemcpyDtoDAsync_v2(Address(to), Address(from), bytes, stream);
  }
  return cudaErrorInvalidMemcpyDirection;
}

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

// Where in a variable a copy starts.
int Place(const void* symbol, size_t offset, size_t count, CUdeviceptr* address) {
  size_t bytes = 0;
  const int error = FindVariable(symbol, address, &bytes);
  if (error != 0) return error;
  if (offset > bytes || count > bytes - offset) return cudaErrorInvalidValue;
  *address += offset;
  return CUDA_SUCCESS;
}

void* Pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

}  // namespace

SIMCUDA_RT_STREAM(cudaMemcpy, _ptds,
                  (void* to, const void* from, size_t bytes, cudaMemcpyKind kind),
                  (to, from, bytes, kind)) {
  return Copy(cu, to, from, bytes, kind);
}

SIMCUDA_RT_STREAM(cudaMemcpyAsync, _ptsz,
                  (void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                   cudaStream_t stream),
                  (to, from, bytes, kind, stream)) {
  return CopyAsync(cu, to, from, bytes, kind, stream);
}

SIMCUDA_RT(cudaMemcpyPeer,
           (void* to, int /*to_device*/, const void* from, int /*from_device*/, size_t bytes),
           (to, 0, from, 0, bytes)) {
  return bytes == 0 ? CUDA_SUCCESS : cu.cuMemcpyDtoD_v2(Address(to), Address(from), bytes);
}

SIMCUDA_RT(cudaMemcpyPeerAsync,
           (void* to, int /*to_device*/, const void* from, int /*from_device*/, size_t bytes,
            cudaStream_t stream),
           (to, 0, from, 0, bytes, stream)) {
  return bytes == 0 ? CUDA_SUCCESS
                    : cu.cuMemcpyDtoDAsync_v2(Address(to), Address(from), bytes, stream);
}

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

SIMCUDA_RT_STREAM(cudaMemcpy3D, _ptds, (const cudaMemcpy3DParms* parameters), (parameters)) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  CUDA_MEMCPY3D copy;
  const int result = BoxOf(cu, *parameters, &copy);
  return result != CUDA_SUCCESS ? result : cu.cuMemcpy3D_v2(&copy);
}

SIMCUDA_RT_STREAM(cudaMemcpy3DAsync, _ptsz,
                  (const cudaMemcpy3DParms* parameters, cudaStream_t stream),
                  (parameters, stream)) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  CUDA_MEMCPY3D copy;
  const int result = BoxOf(cu, *parameters, &copy);
  return result != CUDA_SUCCESS ? result : cu.cuMemcpy3DAsync_v2(&copy, stream);
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

SIMCUDA_RT(cudaGetSymbolAddress, (void** pointer, const void* symbol), (pointer, symbol)) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  size_t bytes = 0;
  return FindVariable(symbol, reinterpret_cast<CUdeviceptr*>(pointer), &bytes);
}

SIMCUDA_RT(cudaGetSymbolSize, (size_t * size, const void* symbol), (size, symbol)) {
  if (size == nullptr) return cudaErrorInvalidValue;
  CUdeviceptr address = 0;
  return FindVariable(symbol, &address, size);
}

SIMCUDA_RT_STREAM(cudaMemcpyToSymbol, _ptds,
                  (const void* symbol, const void* from, size_t count, size_t offset,
                   cudaMemcpyKind kind),
                  (symbol, from, count, offset, kind)) {
  CUdeviceptr address = 0;
  const int result = Place(symbol, offset, count, &address);
  return result != CUDA_SUCCESS ? result : Copy(cu, Pointer(address), from, count, kind);
}

SIMCUDA_RT_STREAM(cudaMemcpyFromSymbol, _ptds,
                  (void* to, const void* symbol, size_t count, size_t offset, cudaMemcpyKind kind),
                  (to, symbol, count, offset, kind)) {
  CUdeviceptr address = 0;
  const int result = Place(symbol, offset, count, &address);
  return result != CUDA_SUCCESS ? result : Copy(cu, to, Pointer(address), count, kind);
}

SIMCUDA_RT_STREAM(cudaMemcpyToSymbolAsync, _ptsz,
                  (const void* symbol, const void* from, size_t count, size_t offset,
                   cudaMemcpyKind kind, cudaStream_t stream),
                  (symbol, from, count, offset, kind, stream)) {
  CUdeviceptr address = 0;
  const int result = Place(symbol, offset, count, &address);
  return result != CUDA_SUCCESS ? result
                                : CopyAsync(cu, Pointer(address), from, count, kind, stream);
}

SIMCUDA_RT_STREAM(cudaMemcpyFromSymbolAsync, _ptsz,
                  (void* to, const void* symbol, size_t count, size_t offset, cudaMemcpyKind kind,
                   cudaStream_t stream),
                  (to, symbol, count, offset, kind, stream)) {
  CUdeviceptr address = 0;
  const int result = Place(symbol, offset, count, &address);
  return result != CUDA_SUCCESS ? result : CopyAsync(cu, to, Pointer(address), count, kind, stream);
}
