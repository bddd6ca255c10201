// Texture and surface objects: which descriptions they accept, and that queries return the same
// descriptions.
#include <cstring>

#include "driver_fixture.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=256MiB,overhead=0");

class TextureTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
    descriptor.Width = 32;
    descriptor.Height = 16;
    descriptor.Format = CU_AD_FORMAT_FLOAT;
    descriptor.NumChannels = 1;
    CHECK_CU(cuArray3DCreate(&plain_, &descriptor));
    descriptor.Flags = CUDA_ARRAY3D_SURFACE_LDST;
    CHECK_CU(cuArray3DCreate(&writable_, &descriptor));
    CHECK_CU(cuMipmappedArrayCreate(&mipmap_, &descriptor, 3));
    CHECK_CU(cuMemAlloc(&linear_, 64 * kKiB));
    texture_.filterMode = CU_TR_FILTER_MODE_LINEAR;
    texture_.addressMode[1] = CU_TR_ADDRESS_MODE_MIRROR;
    texture_.maxAnisotropy = 4;
  }
  static CUDA_RESOURCE_DESC OfArray(CUarray array) {
    CUDA_RESOURCE_DESC resource = {};
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array;
    return resource;
  }
  CUDA_RESOURCE_DESC Linear(size_t offset, size_t bytes, unsigned channels = 1) {
    CUDA_RESOURCE_DESC resource = {};
    resource.resType = CU_RESOURCE_TYPE_LINEAR;
    resource.res.linear.devPtr = linear_ + offset;
    resource.res.linear.format = CU_AD_FORMAT_FLOAT;
    resource.res.linear.numChannels = channels;
    resource.res.linear.sizeInBytes = bytes;
    return resource;
  }
  CUDA_RESOURCE_DESC Pitched(size_t width, size_t height, size_t pitch) {
    CUDA_RESOURCE_DESC resource = {};
    resource.resType = CU_RESOURCE_TYPE_PITCH2D;
    resource.res.pitch2D.devPtr = linear_;
    resource.res.pitch2D.format = CU_AD_FORMAT_UNSIGNED_INT8;
    resource.res.pitch2D.numChannels = 4;
    resource.res.pitch2D.width = width;
    resource.res.pitch2D.height = height;
    resource.res.pitch2D.pitchInBytes = pitch;
    return resource;
  }
  CUresult Create(const CUDA_RESOURCE_DESC& resource) {
    CUtexObject object = 0;
    const CUresult result = cuTexObjectCreate(&object, &resource, &texture_, nullptr);
    if (result == CUDA_SUCCESS) {
      EXPECT_EQ(CUDA_SUCCESS, cuTexObjectDestroy(object));
    }
    return result;
  }
  CUarray plain_ = nullptr;
  CUarray writable_ = nullptr;
  CUmipmappedArray mipmap_ = nullptr;
  CUdeviceptr linear_ = 0;
  CUDA_TEXTURE_DESC texture_ = {};
};

TEST_F(TextureTest, ObjectsRememberTheirDescriptions) {
  CUDA_RESOURCE_DESC resource = {};
  resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  resource.res.mipmap.hMipmappedArray = mipmap_;
  CUDA_RESOURCE_VIEW_DESC view = {};
  view.format = CU_RES_VIEW_FORMAT_FLOAT_1X32;
  view.width = 32;
  view.lastMipmapLevel = 2;
  CUtexObject object = 0;
  CHECK_CU(cuTexObjectCreate(&object, &resource, &texture_, &view));
  CUDA_RESOURCE_DESC resource_back = {};
  CUDA_TEXTURE_DESC texture_back = {};
  CUDA_RESOURCE_VIEW_DESC view_back = {};
  CHECK_CU(cuTexObjectGetResourceDesc(&resource_back, object));
  CHECK_CU(cuTexObjectGetTextureDesc(&texture_back, object));
  CHECK_CU(cuTexObjectGetResourceViewDesc(&view_back, object));
  EXPECT_EQ(resource_back.res.mipmap.hMipmappedArray, mipmap_);
  EXPECT_EQ(std::memcmp(&texture_back, &texture_, sizeof(texture_)), 0);
  EXPECT_EQ(std::memcmp(&view_back, &view, sizeof(view)), 0);
  CHECK_CU(cuTexObjectDestroy(object));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuTexObjectDestroy(object));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuTexObjectGetResourceDesc(&resource_back, object));
  // An object without a view has no view description.
  resource = OfArray(plain_);
  CHECK_CU(cuTexObjectCreate(&object, &resource, &texture_, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuTexObjectGetResourceViewDesc(&view_back, object));
  CHECK_CU(cuTexObjectDestroy(object));
}

