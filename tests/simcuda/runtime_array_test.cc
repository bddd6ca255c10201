// Arrays, mipmaps and textures through the stand-in cudart.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "tests/simcuda/runtime_fixture.h"

namespace {

SIMCUDA_CONFIGURE("memory=1GiB,overhead=0,devices=2");

const cudaChannelFormatDesc kChannel =
    cudaCreateChannelDesc(8, 8, 8, 8, cudaChannelFormatKindSigned);

cudaTextureDesc Described() {
  cudaTextureDesc description = {};
  description.addressMode[2] = cudaAddressModeBorder;
  description.filterMode = cudaFilterModeLinear;
  description.readMode = cudaReadModeNormalizedFloat;
  description.normalizedCoords = 1;
  description.sRGB = 1;
  description.borderColor[3] = 0.5F;
  description.maxMipmapLevelClamp = 7;
  return description;
}

void CheckTexturesOfAnArray() {
  cudaArray_t array = nullptr;
  CHECK_RT(cudaMallocArray(&array, &kChannel, 16, 16, cudaArraySurfaceLoadStore));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  const cudaTextureDesc description = Described();
  cudaTextureObject_t object = 0;
  CHECK_RT(cudaCreateTextureObject(&object, &resource, &description, nullptr));
  cudaResourceDesc resource_back = {};
  CHECK_RT(cudaGetTextureObjectResourceDesc(&resource_back, object));
  EXPECT_EQ(resource_back.resType, cudaResourceTypeArray);
  EXPECT_EQ(resource_back.res.array.array, array);
  cudaTextureDesc description_back = {};
  CHECK_RT(cudaGetTextureObjectTextureDesc(&description_back, object));
  EXPECT_EQ(std::memcmp(&description_back, &description, sizeof(description)), 0);
  cudaResourceViewDesc view = {};
  EXPECT_EQ(cudaErrorInvalidValue, cudaGetTextureObjectResourceViewDesc(&view, object));
  CHECK_RT(cudaDestroyTextureObject(object));
  view.format = cudaResViewFormatSignedChar4;
  view.width = view.height = 16;
  view.lastLayer = 3;
  CHECK_RT(cudaCreateTextureObject(&object, &resource, &description, &view));
  cudaResourceViewDesc view_back = {};
  CHECK_RT(cudaGetTextureObjectResourceViewDesc(&view_back, object));
  EXPECT_EQ(std::memcmp(&view_back, &view, sizeof(view)), 0);
  CHECK_RT(cudaDestroyTextureObject(object));
  cudaSurfaceObject_t surface = 0;
  CHECK_RT(cudaCreateSurfaceObject(&surface, &resource));
  CHECK_RT(cudaGetSurfaceObjectResourceDesc(&resource_back, surface));
  EXPECT_EQ(resource_back.res.array.array, array);
  CHECK_RT(cudaDestroySurfaceObject(surface));
  CHECK_RT(cudaFreeArray(array));
}

TEST(RuntimeFeatures, TexturesOfArraysAndMemory) {
  ASSERT_NO_FATAL_FAILURE(CheckTexturesOfAnArray());
  void* linear = nullptr;
  CHECK_RT(cudaMalloc(&linear, 4096));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = linear;
  resource.res.linear.desc = kChannel;
  resource.res.linear.sizeInBytes = 4096;
  const cudaTextureDesc description = Described();
  cudaTextureObject_t object = 0;
  cudaResourceDesc resource_back = {};
  CHECK_RT(cudaCreateTextureObject(&object, &resource, &description, nullptr));
  CHECK_RT(cudaGetTextureObjectResourceDesc(&resource_back, object));
  EXPECT_EQ(resource_back.res.linear.devPtr, linear);
  EXPECT_EQ(resource_back.res.linear.sizeInBytes, 4096u);
  EXPECT_EQ(resource_back.res.linear.desc.w, 8);
  EXPECT_EQ(resource_back.res.linear.desc.f, cudaChannelFormatKindSigned);
  CHECK_RT(cudaDestroyTextureObject(object));
  resource = {};
  resource.resType = cudaResourceTypePitch2D;
  resource.res.pitch2D.devPtr = linear;
  resource.res.pitch2D.desc = kChannel;
  resource.res.pitch2D.width = 10;
  resource.res.pitch2D.height = 5;
  resource.res.pitch2D.pitchInBytes = 512;
  CHECK_RT(cudaCreateTextureObject(&object, &resource, &description, nullptr));
  CHECK_RT(cudaGetTextureObjectResourceDesc(&resource_back, object));
  EXPECT_EQ(resource_back.res.pitch2D.pitchInBytes, 512u);
  EXPECT_EQ(resource_back.res.pitch2D.height, 5u);
  CHECK_RT(cudaDestroyTextureObject(object));
  resource.res.pitch2D.desc.x = 12;
  EXPECT_EQ(cudaErrorInvalidChannelDescriptor,
            cudaCreateTextureObject(&object, &resource, &description, nullptr));
  CHECK_RT(cudaFree(linear));
  cudaGetLastError();
}

TEST(RuntimeFeatures, CopiesBetweenArrays) {
  const cudaChannelFormatDesc channel =
      cudaCreateChannelDesc(16, 0, 0, 0, cudaChannelFormatKindUnsigned);
  cudaArray_t first = nullptr;
  cudaArray_t second = nullptr;
  CHECK_RT(cudaMallocArray(&first, &channel, 10, 6, 0));
  CHECK_RT(cudaMallocArray(&second, &channel, 20, 8, 0));
  cudaStream_t stream = nullptr;
  CHECK_RT(cudaStreamCreate(&stream));
  std::vector<unsigned short> host(60);
  std::iota(host.begin(), host.end(), 100);
  CHECK_RT(cudaMemcpy2DToArrayAsync(first, 0, 0, host.data(), 20, 20, 6, cudaMemcpyHostToDevice,
                                    stream));
  CHECK_RT(cudaStreamSynchronize(stream));
  // 4 elements of 3 rows, from (2, 1) to (12, 4).
  CHECK_RT(cudaMemcpy2DArrayToArray(second, 24, 4, first, 4, 1, 8, 3, cudaMemcpyDeviceToDevice));
  std::vector<unsigned short> read(12);
  CHECK_RT(cudaMemcpy2DFromArrayAsync(read.data(), 8, second, 24, 4, 8, 3, cudaMemcpyDeviceToHost,
                                      stream));
  CHECK_RT(cudaStreamSynchronize(stream));
  for (size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i], 100 + (i / 4 + 1) * 10 + i % 4 + 2) << i;
  }
  EXPECT_EQ(cudaErrorInvalidValue,
            cudaMemcpy2DArrayToArray(second, 34, 4, first, 4, 1, 8, 3, cudaMemcpyDeviceToDevice));
  cudaGetLastError();
  CHECK_RT(cudaStreamDestroy(stream));
  CHECK_RT(cudaFreeArray(first));
  CHECK_RT(cudaFreeArray(second));
}

