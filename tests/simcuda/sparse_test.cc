// Arrays whose memory is mapped later.
#include <map>
#include <random>
#include <set>

#include "driver_fixture.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=64MiB,overhead=0");
constexpr size_t kPage = 2 * kMiB, kTile = 64 * kKiB;

class SparseTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    // Three by two tiles of 128 x 128 floats; the last ones are partial.
    const CUDA_ARRAY3D_DESCRIPTOR plane = {300, 200, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SPARSE};
    CHECK_CU(cuArray3DCreate(&array_, &plane));
    info_.resourceType = CU_RESOURCE_TYPE_ARRAY;
    info_.resource.array = array_;
    info_.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL;
    info_.subresource.sparseLevel.extentDepth = 1;
    info_.memHandleType = CU_MEM_HANDLE_TYPE_GENERIC;
    info_.deviceBitMask = 1;
  }
  CUmemGenericAllocationHandle Create() {
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_EQ(CUDA_SUCCESS, cuMemCreate(&handle, kPage, &properties, 0));
    return handle;
  }
  // One tile, or the part of it that is inside the array.
  CUresult Set(unsigned x, unsigned y, CUmemGenericAllocationHandle handle, size_t offset = 0) {
    CUarrayMapInfo info = info_;
    info.subresource.sparseLevel.offsetX = x * 128;
    info.subresource.sparseLevel.offsetY = y * 128;
    info.subresource.sparseLevel.extentWidth = x == 2 ? 300 - 256 : 128;
    info.subresource.sparseLevel.extentHeight = y == 1 ? 200 - 128 : 128;
    info.memOperationType = handle == 0 ? CU_MEM_OPERATION_TYPE_UNMAP : CU_MEM_OPERATION_TYPE_MAP;
    info.memHandle.memHandle = handle;
    info.offset = offset;
    const CUresult result = cuMemMapArrayAsync(&info, 1, nullptr);
    EXPECT_EQ(CUDA_SUCCESS, cuCtxSynchronize());
    return result;
  }
  CUarray array_ = nullptr;
  CUarrayMapInfo info_ = {};
};

TEST_F(SparseTest, TakesNoMemoryOfItsOwn) {
  EXPECT_EQ(Memory().free_bytes, Memory().capacity_bytes);
  CUDA_ARRAY_SPARSE_PROPERTIES properties = {};
  CHECK_CU(cuArrayGetSparseProperties(&properties, array_));
  EXPECT_EQ(properties.tileExtent.width * properties.tileExtent.height * 4, kTile);
  CUDA_ARRAY_MEMORY_REQUIREMENTS requirements = {};
  CHECK_CU(cuArrayGetMemoryRequirements(&requirements, array_, 0));
  EXPECT_EQ(requirements.alignment, kTile);
  EXPECT_GE(requirements.size, 300u * 200 * 4);
  CHECK_CU(cuArrayDestroy(array_));
}

TEST_F(SparseTest, WhatIsMappedIsHeld) {
  const auto handle = Create();
  CHECK_CU(Set(0, 0, handle));
  CHECK_CU(Set(2, 1, handle, kPage - kTile));
  CHECK_CU(cuMemRelease(handle));
  EXPECT_EQ(Memory().vmm_bytes, kPage);
  CHECK_CU(Set(0, 0, 0));
  EXPECT_EQ(Memory().vmm_bytes, kPage);
  CHECK_CU(cuArrayDestroy(array_));
  EXPECT_EQ(Memory().vmm_bytes, 0u);
}