TEST_F(TextureTest, ResourcesAreChecked) {
  struct {
    const char* what;
    CUDA_RESOURCE_DESC resource;
    bool good;
  } cases[] = {
      {"an array", OfArray(plain_), true},
      {"no array", OfArray(nullptr), false},
      {"all of the memory", Linear(0, 64 * kKiB), true},
      {"a part of it", Linear(512, 1000), true},
      {"not aligned", Linear(256, 1000), false},
      {"beyond its end", Linear(512, 64 * kKiB), true},
      {"more elements than a texture has", Linear(0, size_t{268435457} * 4), false},
      {"no bytes", Linear(0, 0), false},
      {"three channels", Linear(0, 1000, 3), false},
      {"pitched", Pitched(64, 256, 256), true},
      {"pitched, too many rows", Pitched(64, 257, 256), false},
      {"rows longer than the pitch", Pitched(65, 2, 256), false},
      {"pitch not aligned", Pitched(8, 2, 40), false},
      {"no rows", Pitched(8, 0, 64), false},
      {"flags", Linear(0, 1000), false},
      {"unknown kind", Linear(0, 1000), false},
  };
  cases[14].resource.flags = 1;
  cases[15].resource.resType = static_cast<CUresourcetype>(17);
  for (const auto& one : cases) {
    EXPECT_EQ(one.good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE, Create(one.resource)) << one.what;
  }
  const CUDA_RESOURCE_DESC linear = Linear(0, 1000);
  const CUDA_RESOURCE_VIEW_DESC view = {};
  CUtexObject object = 0;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuTexObjectCreate(&object, &linear, &texture_, &view));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuTexObjectCreate(&object, &linear, nullptr, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuTexObjectCreate(nullptr, &linear, &texture_, nullptr));
}

TEST_F(TextureTest, SurfacesNeedArraysMadeForThem) {
  CUsurfObject object = 0;
  CUDA_RESOURCE_DESC resource = OfArray(plain_);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuSurfObjectCreate(&object, &resource));
  resource = Linear(0, 1000);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuSurfObjectCreate(&object, &resource));
  resource = OfArray(writable_);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuSurfObjectCreate(nullptr, &resource));
  CHECK_CU(cuSurfObjectCreate(&object, &resource));
  CUDA_RESOURCE_DESC back = {};
  CHECK_CU(cuSurfObjectGetResourceDesc(&back, object));
  EXPECT_EQ(back.res.array.hArray, writable_);
  CHECK_CU(cuSurfObjectDestroy(object));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuSurfObjectDestroy(object));
}

TEST_F(TextureTest, ObjectsEndWithTheirContext) {
  const CUDA_RESOURCE_DESC resource = OfArray(writable_);
  CUtexObject texture = 0;
  CUsurfObject surface = 0;
  CHECK_CU(cuTexObjectCreate(&texture, &resource, &texture_, nullptr));
  CHECK_CU(cuSurfObjectCreate(&surface, &resource));
  CHECK_CU(cuDevicePrimaryCtxReset(0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuTexObjectDestroy(texture));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuSurfObjectDestroy(surface));
}

}  // namespace
}  // namespace memprof::simcuda
