// Copies of boxes and arrays as the driver describes them.
#include "simcuda/runtime/copy_box.h"

namespace memprof::simcuda::runtime {
namespace {

// The bytes of an element, and the number of elements in a row.
int MeasureArray(const Calls& cu, cudaArray_const_t array, size_t* bytes, size_t* width) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor;
  const CUresult result = cu.cuArray3DGetDescriptor_v2(&descriptor, ArrayOf(array));
  if (result != CUDA_SUCCESS) return result;
  *width = descriptor.Width;
  const CUarray_format format = descriptor.Format;
  const size_t channel = format == CU_AD_FORMAT_UNSIGNED_INT8 || format == CU_AD_FORMAT_SIGNED_INT8
                             ? 1
                         : format == CU_AD_FORMAT_UNSIGNED_INT16 ||
                                 format == CU_AD_FORMAT_SIGNED_INT16 || format == CU_AD_FORMAT_HALF
                             ? 2
                             : 4;
  *bytes = channel * descriptor.NumChannels;
  return CUDA_SUCCESS;
}

// Widths and x positions of arrays count elements, those of plain memory bytes.
int ElementBytes(const Calls& cu, cudaArray_const_t from, cudaArray_const_t to, size_t* bytes) {
  *bytes = 1;
  size_t width = 0;
  const cudaArray_const_t array = from != nullptr ? from : to;
  return array == nullptr ? 0 : MeasureArray(cu, array, bytes, &width);
}

}  // namespace

int RowBytes(const Calls& cu, cudaArray_const_t array, size_t* bytes) {
  size_t width = 0;
  const int error = MeasureArray(cu, array, bytes, &width);
  *bytes *= width;
  return error;
}

void MemoryTypes(cudaMemcpyKind kind, CUmemorytype* to, CUmemorytype* from) {
  *to = *from = CU_MEMORYTYPE_UNIFIED;
  if (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost) *from = CU_MEMORYTYPE_HOST;
  if (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost) *to = CU_MEMORYTYPE_HOST;
}

CUarray ArrayOf(cudaArray_const_t array) {
  return reinterpret_cast<CUarray>(const_cast<cudaArray_t>(array));
}

int BoxOf(const Calls& cu, const cudaMemcpy3DParms& p, CUDA_MEMCPY3D* copy) {
  size_t element = 1;
  const int result = ElementBytes(cu, p.srcArray, p.dstArray, &element);
  if (result != CUDA_SUCCESS) return result;
  *copy = {};
  MemoryTypes(p.kind, &copy->dstMemoryType, &copy->srcMemoryType);
  copy->srcXInBytes = p.srcPos.x * (p.srcArray != nullptr ? element : 1);
  copy->srcY = p.srcPos.y;
  copy->srcZ = p.srcPos.z;
  copy->dstXInBytes = p.dstPos.x * (p.dstArray != nullptr ? element : 1);
  copy->dstY = p.dstPos.y;
  copy->dstZ = p.dstPos.z;
  copy->srcHost = p.srcPtr.ptr;
  copy->srcDevice = Address(p.srcPtr.ptr);
  copy->srcPitch = p.srcPtr.pitch;
  copy->srcHeight = p.srcPtr.ysize;
  copy->dstHost = p.dstPtr.ptr;
  copy->dstDevice = Address(p.dstPtr.ptr);
  copy->dstPitch = p.dstPtr.pitch;
  copy->dstHeight = p.dstPtr.ysize;
  if (p.srcArray != nullptr) {
    copy->srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy->srcArray = ArrayOf(p.srcArray);
  }
  if (p.dstArray != nullptr) {
    copy->dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy->dstArray = ArrayOf(p.dstArray);
  }
  copy->WidthInBytes = p.extent.width * element;
  copy->Height = p.extent.height;
  copy->Depth = p.extent.depth;
  return CUDA_SUCCESS;
}

int BoxFrom(const Calls& cu, const CUDA_MEMCPY3D& copy, cudaMemcpy3DParms* p) {
  const bool from_array = copy.srcMemoryType == CU_MEMORYTYPE_ARRAY;
  const bool to_array = copy.dstMemoryType == CU_MEMORYTYPE_ARRAY;
  *p = {};
  if (from_array) p->srcArray = reinterpret_cast<cudaArray_t>(copy.srcArray);
  if (to_array) p->dstArray = reinterpret_cast<cudaArray_t>(copy.dstArray);
  size_t element = 1;
  const int error = ElementBytes(cu, p->srcArray, p->dstArray, &element);
  if (error != 0) return error;
  p->srcPos = {copy.srcXInBytes / (from_array ? element : 1), copy.srcY, copy.srcZ};
  p->dstPos = {copy.dstXInBytes / (to_array ? element : 1), copy.dstY, copy.dstZ};
  const bool from_host = copy.srcMemoryType == CU_MEMORYTYPE_HOST;
  const bool to_host = copy.dstMemoryType == CU_MEMORYTYPE_HOST;
  const void* from = from_host ? copy.srcHost : reinterpret_cast<const void*>(copy.srcDevice);
  void* to = to_host ? copy.dstHost : reinterpret_cast<void*>(copy.dstDevice);
  if (!from_array) {
    p->srcPtr = {const_cast<void*>(from), copy.srcPitch, copy.srcPitch, copy.srcHeight};
  }
  if (!to_array) p->dstPtr = {to, copy.dstPitch, copy.dstPitch, copy.dstHeight};
  p->extent = {copy.WidthInBytes / element, copy.Height, copy.Depth};
  p->kind = from_host && to_host ? cudaMemcpyHostToHost
            : from_host          ? cudaMemcpyHostToDevice
            : to_host            ? cudaMemcpyDeviceToHost
                                 : cudaMemcpyDefault;
  return CUDA_SUCCESS;
}

}  // namespace memprof::simcuda::runtime