TEST(RuntimeFeatures, ChannelsSurviveTheirArray) {
  const struct {
    int bits;
    int channels;
    cudaChannelFormatKind kind;
    bool good;
  } cases[] = {
      {8, 1, cudaChannelFormatKindUnsigned, true},   {16, 2, cudaChannelFormatKindSigned, true},
      {32, 4, cudaChannelFormatKindFloat, true},     {16, 1, cudaChannelFormatKindFloat, true},
      {32, 1, cudaChannelFormatKindSigned, true},    {8, 4, cudaChannelFormatKindSigned, true},
      {8, 1, cudaChannelFormatKindFloat, false},     {32, 3, cudaChannelFormatKindFloat, false},
      {12, 1, cudaChannelFormatKindUnsigned, false}, {32, 1, cudaChannelFormatKindNone, false}};
  for (const auto& one : cases) {
    const auto bits = [&](int channel) { return channel < one.channels ? one.bits : 0; };
    const cudaChannelFormatDesc wanted =
        cudaCreateChannelDesc(bits(0), bits(1), bits(2), bits(3), one.kind);
    cudaArray_t array = nullptr;
    const cudaError_t result = cudaMallocArray(&array, &wanted, 8, 8, 0);
    ASSERT_EQ(result, one.good ? cudaSuccess : cudaErrorInvalidChannelDescriptor)
        << one.bits << " " << one.channels;
    if (!one.good) continue;
    cudaChannelFormatDesc got = {};
    CHECK_RT(cudaGetChannelDesc(&got, array));
    EXPECT_EQ(std::memcmp(&got, &wanted, sizeof(got)), 0) << one.bits << " " << one.channels;
    CHECK_RT(cudaFreeArray(array));
  }
  cudaGetLastError();
}

TEST(RuntimeFeatures, MipmapsHalveTheirLevels) {
  const cudaChannelFormatDesc channel =
      cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
  cudaMipmappedArray_t mipmap = nullptr;
  const size_t before = Free();
  CHECK_RT(cudaMallocMipmappedArray(&mipmap, &channel, {1024, 512, 0}, 5, 0));
  EXPECT_LE(Free(), before - 1024 * 512 * 4);
  for (unsigned level = 0; level < 5; ++level) {
    cudaArray_t array = nullptr;
    CHECK_RT(cudaGetMipmappedArrayLevel(&array, mipmap, level));
    cudaExtent extent = {};
    CHECK_RT(cudaArrayGetInfo(nullptr, &extent, nullptr, array));
    EXPECT_EQ(extent.width, 1024u >> level);
    EXPECT_EQ(extent.height, 512u >> level);
    EXPECT_NE(cudaFreeArray(array), cudaSuccess);  // a level is freed only with the mipmap
  }
  CHECK_RT(cudaFreeMipmappedArray(mipmap));
  EXPECT_EQ(Free(), before);
  cudaGetLastError();
}

}  // namespace
