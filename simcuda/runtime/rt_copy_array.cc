// Copies that treat an array's rows as one line, and copies of boxes between devices.
#include <cuda_runtime_api.h>

#include <algorithm>

#include "simcuda/runtime/copy_box.h"
#include "simcuda/runtime/state.h"

using memprof::simcuda::runtime::ArrayOf;
using memprof::simcuda::runtime::BoxOf;
using memprof::simcuda::runtime::Calls;
using memprof::simcuda::runtime::MemoryTypes;
using memprof::simcuda::runtime::RowBytes;

namespace {

// One side of such a copy: plain memory, or an array from a given position.
struct Line {
  CUarray array = nullptr;
  uint8_t* memory = nullptr;
  size_t row_bytes = 0;
  size_t x = 0;
  size_t y = 0;
  size_t left() const { return array == nullptr ? SIZE_MAX : row_bytes - x; }
  void Advance(size_t bytes) {
    if (array == nullptr) {
      memory += bytes;
    } else if ((x += bytes) == row_bytes) {
      x = 0;
      ++y;
    }
  }
};

int ArrayLine(const Calls& cu, cudaArray_const_t array, size_t x, size_t y, Line* line) {
  *line = {ArrayOf(array), nullptr, 0, x, y};
  const int error = RowBytes(cu, array, &line->row_bytes);
  return error == 0 && x >= line->row_bytes ? static_cast<int>(cudaErrorInvalidValue) : error;
}

Line MemoryLine(const void* memory) {
  Line line;
  line.memory = static_cast<uint8_t*>(const_cast<void*>(memory));
  return line;
}

// Copies pieces that are contiguous on both sides.
template <class CopyRow>
int CopyLines(Line to, Line from, size_t bytes, cudaMemcpyKind kind, CopyRow copy_row) {
  while (bytes > 0) {
    CUDA_MEMCPY2D copy = {};
    MemoryTypes(kind, &copy.dstMemoryType, &copy.srcMemoryType);
    copy.WidthInBytes = std::min({bytes, to.left(), from.left()});
    copy.Height = 1;
    copy.srcHost = from.memory;
    copy.srcDevice = reinterpret_cast<CUdeviceptr>(from.memory);
    copy.dstHost = to.memory;
    copy.dstDevice = reinterpret_cast<CUdeviceptr>(to.memory);
    if (from.array != nullptr) copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    if (to.array != nullptr) copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = from.array;
    copy.dstArray = to.array;
    copy.srcXInBytes = from.x;
    copy.srcY = from.y;
    copy.dstXInBytes = to.x;
    copy.dstY = to.y;
    const int error = copy_row(copy);
    if (error != 0) return error;
    to.Advance(copy.WidthInBytes);
    from.Advance(copy.WidthInBytes);
    bytes -= copy.WidthInBytes;
  }
  return 0;
}

int PeerBox(const Calls& cu, const cudaMemcpy3DPeerParms& p, CUDA_MEMCPY3D* copy) {
  cudaMemcpy3DParms box = {};
  box.srcArray = p.srcArray;
  box.srcPos = p.srcPos;
  box.srcPtr = p.srcPtr;
  box.dstArray = p.dstArray;
  box.dstPos = p.dstPos;
  box.dstPtr = p.dstPtr;
  box.extent = p.extent;
  box.kind = cudaMemcpyDeviceToDevice;
  return BoxOf(cu, box, copy);
}

}  // namespace

SIMCUDA_RT_STREAM(cudaMemcpyToArray, _ptds,
                  (cudaArray_t array, size_t x, size_t y, const void* from, size_t bytes,
                   cudaMemcpyKind kind),
                  (array, x, y, from, bytes, kind)) {
  Line to;
  const int error = ArrayLine(cu, array, x, y, &to);
  if (error != 0) return error;
  return CopyLines(to, MemoryLine(from), bytes, kind,
                   [&](const CUDA_MEMCPY2D& copy) { return cu.cuMemcpy2DUnaligned_v2(&copy); });
}

SIMCUDA_RT_STREAM(cudaMemcpyFromArray, _ptds,
                  (void* to, cudaArray_const_t array, size_t x, size_t y, size_t bytes,
                   cudaMemcpyKind kind),
                  (to, array, x, y, bytes, kind)) {
  Line from;
  const int error = ArrayLine(cu, array, x, y, &from);
  if (error != 0) return error;
  return CopyLines(MemoryLine(to), from, bytes, kind,
                   [&](const CUDA_MEMCPY2D& copy) { return cu.cuMemcpy2DUnaligned_v2(&copy); });
}

SIMCUDA_RT_STREAM(cudaMemcpyToArrayAsync, _ptsz,
                  (cudaArray_t array, size_t x, size_t y, const void* from, size_t bytes,
                   cudaMemcpyKind kind, cudaStream_t stream),
                  (array, x, y, from, bytes, kind, stream)) {
  Line to;
  const int error = ArrayLine(cu, array, x, y, &to);
  if (error != 0) return error;
  return CopyLines(to, MemoryLine(from), bytes, kind,
                   [&](const CUDA_MEMCPY2D& copy) { return cu.cuMemcpy2DAsync_v2(&copy, stream); });
}

SIMCUDA_RT_STREAM(cudaMemcpyFromArrayAsync, _ptsz,
                  (void* to, cudaArray_const_t array, size_t x, size_t y, size_t bytes,
                   cudaMemcpyKind kind, cudaStream_t stream),
                  (to, array, x, y, bytes, kind, stream)) {
  Line from;
  const int error = ArrayLine(cu, array, x, y, &from);
  if (error != 0) return error;
  return CopyLines(MemoryLine(to), from, bytes, kind,
                   [&](const CUDA_MEMCPY2D& copy) { return cu.cuMemcpy2DAsync_v2(&copy, stream); });
}

SIMCUDA_RT_STREAM(cudaMemcpyArrayToArray, _ptds,
                  (cudaArray_t to_array, size_t to_x, size_t to_y, cudaArray_const_t from_array,
                   size_t from_x, size_t from_y, size_t bytes, cudaMemcpyKind kind),
                  (to_array, to_x, to_y, from_array, from_x, from_y, bytes, kind)) {
  Line to;
  Line from;
  int error = ArrayLine(cu, to_array, to_x, to_y, &to);
  if (error == 0) error = ArrayLine(cu, from_array, from_x, from_y, &from);
  if (error != 0) return error;
  return CopyLines(to, from, bytes, kind,
                   [&](const CUDA_MEMCPY2D& copy) { return cu.cuMemcpy2DUnaligned_v2(&copy); });
}

SIMCUDA_RT_STREAM(cudaMemcpy3DPeer, _ptds, (const cudaMemcpy3DPeerParms* parameters),
                  (parameters)) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  CUDA_MEMCPY3D copy;
  const int error = PeerBox(cu, *parameters, &copy);
  return error != 0 ? error : cu.cuMemcpy3D_v2(&copy);
}

SIMCUDA_RT_STREAM(cudaMemcpy3DPeerAsync, _ptsz,
                  (const cudaMemcpy3DPeerParms* parameters, cudaStream_t stream),
                  (parameters, stream)) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  CUDA_MEMCPY3D copy;
  const int error = PeerBox(cu, *parameters, &copy);
  return error != 0 ? error : cu.cuMemcpy3DAsync_v2(&copy, stream);
}
