// Hooks of sparse arrays, and of arrays with deferred mapping.
#include "tests/libmemprof/events/recorded_driver.h"

namespace memprof::recorder {
namespace {

using testing::Event;
using ::testing::IsEmpty;

constexpr unsigned kSparse = 0x40, kDeferred = 0x80;

class SparseHooks : public HooksTest {
 protected:
  static constexpr std::size_t kTile = 65536;  // 128 x 128 x 4 bytes

  CUarray Array(unsigned flags = kSparse) {
    const CUDA_ARRAY3D_DESCRIPTOR descriptor{512, 256, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4, flags};
    CUarray array = nullptr;
    EXPECT_EQ(Call("cuArray3DCreate_v2", &array, &descriptor), CUDA_SUCCESS);
    return array;
  }
  static CUarrayMapInfo Tile(CUarray array, unsigned x, Handle memory, unsigned width = 128) {
    CUarrayMapInfo info{};
    info.resourceType = CU_RESOURCE_TYPE_ARRAY;
    info.resource.array = array;
    info.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL;
    info.subresource.sparseLevel.offsetX = x;
    info.subresource.sparseLevel.extentWidth = width;
    info.subresource.sparseLevel.extentHeight = 128;
    info.subresource.sparseLevel.extentDepth = 1;
    info.memOperationType = memory == 0 ? CU_MEM_OPERATION_TYPE_UNMAP : CU_MEM_OPERATION_TYPE_MAP;
    info.memHandleType = CU_MEM_HANDLE_TYPE_GENERIC;
    info.memHandle.memHandle = memory;
    info.deviceBitMask = 1;
    return info;
  }
  CUresult Bind(std::vector<CUarrayMapInfo> tiles, const char* function = "cuMemMapArrayAsync") {
    return Call(function, tiles.data(), static_cast<unsigned>(tiles.size()), CUstream{});
  }
};

TEST_F(SparseHooks, TheMemoryIsCountedOnceAndHeldByItsTiles) {
  Start();
  const CUarray array = Array();
  EXPECT_EQ(Stats().live_bytes, 0u) << "the array has no memory";
  const Handle memory = CreateMemory(4 * kTile);
  EXPECT_EQ(Bind({Tile(array, 0, memory), Tile(array, 128, memory)}), CUDA_SUCCESS);
  EXPECT_EQ(Stats().live_bytes, 4 * kTile);
  Call("cuMemRelease", memory);
  EXPECT_EQ(Stats().live_bytes, 4 * kTile) << "tiles hold it";
  Bind({Tile(array, 0, 0)}, "cuMemMapArrayAsync_ptsz");
  EXPECT_EQ(Stats().live_bytes, 4 * kTile);
  Bind({Tile(array, 128, 0)});
  EXPECT_EQ(Stats().live_bytes, 0u);
  const testing::Log log = Finish();
  const std::vector<Event> binds = log.WithOp(log::OP_MAP);
  ASSERT_EQ(binds.size(), 2u);
  EXPECT_EQ(binds[1].layer, log::LAYER_ARRAY);
  EXPECT_EQ(binds[1].address, reinterpret_cast<std::uint64_t>(array));
  EXPECT_EQ(binds[1].bytes, kTile);
  EXPECT_EQ(binds[1].aux0, memory);
  EXPECT_EQ(binds[1].device, 0);
  const std::vector<Event> unbinds = log.WithOp(log::OP_UNMAP);
  ASSERT_EQ(unbinds.size(), 2u);
  EXPECT_EQ(unbinds[0].bytes, kTile);
  const Event made = log.WithOp(log::OP_ALLOC).at(0);
  EXPECT_EQ(made.layer, log::LAYER_ARRAY);
  EXPECT_EQ(made.bytes, 0u);
  EXPECT_EQ(made.aux0, 512u * 256 * 4) << "the maximum that can be mapped";
}

TEST_F(SparseHooks, OtherMemoryTakesItsPlace) {
  Start();
  const CUarray array = Array();
  const Handle first = CreateMemory(kTile), second = CreateMemory(2 * kTile);
  Bind({Tile(array, 0, first)});
  Call("cuMemRelease", first);
  Bind({Tile(array, 0, second, 256)});
  EXPECT_EQ(Stats().live_bytes, 2 * kTile);
  EXPECT_EQ(Finish().WithOp(log::OP_FREE).at(0).address, first);
}

TEST_F(SparseHooks, TheArrayAndItsContextLetGo) {
  Start();
  const Handle memory = CreateMemory(kTile), other = CreateMemory(kTile);
  const CUarray array = Array();
  Bind({Tile(array, 0, memory)});
  Call("cuMemRelease", memory);
  Answer(CUDA_ERROR_INVALID_VALUE);
  Call("cuArrayDestroy", array);
  EXPECT_EQ(Stats().live_bytes, 2 * kTile);
  Answer(CUDA_SUCCESS);
  Call("cuArrayDestroy", array);
  EXPECT_EQ(Stats().live_bytes, kTile);
  CUcontext context = nullptr;
  Call("cuCtxCreate_v2", &context, 0u, 0);
  driver_.current = context;
  Bind({Tile(Array(), 0, other)});
  Call("cuMemRelease", other);
  EXPECT_EQ(Stats().live_bytes, kTile);
  Call("cuCtxDestroy_v2", context);
  EXPECT_EQ(Stats().live_bytes, 0u);
}

TEST_F(SparseHooks, TailsAndLevelsOfMipmaps) {
  Start();
  const CUDA_ARRAY3D_DESCRIPTOR descriptor{512, 512, 0, CU_AD_FORMAT_FLOAT, 1, kSparse};
  CUmipmappedArray mipmap = nullptr;
  EXPECT_EQ(Call("cuMipmappedArrayCreate", &mipmap, &descriptor, 10u), CUDA_SUCCESS);
  const Handle memory = CreateMemory(kTile);
  CUarrayMapInfo tail{};
  tail.resourceType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  tail.resource.mipmap = mipmap;
  tail.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL;
  tail.subresource.miptail.size = kTile;
  tail.memOperationType = CU_MEM_OPERATION_TYPE_MAP;
  tail.memHandle.memHandle = memory;
  tail.offset = 4096;
  Bind({tail});
  Call("cuMemRelease", memory);
  EXPECT_EQ(Stats().live_bytes, kTile);
  Call("cuMipmappedArrayDestroy", mipmap);
  EXPECT_EQ(Stats().live_bytes, 0u);
  const Event bind = Finish().WithOp(log::OP_MAP).at(0);
  EXPECT_EQ(bind.bytes, kTile);
  EXPECT_EQ(bind.aux1, 4096u);
}

// Deferred mapping always covers the whole array, whatever the entry's other fields contain.
TEST_F(SparseHooks, MemoryBoundLaterIsBoundAsAWhole) {
  Start();
  const CUarray array = Array(kDeferred);
  const Handle memory = CreateMemory(512 * 256 * 4);
  Bind({Tile(array, 384, memory)});
  Call("cuMemRelease", memory);
  EXPECT_EQ(Stats().live_bytes, 512u * 256 * 4) << "and not twice that";
  Bind({Tile(array, 0, 0)});
  EXPECT_EQ(Stats().live_bytes, 0u);
  EXPECT_EQ(Finish().WithOp(log::OP_MAP).at(0).bytes, 512u * 256 * 4);
}

TEST_F(SparseHooks, WhatFailsSaysHowMuchItWasAbout) {
  Start();
  const CUarray array = Array();
  const Handle memory = CreateMemory(kTile);
  Answer(CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Bind({Tile(array, 0, memory), Tile(array, 128, memory), Tile(array, 256, 0)}),
            CUDA_ERROR_INVALID_VALUE);
  const CUDA_ARRAY3D_DESCRIPTOR descriptor{512, 256, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4, kSparse};
  CUarray none = nullptr;
  EXPECT_EQ(Call("cuArray3DCreate_v2", &none, &descriptor), CUDA_ERROR_INVALID_VALUE);
  Answer(CUDA_SUCCESS);
  Call("cuMemMapArrayAsync", static_cast<CUarrayMapInfo*>(nullptr), 0u, CUstream{});
  Call("cuMemRelease", memory);
  EXPECT_EQ(Stats().live_bytes, 0u) << "nothing holds it";
  const testing::Log log = Finish();
  const std::vector<Event> failed = log.WithOp(log::OP_ALLOC_FAILED);
  ASSERT_EQ(failed.size(), 2u);
  EXPECT_EQ(failed[0].layer, log::LAYER_ARRAY);
  EXPECT_EQ(failed[0].bytes, 2 * kTile);
  EXPECT_EQ(failed[0].aux0, driver_.free_bytes);
  EXPECT_THAT(log.WithOp(log::OP_MAP), IsEmpty());
}

// Calls on a capturing stream are not captured: tiles are bound at once.
TEST_F(SparseHooks, ACaptureElsewhereChangesNothing) {
  Start();
  driver_.capturing = true;
  const CUarray array = Array();
  const Handle memory = CreateMemory(kTile);
  Bind({Tile(array, 0, memory)});
  Call("cuMemRelease", memory);
  EXPECT_EQ(Stats().live_bytes, kTile);
}

}  // namespace
}  // namespace memprof::recorder
