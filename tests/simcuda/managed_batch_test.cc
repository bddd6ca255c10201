// Managed memory: batches, discards, and random calls against a model.
#include <cstring>
#include <random>
#include <vector>

#include "tests/simcuda/managed_fixture.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=64MiB,overhead=0,devices=2");

TEST_F(ManagedTest, BatchesPrefetchEveryRangeToItsPlace) {
  CHECK_CU(Prefetch(0, 8, OnHost()));
  CUdeviceptr addresses[] = {block_, block_ + 2 * kPage, block_ + 4 * kPage, block_ + 6 * kPage};
  size_t sizes[] = {kPage, kPage, 2 * kPage, 5};
  CUmemLocation places[] = {On(0), On(1)};
  size_t starts[] = {0, 2};
  CHECK_CU(cuMemPrefetchBatchAsync(addresses, sizes, 4, places, starts, 2, 0, stream_));
  EXPECT_EQ(Memory(0).managed_bytes, 2 * kPage);
  EXPECT_EQ(Memory(1).managed_bytes, 3 * kPage);
  EXPECT_EQ(Ask(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, 6, 1), 1);
  EXPECT_EQ(Ask(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, 7, 1), CU_DEVICE_CPU);
  struct {
    const char* what;
    size_t count;
    size_t starts[2];
    size_t places;
    unsigned long long flags;
    CUstream stream;
  } const bad[] = {{"nothing", 0, {0, 2}, 2, 0, stream_},
                   {"first not at 0", 4, {1, 2}, 2, 0, stream_},
                   {"not rising", 4, {0, 0}, 2, 0, stream_},
                   {"behind the end", 4, {0, 4}, 2, 0, stream_},
                   {"more places than ranges", 1, {0, 2}, 2, 0, stream_},
                   {"no places", 4, {0, 2}, 0, 0, stream_},
                   {"flags", 4, {0, 2}, 2, 1, stream_},
                   {"legacy stream", 4, {0, 2}, 2, 0, nullptr}};
  for (const auto& one : bad) {
    size_t from[] = {one.starts[0], one.starts[1]};
    EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
              cuMemPrefetchBatchAsync(addresses, sizes, one.count, places, from, one.places,
                                      one.flags, one.stream))
        << one.what;
  }
  places[1] = On(3);
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE,
            cuMemPrefetchBatchAsync(addresses, sizes, 4, places, starts, 2, 0, stream_));
}

TEST_F(ManagedTest, DiscardDropsWholePagesOfTheRange) {
  std::memset(reinterpret_cast<void*>(block_), 0x5a, 8 * kPage);
  CUdeviceptr addresses[] = {block_ + 100, block_ + 4 * kPage};
  size_t sizes[] = {3 * 4096, kPage};
  CHECK_CU(cuMemDiscardBatchAsync(addresses, sizes, 2, 0, stream_));
  CHECK_CU(cuStreamSynchronize(stream_));
  const auto* bytes = reinterpret_cast<const unsigned char*>(block_);
  // Bytes around the range, and in pages that it covers only partly, are unchanged.
  EXPECT_EQ(bytes[4095], 0x5a);
  EXPECT_EQ(bytes[4096], 0);
  EXPECT_EQ(bytes[3 * 4096 - 1], 0);
  EXPECT_EQ(bytes[3 * 4096], 0x5a);
  EXPECT_EQ(bytes[4 * kPage - 1], 0x5a);
  EXPECT_EQ(bytes[4 * kPage], 0);
  EXPECT_EQ(bytes[5 * kPage], 0x5a);
  // The discarded memory still belongs to the allocation.
  EXPECT_EQ(Memory(0).managed_bytes, 8 * kPage);
  CUmemLocation place = On(1);
  size_t start = 0;
  std::memset(reinterpret_cast<void*>(block_), 0x5a, 8 * kPage);
  CHECK_CU(cuMemDiscardAndPrefetchBatchAsync(addresses, sizes, 2, &place, &start, 1, 0, stream_));
  CHECK_CU(cuStreamSynchronize(stream_));
  EXPECT_EQ(bytes[4 * kPage], 0);
  EXPECT_EQ(Memory(1).managed_bytes, 2 * kPage);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemDiscardBatchAsync(addresses, sizes, 0, 0, stream_));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemDiscardBatchAsync(addresses, sizes, 2, 4, stream_));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemDiscardBatchAsync(addresses, sizes, 2, 0, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemDiscardBatchAsync(nullptr, sizes, 2, 0, stream_));
}

// Random prefetches and advice against a model of the pages.
TEST_F(ManagedTest, RandomCallsAgreeWithTwin) {
  struct Page {
    int location = 0;
    int preferred = CU_DEVICE_INVALID;
    bool read_mostly = false;
  };
  std::vector<Page> reference(8);
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    const size_t first = random() % 8;
    const size_t last = first + 1 + random() % (8 - first);
    const int device = static_cast<int>(random() % 3) - 1;
    const CUmemLocation place = device < 0 ? OnHost() : On(device);
    // The range need not cover the first and the last page completely.
    const CUdeviceptr from = block_ + first * kPage + random() % kPage;
    const size_t bytes = block_ + last * kPage - random() % kPage - from;
    if (from + bytes <= block_ + (last - 1) * kPage || bytes > 8 * kPage || bytes == 0) continue;
    const unsigned kind = random() % 3;
    if (kind == 0) {
      CHECK_CU(cuMemPrefetchAsync(from, bytes, place, 0, stream_));
    }
    if (kind == 1) {
      CHECK_CU(cuMemAdvise(from, bytes, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, place));
    }
    if (kind == 2) {
      CHECK_CU(cuMemAdvise(
          from, bytes,
          device == 0 ? CU_MEM_ADVISE_SET_READ_MOSTLY : CU_MEM_ADVISE_UNSET_READ_MOSTLY, place));
    }
    size_t on[2] = {};
    for (size_t i = 0; i < 8; ++i) {
      if (i >= first && i < last) {
        if (kind == 0) reference[i].location = device;
        if (kind == 1) reference[i].preferred = device;
        if (kind == 2) reference[i].read_mostly = device == 0;
      }
      if (reference[i].location >= 0) on[reference[i].location] += kPage;
      ASSERT_EQ(Ask(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, i, 1), reference[i].preferred);
      ASSERT_EQ(Ask(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, i, 1), reference[i].read_mostly ? 1 : 0);
    }
    ASSERT_EQ(Memory(0).managed_bytes, on[0]);
    ASSERT_EQ(Memory(1).managed_bytes, on[1]);
  }
}

}  // namespace
}  // namespace memprof::simcuda
