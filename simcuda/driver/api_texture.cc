// Texture and surface objects: handles that store their description. Nothing samples them here:
// kernels with a host version read their arrays directly.
#include "driver_api.h"
#include "simcuda/driver/allocation.h"
#include "simcuda/driver/array.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/texture.h"

namespace memprof::simcuda {
namespace {

constexpr uint64_t kBaseAlignment = 512;  // CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT
constexpr uint64_t kTexturePitchAlignment = 32;  // CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT

bool GoodFormat(CUarray_format format, unsigned channels) {
  return FormatBytes(format) != 0 && (channels == 1 || channels == 2 || channels == 4);
}

bool GoodResource(const CUDA_RESOURCE_DESC& one) {
  if (one.flags != 0) return false;
  switch (one.resType) {
    case CU_RESOURCE_TYPE_ARRAY:
      return AllHandles<Array>().Find(one.res.array.hArray) != nullptr;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
      return AllHandles<Mipmap>().Find(one.res.mipmap.hMipmappedArray) != nullptr;
    case CU_RESOURCE_TYPE_LINEAR: {
      const auto& linear = one.res.linear;
      if (!GoodFormat(linear.format, linear.numChannels)) return false;
      // Only the number of elements is limited. The texture may extend beyond the allocation, but
      // that memory must not be fetched.
      const uint64_t element = FormatBytes(linear.format) * linear.numChannels;
      return linear.sizeInBytes != 0 && linear.sizeInBytes / element <= kMaxLinearTexture &&
             linear.devPtr % kBaseAlignment == 0 && InsideAllocations(linear.devPtr, 1);
    }
    case CU_RESOURCE_TYPE_PITCH2D: {
      const auto& pitched = one.res.pitch2D;
      uint64_t row = 0;
      uint64_t bytes = 0;
      return GoodFormat(pitched.format, pitched.numChannels) && pitched.width != 0 &&
             pitched.height != 0 && pitched.devPtr % kBaseAlignment == 0 &&
             pitched.pitchInBytes % kTexturePitchAlignment == 0 &&
             !__builtin_mul_overflow(pitched.width,
                                     FormatBytes(pitched.format) * pitched.numChannels, &row) &&
             row <= pitched.pitchInBytes &&
             !__builtin_mul_overflow(pitched.pitchInBytes, pitched.height - 1, &bytes) &&
             !__builtin_add_overflow(bytes, row, &bytes) &&
             InsideAllocations(pitched.devPtr, bytes);
    }
    default:
      return false;
  }
}

template <class Object>
std::shared_ptr<Object> FindObject(unsigned long long handle) {
  return AllHandles<Object>().Find(reinterpret_cast<const void*>(handle));
}

}  // namespace

void FreeTexturesOf(const Context* context) {
  AllHandles<Texture>().RemoveIf([&](const Texture& one) { return one.context == context; });
  AllHandles<Surface>().RemoveIf([&](const Surface& one) { return one.context == context; });
}

namespace api {

CUresult cuTexObjectCreate(CUtexObject* pTexObject, const CUDA_RESOURCE_DESC* pResDesc,
                           const CUDA_TEXTURE_DESC* pTexDesc,
                           const CUDA_RESOURCE_VIEW_DESC* pResViewDesc) {
  std::shared_ptr<Context> context;
  const CUresult known = RequireContext(&context);
  if (known != CUDA_SUCCESS) return known;
  if (pTexObject == nullptr || pResDesc == nullptr || pTexDesc == nullptr ||
      !GoodResource(*pResDesc)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  // Only arrays can have a resource view.
  if (pResViewDesc != nullptr && pResDesc->resType != CU_RESOURCE_TYPE_ARRAY &&
      pResDesc->resType != CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  auto texture = std::make_shared<Texture>();
  texture->context = context.get();
  texture->resource = *pResDesc;
  texture->texture = *pTexDesc;
  if (pResViewDesc != nullptr) texture->view = *pResViewDesc;
  *pTexObject = reinterpret_cast<CUtexObject>(texture.get());
  AllHandles<Texture>().Add(std::move(texture));
  return CUDA_SUCCESS;
}

CUresult cuTexObjectDestroy(CUtexObject texObject) {
  return AllHandles<Texture>().Remove(reinterpret_cast<const void*>(texObject)) == nullptr
             ? CUDA_ERROR_INVALID_VALUE
             : CUDA_SUCCESS;
}

CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC* pResDesc, CUtexObject texObject) {
  const auto found = FindObject<Texture>(texObject);
  if (pResDesc == nullptr || found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pResDesc = found->resource;
  return CUDA_SUCCESS;
}

CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC* pTexDesc, CUtexObject texObject) {
  const auto found = FindObject<Texture>(texObject);
  if (pTexDesc == nullptr || found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pTexDesc = found->texture;
  return CUDA_SUCCESS;
}

CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC* pResViewDesc,
                                        CUtexObject texObject) {
  const auto found = FindObject<Texture>(texObject);
  if (pResViewDesc == nullptr || found == nullptr || !found->view.has_value()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *pResViewDesc = *found->view;
  return CUDA_SUCCESS;
}

CUresult cuSurfObjectCreate(CUsurfObject* pSurfObject, const CUDA_RESOURCE_DESC* pResDesc) {
  std::shared_ptr<Context> context;
  const CUresult known = RequireContext(&context);
  if (known != CUDA_SUCCESS) return known;
  if (pSurfObject == nullptr || pResDesc == nullptr ||
      pResDesc->resType != CU_RESOURCE_TYPE_ARRAY || !GoodResource(*pResDesc)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto array = AllHandles<Array>().Find(pResDesc->res.array.hArray);
  if (array == nullptr || (array->descriptor().Flags & CUDA_ARRAY3D_SURFACE_LDST) == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  auto surface = std::make_shared<Surface>();
  surface->context = context.get();
  surface->resource = *pResDesc;
  *pSurfObject = reinterpret_cast<CUsurfObject>(surface.get());
  AllHandles<Surface>().Add(std::move(surface));
  return CUDA_SUCCESS;
}

CUresult cuSurfObjectDestroy(CUsurfObject surfObject) {
  return AllHandles<Surface>().Remove(reinterpret_cast<const void*>(surfObject)) == nullptr
             ? CUDA_ERROR_INVALID_VALUE
             : CUDA_SUCCESS;
}

CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC* pResDesc, CUsurfObject surfObject) {
  const auto found = FindObject<Surface>(surfObject);
  if (pResDesc == nullptr || found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pResDesc = found->resource;
  return CUDA_SUCCESS;
}

}  // namespace api
}  // namespace memprof::simcuda
