// Texture and surface objects: descriptions of the runtime as the driver's, and back.
#include <cuda_runtime_api.h>

#include <algorithm>

#include "simcuda/runtime/channel.h"
#include "simcuda/runtime/copy_box.h"
#include "simcuda/runtime/state.h"

using memprof::simcuda::runtime::ArrayOf;
using memprof::simcuda::runtime::Channel;
using memprof::simcuda::runtime::Format;

namespace {

int Convert(const cudaResourceDesc& from, CUDA_RESOURCE_DESC* to) {
  *to = {};
  to->resType = static_cast<CUresourcetype>(from.resType);
  switch (from.resType) {
    case cudaResourceTypeArray:
      to->res.array.hArray = ArrayOf(from.res.array.array);
      return 0;
    case cudaResourceTypeMipmappedArray:
      to->res.mipmap.hMipmappedArray = reinterpret_cast<CUmipmappedArray>(from.res.mipmap.mipmap);
      return 0;
    case cudaResourceTypeLinear: {
      auto& linear = to->res.linear;
      linear.devPtr = reinterpret_cast<CUdeviceptr>(from.res.linear.devPtr);
      linear.sizeInBytes = from.res.linear.sizeInBytes;
      return Format(from.res.linear.desc, &linear.format, &linear.numChannels)
                 ? 0
                 : cudaErrorInvalidChannelDescriptor;
    }
    case cudaResourceTypePitch2D: {
      auto& pitched = to->res.pitch2D;
      pitched.devPtr = reinterpret_cast<CUdeviceptr>(from.res.pitch2D.devPtr);
      pitched.width = from.res.pitch2D.width;
      pitched.height = from.res.pitch2D.height;
      pitched.pitchInBytes = from.res.pitch2D.pitchInBytes;
      return Format(from.res.pitch2D.desc, &pitched.format, &pitched.numChannels)
                 ? 0
                 : cudaErrorInvalidChannelDescriptor;
    }
    default:
      return cudaErrorInvalidValue;
  }
}

// Only the fields that every version of the struct has.
void Convert(const CUDA_RESOURCE_DESC& from, cudaResourceDesc* to) {
  to->resType = static_cast<cudaResourceType>(from.resType);
  switch (to->resType) {
    case cudaResourceTypeArray:
      to->res.array.array = reinterpret_cast<cudaArray_t>(from.res.array.hArray);
      break;
    case cudaResourceTypeMipmappedArray:
      to->res.mipmap.mipmap =
          reinterpret_cast<cudaMipmappedArray_t>(from.res.mipmap.hMipmappedArray);
      break;
    case cudaResourceTypeLinear: {
      const auto& linear = from.res.linear;
      to->res.linear.devPtr = reinterpret_cast<void*>(linear.devPtr);
      to->res.linear.desc = Channel(linear.format, linear.numChannels);
      to->res.linear.sizeInBytes = linear.sizeInBytes;
      break;
    }
    case cudaResourceTypePitch2D: {
      const auto& pitched = from.res.pitch2D;
      to->res.pitch2D.devPtr = reinterpret_cast<void*>(pitched.devPtr);
      to->res.pitch2D.desc = Channel(pitched.format, pitched.numChannels);
      to->res.pitch2D.width = pitched.width;
      to->res.pitch2D.height = pitched.height;
      to->res.pitch2D.pitchInBytes = pitched.pitchInBytes;
      break;
    }
    default:
      break;
  }
}

CUDA_TEXTURE_DESC Convert(const cudaTextureDesc& from) {
  CUDA_TEXTURE_DESC to = {};
  for (int i = 0; i < 3; ++i) {
    to.addressMode[i] = static_cast<CUaddress_mode>(from.addressMode[i]);
  }
  to.filterMode = static_cast<CUfilter_mode>(from.filterMode);
  if (from.readMode == cudaReadModeElementType) to.flags |= CU_TRSF_READ_AS_INTEGER;
  if (from.normalizedCoords != 0) to.flags |= CU_TRSF_NORMALIZED_COORDINATES;
  if (from.sRGB != 0) to.flags |= CU_TRSF_SRGB;
  if (from.disableTrilinearOptimization != 0) {
    to.flags |= CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION;
  }
  to.maxAnisotropy = from.maxAnisotropy;
  to.mipmapFilterMode = static_cast<CUfilter_mode>(from.mipmapFilterMode);
  to.mipmapLevelBias = from.mipmapLevelBias;
  to.minMipmapLevelClamp = from.minMipmapLevelClamp;
  to.maxMipmapLevelClamp = from.maxMipmapLevelClamp;
  std::copy_n(from.borderColor, 4, to.borderColor);
  return to;
}

cudaTextureDesc Convert(const CUDA_TEXTURE_DESC& from) {
  cudaTextureDesc to = {};
  for (int i = 0; i < 3; ++i) {
    to.addressMode[i] = static_cast<cudaTextureAddressMode>(from.addressMode[i]);
  }
  to.filterMode = static_cast<cudaTextureFilterMode>(from.filterMode);
  to.readMode = (from.flags & CU_TRSF_READ_AS_INTEGER) != 0 ? cudaReadModeElementType
                                                            : cudaReadModeNormalizedFloat;
  to.normalizedCoords = (from.flags & CU_TRSF_NORMALIZED_COORDINATES) != 0 ? 1 : 0;
  to.sRGB = (from.flags & CU_TRSF_SRGB) != 0 ? 1 : 0;
  to.disableTrilinearOptimization =
      (from.flags & CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION) != 0 ? 1 : 0;
  to.maxAnisotropy = from.maxAnisotropy;
  to.mipmapFilterMode = static_cast<cudaTextureFilterMode>(from.mipmapFilterMode);
  to.mipmapLevelBias = from.mipmapLevelBias;
  to.minMipmapLevelClamp = from.minMipmapLevelClamp;
  to.maxMipmapLevelClamp = from.maxMipmapLevelClamp;
  std::copy_n(from.borderColor, 4, to.borderColor);
  return to;
}

}  // namespace