TEST_F(SparseTest, PlacesAndHandlesAreChecked) {
  const auto handle = Create();
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, Set(3, 0, handle));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, Set(0, 0, handle, 4096));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, Set(0, 0, handle, kPage));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, Set(0, 0, handle + 1));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemMapArrayAsync(nullptr, 1, nullptr));
  CUarrayMapInfo wrong = info_;
  wrong.subresource.sparseLevel.extentWidth = 100;  // not a whole tile, and not up to the edge
  wrong.subresource.sparseLevel.extentHeight = 128;
  wrong.memOperationType = CU_MEM_OPERATION_TYPE_MAP;
  wrong.memHandle.memHandle = handle;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemMapArrayAsync(&wrong, 1, nullptr));
  wrong.subresource.sparseLevel.extentWidth = 128;
  wrong.deviceBitMask = 2;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemMapArrayAsync(&wrong, 1, nullptr));
  CUarray plain = nullptr;
  const CUDA_ARRAY_DESCRIPTOR flat = {128, 128, CU_AD_FORMAT_FLOAT, 1};
  CHECK_CU(cuArrayCreate(&plain, &flat));
  wrong.deviceBitMask = 1;
  wrong.resource.array = plain;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemMapArrayAsync(&wrong, 1, nullptr));
  CUDA_ARRAY_MEMORY_REQUIREMENTS requirements = {};
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuArrayGetMemoryRequirements(&requirements, plain, 0));
  CHECK_CU(cuMemRelease(handle));
}

TEST_F(SparseTest, RandomTilesAgreeWithTwin) {
  std::mt19937 random(7);
  std::map<std::pair<unsigned, unsigned>, CUmemGenericAllocationHandle> reference;
  std::set<CUmemGenericAllocationHandle> open;
  for (int step = 0; step < 400; ++step) {
    const std::pair<unsigned, unsigned> place = {random() % 3, random() % 2};
    if (open.size() < 4 && random() % 4 == 0) open.insert(Create());
    if (!open.empty() && random() % 2 == 0) {
      const auto handle = *std::next(open.begin(), static_cast<long>(random() % open.size()));
      CHECK_CU(Set(place.first, place.second, handle, random() % 32 * kTile));
      reference[place] = handle;
    } else if (random() % 3 == 0) {
      CHECK_CU(Set(place.first, place.second, 0));
      reference.erase(place);
    } else if (!open.empty()) {
      CHECK_CU(cuMemRelease(*open.begin()));
      open.erase(open.begin());
    }
    std::set<CUmemGenericAllocationHandle> held = open;
    for (const auto& [where, handle] : reference) held.insert(handle);
    ASSERT_EQ(Memory().vmm_bytes, held.size() * kPage) << "step " << step;
  }
  for (const auto handle : open) CHECK_CU(cuMemRelease(handle));
}

TEST_F(SparseTest, DeferredArraysAreMappedAsAWhole) {
  const CUDA_ARRAY3D_DESCRIPTOR plane = {
      300, 200, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_DEFERRED_MAPPING};
  CUmipmappedArray pyramid = nullptr;
  CHECK_CU(cuMipmappedArrayCreate(&pyramid, &plane, 2));
  EXPECT_EQ(Memory().array_bytes, 0u);
  CUDA_ARRAY_MEMORY_REQUIREMENTS requirements = {};
  CHECK_CU(cuMipmappedArrayGetMemoryRequirements(&requirements, pyramid, 0));
  const auto handle = Create();
  CUarrayMapInfo info = {};
  info.resourceType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  info.resource.mipmap = pyramid;
  info.memOperationType = CU_MEM_OPERATION_TYPE_MAP;
  info.memHandleType = CU_MEM_HANDLE_TYPE_GENERIC;
  info.memHandle.memHandle = handle;
  info.deviceBitMask = 1;
  info.offset = kPage - requirements.size + kTile;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemMapArrayAsync(&info, 1, nullptr));
  info.offset = kPage - requirements.size;
  CHECK_CU(cuMemMapArrayAsync(&info, 1, nullptr));
  CHECK_CU(cuMemRelease(handle));
  CHECK_CU(cuCtxSynchronize());
  EXPECT_EQ(Memory().vmm_bytes, kPage);
  CHECK_CU(cuMipmappedArrayDestroy(pyramid));
  EXPECT_EQ(Memory().vmm_bytes, 0u);
}

}  // namespace
}  // namespace memprof::simcuda
