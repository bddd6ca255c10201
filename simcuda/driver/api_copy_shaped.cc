// Copies of rectangles and boxes, and copies to and from arrays.
#include <algorithm>

#include "driver_api.h"
#include "simcuda/driver/array.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/copy.h"
#include "simcuda/driver/graph.h"

namespace memprof::simcuda {
namespace {

// One side of CUDA_MEMCPY2D or CUDA_MEMCPY3D.
struct SideSpec {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  CUarray array;
  size_t pitch;
  size_t height;  // rows from one slice to the next; 0: as many as are copied
  size_t x;
  size_t y;
  size_t z;
};

CUresult ArraySide(CUarray handle, const SideSpec& spec, const CopyShape& shape, CopySide* side) {
  const auto array = AllHandles<Array>().Find(handle);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const auto& descriptor = array->descriptor();
  const uint64_t row = descriptor.Width * array->element_bytes();
  const uint64_t rows = std::max<uint64_t>(descriptor.Height, 1);
  const uint64_t slices = std::max<uint64_t>(descriptor.Depth, 1);
  const bool inside = spec.x <= row && shape.width <= row - spec.x && spec.y <= rows &&
                      shape.height <= rows - spec.y && spec.z <= slices &&
                      shape.depth <= slices - spec.z;
  if (!inside) return CUDA_ERROR_INVALID_VALUE;
  side->array = array;
  side->row_bytes = array->row_bytes();
  side->slice_bytes = array->slice_bytes();
  side->base = array->data() + spec.z * side->slice_bytes + spec.y * side->row_bytes + spec.x;
  return CUDA_SUCCESS;
}

CUresult MakeSide(const SideSpec& spec, const CopyShape& shape, CopySide* side) {
  *side = {};
  if (spec.type == CU_MEMORYTYPE_ARRAY) return ArraySide(spec.array, spec, shape, side);
  switch (spec.type) {
    case CU_MEMORYTYPE_HOST:
      *side = HostSide(spec.host);
      break;
    case CU_MEMORYTYPE_DEVICE: {
      const CUresult known = DeviceSide(spec.device, shape.width, side);
      if (known != CUDA_SUCCESS) return known;
      break;
    }
    case CU_MEMORYTYPE_UNIFIED:
      UnifiedSide(spec.device, shape.width, side);
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  uint64_t needed = 0;
  if (__builtin_add_overflow(spec.x, shape.width, &needed)) return CUDA_ERROR_INVALID_VALUE;
  side->row_bytes = spec.pitch == 0 ? needed : spec.pitch;
  if (side->row_bytes < needed) return CUDA_ERROR_INVALID_VALUE;
  const uint64_t rows = std::max<uint64_t>(spec.height, spec.y + shape.height);
  uint64_t skipped_slices = 0;
  uint64_t skipped_rows = 0;
  if (__builtin_mul_overflow(side->row_bytes, rows, &side->slice_bytes) ||
      __builtin_mul_overflow(side->slice_bytes, spec.z, &skipped_slices) ||
      __builtin_mul_overflow(side->row_bytes, spec.y, &skipped_rows)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  side->base += skipped_slices + skipped_rows + spec.x;
  return CUDA_SUCCESS;
}

CUresult CopyBox(const SideSpec& to, const SideSpec& from, const CopyShape& shape, CopyWhen when,
                 CUstream stream) {
  if (shape.width == 0 || shape.height == 0 || shape.depth == 0) return CUDA_SUCCESS;
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> resolved;
  CUresult result = RequireStream(stream, &context, &resolved);
  CopySide destination;
  CopySide source;
  if (result == CUDA_SUCCESS) result = MakeSide(to, shape, &destination);
  if (result == CUDA_SUCCESS) result = MakeSide(from, shape, &source);
  if (result != CUDA_SUCCESS) return result;
  return EnqueueCopy(destination, source, shape, when, stream);
}

CUresult Copy2D(const CUDA_MEMCPY2D* p, CopyWhen when, CUstream stream) {
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return CopyBox({p->dstMemoryType, p->dstHost, p->dstDevice, p->dstArray, p->dstPitch, 0,
                  p->dstXInBytes, p->dstY, 0},
                 {p->srcMemoryType, p->srcHost, p->srcDevice, p->srcArray, p->srcPitch, 0,
                  p->srcXInBytes, p->srcY, 0},
                 {p->WidthInBytes, p->Height, 1}, when, stream);
}

// CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER share these fields.
template <class Parameters>
SideSpec Destination(const Parameters& p) {
  return {p.dstMemoryType, p.dstHost,     p.dstDevice, p.dstArray, p.dstPitch,
          p.dstHeight,     p.dstXInBytes, p.dstY,      p.dstZ};
}
template <class Parameters>
SideSpec Source(const Parameters& p) {
  return {p.srcMemoryType, p.srcHost,     p.srcDevice, p.srcArray, p.srcPitch,
          p.srcHeight,     p.srcXInBytes, p.srcY,      p.srcZ};
}

template <class Parameters>
CUresult Copy3D(const Parameters* p, CopyWhen when, CUstream stream) {
  if (p == nullptr || p->srcLOD != 0 || p->dstLOD != 0) return CUDA_ERROR_INVALID_VALUE;
  return CopyBox(Destination(*p), Source(*p), {p->WidthInBytes, p->Height, p->Depth}, when, stream);
}

// Copies between plain memory and a one-dimensional array.
SideSpec FlatArray(CUarray array, size_t offset) {
  return {CU_MEMORYTYPE_ARRAY, nullptr, 0, array, 0, 0, offset, 0, 0};
}
SideSpec FlatHost(const void* host) {
  return {CU_MEMORYTYPE_HOST, host, 0, nullptr, 0, 0, 0, 0, 0};
}
SideSpec FlatDevice(CUdeviceptr device) {
  return {CU_MEMORYTYPE_DEVICE, nullptr, device, nullptr, 0, 0, 0, 0, 0};
}

}  // namespace

CUresult BoxCopyWork(const CUDA_MEMCPY3D& copy, std::function<void()>* work) {
  const CopyShape shape = {copy.WidthInBytes, copy.Height, copy.Depth};
  if (shape.width == 0 || shape.height == 0 || shape.depth == 0 || copy.srcLOD != 0 ||
      copy.dstLOD != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CopySide destination;
  CopySide source;
  CUresult result = MakeSide(Destination(copy), shape, &destination);
  if (result == CUDA_SUCCESS) result = MakeSide(Source(copy), shape, &source);
  if (result != CUDA_SUCCESS) return result;
  if (!CheckSide(destination, shape) || !CheckSide(source, shape)) return CUDA_ERROR_INVALID_VALUE;
  *work = CopyWork(destination, source, shape);
  return CUDA_SUCCESS;
}

namespace api {

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* pCopy) {
  return Copy2D(pCopy, CopyWhen::kSynchronous, nullptr);
}
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* pCopy) {
  return Copy2D(pCopy, CopyWhen::kSynchronous, nullptr);
}
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* pCopy, CUstream hStream) {
  return Copy2D(pCopy, CopyWhen::kAsynchronous, hStream);
}
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* pCopy) {
  return Copy3D(pCopy, CopyWhen::kSynchronous, nullptr);
}
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* pCopy, CUstream hStream) {
  return Copy3D(pCopy, CopyWhen::kAsynchronous, hStream);
}
CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* pCopy) {
  return Copy3D(pCopy, CopyWhen::kSynchronous, nullptr);
}
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* pCopy, CUstream hStream) {
  return Copy3D(pCopy, CopyWhen::kAsynchronous, hStream);
}
CUresult cuMemcpyHtoA_v2(CUarray dstArray, size_t dstOffset, const void* srcHost,
                         size_t ByteCount) {
  return CopyBox(FlatArray(dstArray, dstOffset), FlatHost(srcHost), {ByteCount, 1, 1},
                 CopyWhen::kSynchronous, nullptr);
}
CUresult cuMemcpyHtoAAsync_v2(CUarray dstArray, size_t dstOffset, const void* srcHost,
                              size_t ByteCount, CUstream hStream) {
  return CopyBox(FlatArray(dstArray, dstOffset), FlatHost(srcHost), {ByteCount, 1, 1},
                 CopyWhen::kAsynchronous, hStream);
}
CUresult cuMemcpyAtoH_v2(void* dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount) {
  return CopyBox(FlatHost(dstHost), FlatArray(srcArray, srcOffset), {ByteCount, 1, 1},
                 CopyWhen::kSynchronous, nullptr);
}
CUresult cuMemcpyAtoHAsync_v2(void* dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount,
                              CUstream hStream) {
  return CopyBox(FlatHost(dstHost), FlatArray(srcArray, srcOffset), {ByteCount, 1, 1},
                 CopyWhen::kAsynchronous, hStream);
}
CUresult cuMemcpyDtoA_v2(CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice,
                         size_t ByteCount) {
  return CopyBox(FlatArray(dstArray, dstOffset), FlatDevice(srcDevice), {ByteCount, 1, 1},
                 CopyWhen::kSynchronous, nullptr);
}
CUresult cuMemcpyAtoD_v2(CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset,
                         size_t ByteCount) {
  return CopyBox(FlatDevice(dstDevice), FlatArray(srcArray, srcOffset), {ByteCount, 1, 1},
                 CopyWhen::kSynchronous, nullptr);
}
CUresult cuMemcpyAtoA_v2(CUarray dstArray, size_t dstOffset, CUarray srcArray, size_t srcOffset,
                         size_t ByteCount) {
  return CopyBox(FlatArray(dstArray, dstOffset), FlatArray(srcArray, srcOffset), {ByteCount, 1, 1},
                 CopyWhen::kSynchronous, nullptr);
}

}  // namespace api
}  // namespace memprof::simcuda