SIMCUDA_RT(cudaCreateTextureObject,
           (cudaTextureObject_t * object, const cudaResourceDesc* resource,
            const cudaTextureDesc* texture, const cudaResourceViewDesc* view),
           (object, resource, texture, view)) {
  if (object == nullptr || resource == nullptr || texture == nullptr) return cudaErrorInvalidValue;
  CUDA_RESOURCE_DESC converted;
  const int error = Convert(*resource, &converted);
  if (error != 0) return error;
  const CUDA_TEXTURE_DESC description = Convert(*texture);
  CUDA_RESOURCE_VIEW_DESC window = {};
  if (view != nullptr) {
    window.format = static_cast<CUresourceViewFormat>(view->format);
    window.width = view->width;
    window.height = view->height;
    window.depth = view->depth;
    window.firstMipmapLevel = view->firstMipmapLevel;
    window.lastMipmapLevel = view->lastMipmapLevel;
    window.firstLayer = view->firstLayer;
    window.lastLayer = view->lastLayer;
  }
  return cu.cuTexObjectCreate(object, &converted, &description,
                              view == nullptr ? nullptr : &window);
}

SIMCUDA_RT(cudaDestroyTextureObject, (cudaTextureObject_t object), (object)) {
  return cu.cuTexObjectDestroy(object);
}

SIMCUDA_RT(cudaGetTextureObjectResourceDesc,
           (cudaResourceDesc * resource, cudaTextureObject_t object), (resource, object)) {
  if (resource == nullptr) return cudaErrorInvalidValue;
  CUDA_RESOURCE_DESC found;
  const CUresult result = cu.cuTexObjectGetResourceDesc(&found, object);
  if (result == CUDA_SUCCESS) Convert(found, resource);
  return result;
}

SIMCUDA_RT(cudaGetTextureObjectTextureDesc, (cudaTextureDesc * texture, cudaTextureObject_t object),
           (texture, object)) {
  if (texture == nullptr) return cudaErrorInvalidValue;
  CUDA_TEXTURE_DESC found;
  const CUresult result = cu.cuTexObjectGetTextureDesc(&found, object);
  if (result == CUDA_SUCCESS) *texture = Convert(found);
  return result;
}

SIMCUDA_RT(cudaGetTextureObjectResourceViewDesc,
           (cudaResourceViewDesc * view, cudaTextureObject_t object), (view, object)) {
  if (view == nullptr) return cudaErrorInvalidValue;
  CUDA_RESOURCE_VIEW_DESC found;
  const CUresult result = cu.cuTexObjectGetResourceViewDesc(&found, object);
  if (result != CUDA_SUCCESS) return result;
  view->format = static_cast<cudaResourceViewFormat>(found.format);
  view->width = found.width;
  view->height = found.height;
  view->depth = found.depth;
  view->firstMipmapLevel = found.firstMipmapLevel;
  view->lastMipmapLevel = found.lastMipmapLevel;
  view->firstLayer = found.firstLayer;
  view->lastLayer = found.lastLayer;
  return CUDA_SUCCESS;
}

SIMCUDA_RT(cudaCreateSurfaceObject,
           (cudaSurfaceObject_t * object, const cudaResourceDesc* resource), (object, resource)) {
  if (object == nullptr || resource == nullptr) return cudaErrorInvalidValue;
  CUDA_RESOURCE_DESC converted;
  const int error = Convert(*resource, &converted);
  return error != 0 ? error : cu.cuSurfObjectCreate(object, &converted);
}

SIMCUDA_RT(cudaDestroySurfaceObject, (cudaSurfaceObject_t object), (object)) {
  return cu.cuSurfObjectDestroy(object);
}

SIMCUDA_RT(cudaGetSurfaceObjectResourceDesc,
           (cudaResourceDesc * resource, cudaSurfaceObject_t object), (resource, object)) {
  if (resource == nullptr) return cudaErrorInvalidValue;
  CUDA_RESOURCE_DESC found;
  const CUresult result = cu.cuSurfObjectGetResourceDesc(&found, object);
  if (result == CUDA_SUCCESS) Convert(found, resource);
  return result;
}
