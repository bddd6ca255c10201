// Arrays and mipmapped arrays.
#include <cuda_runtime_api.h>

#include "simcuda/runtime/channel.h"
#include "simcuda/runtime/state.h"

using memprof::simcuda::runtime::Calls;
using memprof::simcuda::runtime::Channel;
using memprof::simcuda::runtime::Format;

namespace {

int Describe(const cudaChannelFormatDesc* channel, cudaExtent extent, unsigned flags,
             CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
  if (channel == nullptr) return cudaErrorInvalidValue;
  *descriptor = {};
  if (!Format(*channel, &descriptor->Format, &descriptor->NumChannels)) {
    return cudaErrorInvalidChannelDescriptor;
  }
  descriptor->Width = extent.width;
  descriptor->Height = extent.height;
  descriptor->Depth = extent.depth;
  descriptor->Flags = flags;
  return CUDA_SUCCESS;
}

}  // namespace

SIMCUDA_RT(cudaMallocArray,
           (cudaArray_t * array, const cudaChannelFormatDesc* channel, size_t width, size_t height,
            unsigned flags),
           (array, channel, width, height, flags)) {
  CUDA_ARRAY3D_DESCRIPTOR full;
  const int result = Describe(channel, {width, height, 0}, flags, &full);
  if (result != CUDA_SUCCESS) return result;
  return cu.cuArray3DCreate_v2(reinterpret_cast<CUarray*>(array), &full);
}

SIMCUDA_RT(cudaMalloc3DArray,
           (cudaArray_t * array, const cudaChannelFormatDesc* channel, cudaExtent extent,
            unsigned flags),
           (array, channel, extent, flags)) {
  CUDA_ARRAY3D_DESCRIPTOR full;
  const int result = Describe(channel, extent, flags, &full);
  if (result != CUDA_SUCCESS) return result;
  return cu.cuArray3DCreate_v2(reinterpret_cast<CUarray*>(array), &full);
}

SIMCUDA_RT(cudaFreeArray, (cudaArray_t array), (array)) {
  return array == nullptr ? CUDA_SUCCESS : cu.cuArrayDestroy(reinterpret_cast<CUarray>(array));
}

SIMCUDA_RT(cudaArrayGetInfo,
           (cudaChannelFormatDesc * channel, cudaExtent* extent, unsigned* flags,
            cudaArray_t array),
           (channel, extent, flags, array)) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor;
  const CUresult result =
      cu.cuArray3DGetDescriptor_v2(&descriptor, reinterpret_cast<CUarray>(array));
  if (result != CUDA_SUCCESS) return result;
  if (channel != nullptr) *channel = Channel(descriptor.Format, descriptor.NumChannels);
  if (extent != nullptr) *extent = {descriptor.Width, descriptor.Height, descriptor.Depth};
  if (flags != nullptr) *flags = descriptor.Flags;
  return CUDA_SUCCESS;
}

SIMCUDA_RT(cudaGetChannelDesc, (cudaChannelFormatDesc * channel, cudaArray_const_t array),
           (channel, array)) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor;
  const CUresult result = cu.cuArray3DGetDescriptor_v2(
      &descriptor, reinterpret_cast<CUarray>(const_cast<cudaArray_t>(array)));
  if (result != CUDA_SUCCESS) return result;
  *channel = Channel(descriptor.Format, descriptor.NumChannels);
  return CUDA_SUCCESS;
}

SIMCUDA_RT(cudaMallocMipmappedArray,
           (cudaMipmappedArray_t * mipmap, const cudaChannelFormatDesc* channel, cudaExtent extent,
            unsigned levels, unsigned flags),
           (mipmap, channel, extent, levels, flags)) {
  CUDA_ARRAY3D_DESCRIPTOR full;
  const int result = Describe(channel, extent, flags, &full);
  if (result != CUDA_SUCCESS) return result;
  return cu.cuMipmappedArrayCreate(reinterpret_cast<CUmipmappedArray*>(mipmap), &full, levels);
}

SIMCUDA_RT(cudaGetMipmappedArrayLevel,
           (cudaArray_t * array, cudaMipmappedArray_const_t mipmap, unsigned level),
           (array, mipmap, level)) {
  return cu.cuMipmappedArrayGetLevel(
      reinterpret_cast<CUarray*>(array),
      reinterpret_cast<CUmipmappedArray>(const_cast<cudaMipmappedArray_t>(mipmap)), level);
}

SIMCUDA_RT(cudaFreeMipmappedArray, (cudaMipmappedArray_t mipmap), (mipmap)) {
  return mipmap == nullptr ? CUDA_SUCCESS
                           : cu.cuMipmappedArrayDestroy(reinterpret_cast<CUmipmappedArray>(mipmap));
}

extern "C" cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                       cudaChannelFormatKind f) {
  return {x, y, z, w, f};
}
