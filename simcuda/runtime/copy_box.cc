// Copies of boxes and arrays as the driver describes them.
#include "simcuda/runtime/copy_box.h"

namespace memprof::simcuda::runtime {
namespace {

CUdeviceptr Address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

// Widths and x positions of arrays count elements, those of plain memory bytes.
int ElementBytes(const Calls& cu, const cudaMemcpy3DParms& p, size_t* bytes) {
  *bytes = 1;
  const cudaArray_const_t array = p.srcArray != nullptr ? p.srcArray : p.dstArray;
  if (array == nullptr) return CUDA_SUCCESS;
  CUDA_ARRAY3D_DESCRIPTOR descriptor;
  const CUresult result = cu.cuArray3DGetDescriptor_v2(&descriptor, ArrayOf(array));
  if (result != CUDA_SUCCESS) return result;
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

}  // namespace

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
  const int result = ElementBytes(cu, p, &element);
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

}  // namespace memprof::simcuda::runtime
