// Descriptors of tensors for the copy engine of compute capability 9.0. They are opaque, and
// kernels that read them do not run here, so the parameters are checked and the descriptor is left
// zero.
#include <cstring>

#include "driver_api.h"

#if CUDA_VERSION >= 12000
namespace memprof::simcuda {
namespace {

constexpr uint64_t kAddressAlignment = 16;
constexpr cuuint32_t kMaxRank = 5;

CUresult Encode(CUtensorMap* map, cuuint32_t rank, cuuint32_t least, const void* address,
                const cuuint64_t* extents, const cuuint64_t* strides) {
  if (map == nullptr || rank < least || rank > kMaxRank || extents == nullptr ||
      (rank > 1 && strides == nullptr) ||
      reinterpret_cast<uintptr_t>(address) % kAddressAlignment != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (cuuint32_t i = 0; i < rank; ++i) {
    if (extents[i] == 0 || extents[i] > uint64_t{1} << 32) return CUDA_ERROR_INVALID_VALUE;
  }
  for (cuuint32_t i = 0; i + 1 < rank; ++i) {
    if (strides[i] % kAddressAlignment != 0) return CUDA_ERROR_INVALID_VALUE;
  }
  std::memset(static_cast<void*>(map), 0, sizeof(*map));
  return CUDA_SUCCESS;
}

}  // namespace

namespace api {

CUresult cuTensorMapEncodeTiled(CUtensorMap* tensorMap, CUtensorMapDataType /*tensorDataType*/,
                                cuuint32_t tensorRank, void* globalAddress,
                                const cuuint64_t* globalDim, const cuuint64_t* globalStrides,
                                const cuuint32_t* boxDim, const cuuint32_t* elementStrides,
                                CUtensorMapInterleave /*interleave*/,
                                CUtensorMapSwizzle /*swizzle*/,
                                CUtensorMapL2promotion /*l2Promotion*/,
                                CUtensorMapFloatOOBfill /*oobFill*/) {
  if (boxDim == nullptr || elementStrides == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Encode(tensorMap, tensorRank, 1, globalAddress, globalDim, globalStrides);
}

CUresult cuTensorMapEncodeIm2col(
    CUtensorMap* tensorMap, CUtensorMapDataType /*tensorDataType*/, cuuint32_t tensorRank,
    void* globalAddress, const cuuint64_t* globalDim, const cuuint64_t* globalStrides,
    const int* pixelBoxLowerCorner, const int* pixelBoxUpperCorner, cuuint32_t /*channelsPerPixel*/,
    cuuint32_t /*pixelsPerColumn*/, const cuuint32_t* elementStrides,
    CUtensorMapInterleave /*interleave*/, CUtensorMapSwizzle /*swizzle*/,
    CUtensorMapL2promotion /*l2Promotion*/, CUtensorMapFloatOOBfill /*oobFill*/) {
  if (pixelBoxLowerCorner == nullptr || pixelBoxUpperCorner == nullptr ||
      elementStrides == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return Encode(tensorMap, tensorRank, 3, globalAddress, globalDim, globalStrides);
}

CUresult cuTensorMapReplaceAddress(CUtensorMap* tensorMap, void* globalAddress) {
  return tensorMap == nullptr || reinterpret_cast<uintptr_t>(globalAddress) % kAddressAlignment != 0
             ? CUDA_ERROR_INVALID_VALUE
             : CUDA_SUCCESS;
}

}  // namespace api
}  // namespace memprof::simcuda
#endif
