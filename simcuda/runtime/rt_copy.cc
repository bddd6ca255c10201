// Copies, and access to variables. Rectangles: rt_copy_rectangle.cc, between arrays:
// rt_copy_array.cc; fills: rt_fill.cc.
#include <cuda_runtime_api.h>

#include <cstring>

#include "simcuda/runtime/copy_box.h"
#include "simcuda/runtime/registry.h"
#include "simcuda/runtime/state.h"

using memprof::simcuda::runtime::Address;
using memprof::simcuda::runtime::BoxOf;
using memprof::simcuda::runtime::Calls;
using memprof::simcuda::runtime::FindVariable;

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

// The address at which a copy in a variable starts.
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
