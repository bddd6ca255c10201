// Arrays and mipmapped arrays.
#include <algorithm>

#include "driver_api.h"
#include "simcuda/driver/array.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/device_memory.h"

namespace memprof::simcuda {
namespace {

constexpr unsigned kArrayFlags = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST |
                                 CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_TEXTURE_GATHER |
                                 CUDA_ARRAY3D_DEPTH_TEXTURE | CUDA_ARRAY3D_COLOR_ATTACHMENT |
                                 CUDA_ARRAY3D_SPARSE | kDeferredMapping;

bool GoodDescriptor(const CUDA_ARRAY3D_DESCRIPTOR& one) {
  const bool channels = one.NumChannels == 1 || one.NumChannels == 2 || one.NumChannels == 4;
  return FormatBytes(one.Format) != 0 && channels && one.Width != 0 &&
         (one.Depth == 0 || one.Height != 0 || (one.Flags & CUDA_ARRAY3D_LAYERED) != 0) &&
         (one.Flags & ~kArrayFlags) == 0;
}

CUresult Create(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, std::shared_ptr<Array>* array) {
  std::shared_ptr<Context> context;
  const CUresult result = RequireContext(&context);
  if (result != CUDA_SUCCESS) return result;
  if (!GoodDescriptor(descriptor)) return CUDA_ERROR_INVALID_VALUE;
  *array = Array::Create(context, descriptor);
  if (*array == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  AllHandles<Array>().Add(*array);
  return CUDA_SUCCESS;
}

CUarray HandleOf(const std::shared_ptr<Array>& array) {
  return reinterpret_cast<CUarray>(array.get());
}

}  // namespace

namespace api {

CUresult cuArray3DCreate_v2(CUarray* pHandle, const CUDA_ARRAY3D_DESCRIPTOR* pAllocateArray) {
  if (pHandle == nullptr || pAllocateArray == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Array> array;
  const CUresult result = Create(*pAllocateArray, &array);
  if (result == CUDA_SUCCESS) *pHandle = HandleOf(array);
  return result;
}

CUresult cuArrayCreate_v2(CUarray* pHandle, const CUDA_ARRAY_DESCRIPTOR* pAllocateArray) {
  if (pAllocateArray == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUDA_ARRAY3D_DESCRIPTOR full = {};
  full.Width = pAllocateArray->Width;
  full.Height = pAllocateArray->Height;
  full.Format = pAllocateArray->Format;
  full.NumChannels = pAllocateArray->NumChannels;
  return api::cuArray3DCreate_v2(pHandle, &full);
}

// Before CUDA 3.2, sizes had 32 bits.
CUresult cuArrayCreate(CUarray* pHandle, const CUDA_ARRAY_DESCRIPTOR_v1* pAllocateArray) {
  if (pAllocateArray == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_ARRAY_DESCRIPTOR wide = {pAllocateArray->Width, pAllocateArray->Height,
                                      pAllocateArray->Format, pAllocateArray->NumChannels};
  return api::cuArrayCreate_v2(pHandle, &wide);
}

CUresult cuArray3DCreate(CUarray* pHandle, const CUDA_ARRAY3D_DESCRIPTOR_v1* pAllocateArray) {
  if (pAllocateArray == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_ARRAY3D_DESCRIPTOR wide = {pAllocateArray->Width,       pAllocateArray->Height,
                                        pAllocateArray->Depth,       pAllocateArray->Format,
                                        pAllocateArray->NumChannels, pAllocateArray->Flags};
  return api::cuArray3DCreate_v2(pHandle, &wide);
}

CUresult cuArrayDestroy(CUarray hArray) {
  const auto array = AllHandles<Array>().Find(hArray);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (array->level_of_mipmap()) return CUDA_ERROR_ARRAY_IS_MAPPED;
  array->context()->Synchronize();
  return AllHandles<Array>().Remove(hArray) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR* pArrayDescriptor, CUarray hArray) {
  const auto array = AllHandles<Array>().Find(hArray);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (pArrayDescriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pArrayDescriptor = array->descriptor();
  return CUDA_SUCCESS;
}

CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR* pArrayDescriptor, CUarray hArray) {
  const auto array = AllHandles<Array>().Find(hArray);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (pArrayDescriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto& full = array->descriptor();
  *pArrayDescriptor = {full.Width, full.Height, full.Format, full.NumChannels};
  return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray* pHandle,
                                const CUDA_ARRAY3D_DESCRIPTOR* pMipmappedArrayDesc,
                                unsigned int numMipmapLevels) {
  if (pHandle == nullptr || pMipmappedArrayDesc == nullptr || numMipmapLevels == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  auto mipmap = std::make_shared<Mipmap>();
  const CUresult known = RequireContext(&mipmap->context);
  if (known != CUDA_SUCCESS) return known;
  CUDA_ARRAY3D_DESCRIPTOR level = *pMipmappedArrayDesc;
  const bool layered = (level.Flags & CUDA_ARRAY3D_LAYERED) != 0;
  for (unsigned i = 0; i < numMipmapLevels; ++i) {
    std::shared_ptr<Array> array;
    const CUresult result = Create(level, &array);
    if (result != CUDA_SUCCESS) {
      for (const auto& made : mipmap->levels) AllHandles<Array>().Remove(made.get());
      return result;
    }
    array->set_level_of_mipmap();
    mipmap->levels.push_back(std::move(array));
    if (level.Width == 1 && level.Height <= 1 && (layered || level.Depth <= 1)) break;
    const auto halve = [](size_t extent) {
      return extent == 0 ? 0 : std::max<size_t>(extent / 2, 1);
    };
    level.Width = halve(level.Width);
    level.Height = halve(level.Height);
    if (!layered) level.Depth = halve(level.Depth);
  }
  *pHandle = reinterpret_cast<CUmipmappedArray>(mipmap.get());
  AllHandles<Mipmap>().Add(std::move(mipmap));
  return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray hMipmappedArray) {
  const auto mipmap = AllHandles<Mipmap>().Remove(hMipmappedArray);
  if (mipmap == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  mipmap->context->Synchronize();
  for (const auto& level : mipmap->levels) AllHandles<Array>().Remove(level.get());
  return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayGetLevel(CUarray* pLevelArray, CUmipmappedArray hMipmappedArray,
                                  unsigned int level) {
  const auto mipmap = AllHandles<Mipmap>().Find(hMipmappedArray);
  if (mipmap == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (pLevelArray == nullptr || level >= mipmap->levels.size()) return CUDA_ERROR_INVALID_VALUE;
  *pLevelArray = HandleOf(mipmap->levels[level]);
  return CUDA_SUCCESS;
}

}  // namespace api
}  // namespace memprof::simcuda
