// Managed memory: prefetch, advice and attributes of a range.
#include <vector>

#include "tests/simcuda/managed_fixture.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=64MiB,overhead=0,devices=2");

TEST_F(ManagedTest, PrefetchMovesTheBytesBetweenDevices) {
  EXPECT_EQ(Memory(0).managed_bytes, 8 * kPage);
  CHECK_CU(Prefetch(2, 3, On(1)));
  EXPECT_EQ(Memory(0).managed_bytes, 5 * kPage);
  EXPECT_EQ(Memory(1).managed_bytes, 3 * kPage);
  CHECK_CU(Prefetch(2, 3, On(1)));  // there already
  EXPECT_EQ(Memory(1).managed_bytes, 3 * kPage);
  CHECK_CU(Prefetch(4, 2, OnHost()));
  EXPECT_EQ(Memory(0).managed_bytes, 4 * kPage);
  EXPECT_EQ(Memory(1).managed_bytes, 2 * kPage);
  CHECK_CU(Prefetch(0, 8, On(0)));
  EXPECT_EQ(Memory(0).managed_bytes, 8 * kPage);
  EXPECT_EQ(Memory(1).managed_bytes, 0u);
}

TEST_F(ManagedTest, PrefetchTakesNoMoreThanHasRoom) {
  CHECK_CU(Prefetch(0, 8, OnHost()));
  CUdeviceptr linear = 0;
  CHECK_CU(cuMemAlloc(&linear, 64 * kMiB - 3 * kPage));
  CHECK_CU(Prefetch(0, 8, On(0)));
  EXPECT_EQ(Memory(0).managed_bytes, 3 * kPage);
  EXPECT_EQ(Memory(0).free_bytes, 0u);
  CHECK_CU(cuMemFree(linear));
}

TEST_F(ManagedTest, RangesAreAnsweredForAllTheirPages) {
  EXPECT_EQ(Ask(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, 0, 8), 0);
  EXPECT_EQ(Ask(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, 0, 8), CU_DEVICE_INVALID);
  EXPECT_EQ(Ask(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, 0, 8), CU_DEVICE_INVALID);
  CHECK_CU(cuMemAdvise(block_, 4 * kPage, CU_MEM_ADVISE_SET_READ_MOSTLY, On(0)));
  EXPECT_EQ(Ask(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, 0, 4), 1);
  EXPECT_EQ(Ask(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, 0, 5), 0);
  CHECK_CU(cuMemAdvise(block_ + kPage, kPage, CU_MEM_ADVISE_UNSET_READ_MOSTLY, On(0)));
  EXPECT_EQ(Ask(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, 0, 4), 0);
  EXPECT_EQ(Ask(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, 2, 2), 1);
  CHECK_CU(cuMemAdvise(block_, 2 * kPage, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, On(1)));
  CHECK_CU(cuMemAdvise(block_ + 2 * kPage, kPage, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, OnHost()));
  EXPECT_EQ(Ask(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, 0, 2), 1);
  EXPECT_EQ(Ask(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, 2, 1), CU_DEVICE_CPU);
  EXPECT_EQ(Ask(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, 1, 2), CU_DEVICE_INVALID);
  EXPECT_EQ(Ask(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, 0, 2), CU_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(Ask(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID, 0, 2), 1);
  EXPECT_EQ(Ask(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, 2, 1), CU_MEM_LOCATION_TYPE_HOST);
  EXPECT_EQ(Ask(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, 1, 2),
            CU_MEM_LOCATION_TYPE_INVALID);
  CHECK_CU(cuMemAdvise(block_, kPage, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, On(0)));
  EXPECT_EQ(Ask(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, 0, 1), CU_DEVICE_INVALID);
  CHECK_CU(Prefetch(3, 2, On(1)));
  EXPECT_EQ(Ask(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, 3, 2), 1);
  EXPECT_EQ(Ask(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE, 3, 2),
            CU_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(Ask(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID, 3, 2), 1);
  EXPECT_EQ(Ask(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, 2, 2), CU_DEVICE_INVALID);
}

TEST_F(ManagedTest, AccessorsAreListed) {
  CHECK_CU(cuMemAdvise(block_, 3 * kPage, CU_MEM_ADVISE_SET_ACCESSED_BY, On(1)));
  CHECK_CU(cuMemAdvise(block_ + kPage, 3 * kPage, CU_MEM_ADVISE_SET_ACCESSED_BY, On(0)));
  const auto list = [&](size_t page, size_t pages) {
    std::vector<int> all(3, 99);
    EXPECT_EQ(CUDA_SUCCESS,
              cuMemRangeGetAttribute(all.data(), 12, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY,
                                     block_ + page * kPage, pages * kPage));
    return all;
  };
  constexpr int kNone = CU_DEVICE_INVALID;
  EXPECT_EQ(list(0, 1), (std::vector<int>{1, kNone, kNone}));
  EXPECT_EQ(list(1, 2), (std::vector<int>{0, 1, kNone}));
  EXPECT_EQ(list(2, 2), (std::vector<int>{0, kNone, kNone}));
  CHECK_CU(cuMemAdvise(block_, 8 * kPage, CU_MEM_ADVISE_UNSET_ACCESSED_BY, On(0)));
  EXPECT_EQ(list(1, 2), (std::vector<int>{1, kNone, kNone}));
  int one = 0;
  CHECK_CU(cuMemRangeGetAttribute(&one, 4, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, block_, kPage));
  EXPECT_EQ(one, 1);
}

TEST_F(ManagedTest, BadRangesPlacesAndSizes) {
  CUdeviceptr linear = 0;
  CHECK_CU(cuMemAlloc(&linear, 100));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemPrefetchAsync(linear, 100, On(0), 0, stream_));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuMemAdvise(linear, 100, CU_MEM_ADVISE_SET_READ_MOSTLY, On(0)));
  CHECK_CU(cuMemFree(linear));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemPrefetchAsync(block_, 0, On(0), 0, stream_));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemPrefetchAsync(block_ + 1, 8 * kPage, On(0), 0, stream_));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemPrefetchAsync(block_, kPage, On(0), 1, stream_));
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuMemPrefetchAsync(block_, kPage, On(2), 0, stream_));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuMemPrefetchAsync(block_, kPage, {CU_MEM_LOCATION_TYPE_INVALID, {0}}, 0, stream_));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuMemAdvise(block_, kPage, static_cast<CUmem_advise>(77), On(0)));
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE,
            cuMemAdvise(block_, kPage, CU_MEM_ADVISE_SET_ACCESSED_BY, On(7)));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemAdvise(block_, kPage, CU_MEM_ADVISE_SET_ACCESSED_BY,
                                                  {CU_MEM_LOCATION_TYPE_INVALID, {0}}));
  // Advice that does not depend on a location accepts an invalid one.
  CHECK_CU(cuMemAdvise(block_, kPage, CU_MEM_ADVISE_UNSET_READ_MOSTLY,
                       {CU_MEM_LOCATION_TYPE_INVALID, {0}}));
  long long wide = 0;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuMemRangeGetAttribute(&wide, 8, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, block_, kPage));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuMemRangeGetAttribute(&wide, 6, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, block_, kPage));
  EXPECT_EQ(
      CUDA_ERROR_INVALID_VALUE,
      cuMemRangeGetAttribute(&wide, 4, static_cast<CUmem_range_attribute>(99), block_, kPage));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuMemRangeGetAttribute(nullptr, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, block_, kPage));
  void* data[] = {&wide};
  size_t sizes[] = {4};
  CUmem_range_attribute asked[] = {CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY};
  CHECK_CU(cuMemRangeGetAttributes(data, sizes, asked, 1, block_, kPage));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuMemRangeGetAttributes(data, sizes, asked, 0, block_, kPage));
  sizes[0] = 3;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuMemRangeGetAttributes(data, sizes, asked, 1, block_, kPage));
}

TEST_F(ManagedTest, OldNamesMeanTheSame) {
  const auto prefetch = reinterpret_cast<CUresult (*)(CUdeviceptr, size_t, CUdevice, CUstream)>([] {
    void* found = nullptr;
    cuGetProcAddress("cuMemPrefetchAsync", &found, 8000, 0, nullptr);
    return found;
  }());
  ASSERT_NE(prefetch, nullptr);
  CHECK_CU(prefetch(block_, 8 * kPage, 1, stream_));
  EXPECT_EQ(Memory(1).managed_bytes, 8 * kPage);
  CHECK_CU(prefetch(block_, 8 * kPage, CU_DEVICE_CPU, stream_));
  EXPECT_EQ(Memory(1).managed_bytes, 0u);
  EXPECT_EQ(Ask(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, 0, 8), CU_DEVICE_CPU);
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, prefetch(block_, kPage, 2, stream_));
}

}  // namespace
}  // namespace memprof::simcuda
