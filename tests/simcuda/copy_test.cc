// Copies and fills of every shape, and arrays.
#include <vector>

#include "tests/simcuda/copy_pattern.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=1GiB,overhead=0");

TEST_F(CopyTest, FillsOfEveryWidth) {
  CUdeviceptr address = 0;
  size_t pitch = 0;
  CHECK_CU(cuMemAllocPitch(&address, &pitch, 100, 8, 4));
  CHECK_CU(cuMemsetD8(address, 0xee, pitch * 8));
  CHECK_CU(cuMemsetD2D16(address, pitch, 0x1234, 50, 4));
  CHECK_CU(cuMemsetD2D32Async(address + 4 * pitch, pitch, 0xcafef00d, 25, 4, nullptr));
  CHECK_CU(cuMemsetD16Async(address + 7 * pitch, 0x5678, 2, nullptr));
  std::vector<unsigned char> read(pitch * 8);
  CHECK_CU(cuMemcpyDtoH(read.data(), address, read.size()));
  std::vector<unsigned char> expected(pitch * 8, 0xee);
  for (size_t row = 0; row < 8; ++row) {
    for (size_t i = 0; i < 100; ++i) {
      const unsigned value = row < 4 ? 0x12341234u : 0xcafef00du;
      expected[row * pitch + i] = static_cast<unsigned char>(value >> (8 * (i % 4)));
    }
  }
  const unsigned char last[] = {0x78, 0x56, 0x78, 0x56};
  std::copy(std::begin(last), std::end(last), expected.begin() + static_cast<long>(7 * pitch));
  EXPECT_EQ(read, expected);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemsetD32(address + 2, 0, 1));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemsetD8(address, 0, 3 * kMiB));
  CHECK_CU(cuMemFree(address));
}

TEST_F(CopyTest, LinearCopiesStayInsideAllocations) {
  CUdeviceptr address = 0;
  CHECK_CU(cuMemAlloc(&address, 1024));
  const auto pattern = Pattern(1024, 1);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(address + 512, pattern.data(), 1024));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(0x1000, pattern.data(), 16));
  CHECK_CU(cuMemcpyHtoD(address, pattern.data(), 1024));
  // Overlapping parts of one block.
  CHECK_CU(cuMemcpyDtoD(address + 100, address, 900));
  std::vector<unsigned char> read(1024);
  CHECK_CU(cuMemcpyDtoH(read.data(), address, 1024));
  EXPECT_TRUE(std::equal(read.begin() + 100, read.begin() + 1000, pattern.begin()));
  // cuMemcpy takes host and device pointers in any combination.
  std::vector<unsigned char> other(1024);
  CHECK_CU(cuMemcpy(reinterpret_cast<CUdeviceptr>(other.data()), address, 1024));
  EXPECT_EQ(other, read);
  CHECK_CU(cuMemFree(address));
}

TEST_F(CopyTest, BoxesLandWhereTheyShould) {
  // A box is copied from host memory into the middle of device memory, and back.
  constexpr size_t kWidth = 24;
  constexpr size_t kHeight = 5;
  constexpr size_t kDepth = 4;
  CUdeviceptr address = 0;
  size_t pitch = 0;
  CHECK_CU(cuMemAllocPitch(&address, &pitch, 64, 16 * 8, 4));
  CHECK_CU(cuMemsetD8(address, 0, pitch * 16 * 8));
  const auto host = Pattern(kWidth * kHeight * kDepth, 2);
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host.data();
  copy.srcPitch = kWidth;
  copy.srcHeight = kHeight;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = address;
  copy.dstPitch = pitch;
  copy.dstHeight = 16;
  copy.dstXInBytes = 8;
  copy.dstY = 3;
  copy.dstZ = 2;
  copy.WidthInBytes = kWidth;
  copy.Height = kHeight;
  copy.Depth = kDepth;
  CHECK_CU(cuMemcpy3D(&copy));
  std::vector<unsigned char> all(pitch * 16 * 8);
  CHECK_CU(cuMemcpyDtoH(all.data(), address, all.size()));
  std::vector<unsigned char> expected(all.size(), 0);
  for (size_t z = 0; z < kDepth; ++z) {
    for (size_t y = 0; y < kHeight; ++y) {
      for (size_t x = 0; x < kWidth; ++x) {
        expected[((z + 2) * 16 + y + 3) * pitch + x + 8] = host[(z * kHeight + y) * kWidth + x];
      }
    }
  }
  EXPECT_EQ(all, expected);

  // One slice of it with a two-dimensional copy.
  std::vector<unsigned char> slice(kWidth * kHeight);
  CUDA_MEMCPY2D back = {};
  back.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
  back.srcDevice = address;
  back.srcPitch = pitch;
  back.srcXInBytes = 8;
  back.srcY = 2 * 16 + 3;
  back.dstMemoryType = CU_MEMORYTYPE_HOST;
  back.dstHost = slice.data();
  back.dstPitch = kWidth;
  back.WidthInBytes = kWidth;
  back.Height = kHeight;
  CHECK_CU(cuMemcpy2D(&back));
  EXPECT_TRUE(std::equal(slice.begin(), slice.end(), host.begin()));
  back.srcPitch = 10;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D(&back));
  back.srcPitch = pitch;
  back.srcY = 16 * 8;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D(&back));
  CHECK_CU(cuMemFree(address));
}

TEST_F(CopyTest, ArraysHoldWhatIsCopiedIn) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  descriptor.Width = 33;
  descriptor.Height = 7;
  descriptor.Depth = 3;
  descriptor.Format = CU_AD_FORMAT_UNSIGNED_INT8;
  descriptor.NumChannels = 1;
  CUarray array = nullptr;
  CHECK_CU(cuArray3DCreate(&array, &descriptor));
  EXPECT_EQ(Memory().array_bytes, 2 * kMiB);
  const auto host = Pattern(33 * 7 * 3, 3);
  std::vector<unsigned char> read(host.size());
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host.data();
  copy.srcPitch = 33;
  copy.srcHeight = 7;
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = array;
  copy.WidthInBytes = 33;
  copy.Height = 7;
  copy.Depth = 3;
  CHECK_CU(cuMemcpy3D(&copy));
  CUDA_MEMCPY3D back = copy;
  back.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  back.srcArray = array;
  back.dstMemoryType = CU_MEMORYTYPE_HOST;
  back.dstHost = read.data();
  back.dstPitch = 33;
  back.dstHeight = 7;
  CHECK_CU(cuMemcpy3D(&back));
  EXPECT_EQ(read, host);
  copy.dstXInBytes = 1;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D(&copy));
  CHECK_CU(cuArrayDestroy(array));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuArrayDestroy(array));
  EXPECT_EQ(Memory().array_bytes, 0u);
}

TEST_F(CopyTest, FlatArrays) {
  CUDA_ARRAY_DESCRIPTOR descriptor = {100, 0, CU_AD_FORMAT_FLOAT, 2};
  CUarray array = nullptr;
  CHECK_CU(cuArrayCreate(&array, &descriptor));
  CUDA_ARRAY_DESCRIPTOR got = {};
  CHECK_CU(cuArrayGetDescriptor(&got, array));
  EXPECT_EQ(got.Width, 100u);
  EXPECT_EQ(got.NumChannels, 2u);
  const auto host = Pattern(800, 4);
  CHECK_CU(cuMemcpyHtoA(array, 0, host.data(), 800));
  std::vector<unsigned char> read(400);
  CHECK_CU(cuMemcpyAtoH(read.data(), array, 400, 400));
  EXPECT_TRUE(std::equal(read.begin(), read.end(), host.begin() + 400));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpyAtoH(read.data(), array, 401, 400));
  descriptor.NumChannels = 3;
  CUarray bad = nullptr;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuArrayCreate(&bad, &descriptor));
  CHECK_CU(cuArrayDestroy(array));
}

TEST_F(CopyTest, MipmapsOwnTheirLevels) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  descriptor.Width = 1024;
  descriptor.Height = 1024;
  descriptor.Format = CU_AD_FORMAT_FLOAT;
  descriptor.NumChannels = 1;
  CUmipmappedArray mipmap = nullptr;
  CHECK_CU(cuMipmappedArrayCreate(&mipmap, &descriptor, 3));
  EXPECT_GE(Memory().array_bytes, 6 * kMiB);
  CUarray level = nullptr;
  CHECK_CU(cuMipmappedArrayGetLevel(&level, mipmap, 2));
  CUDA_ARRAY_DESCRIPTOR got = {};
  CHECK_CU(cuArrayGetDescriptor(&got, level));
  EXPECT_EQ(got.Width, 256u);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMipmappedArrayGetLevel(&level, mipmap, 3));
  CHECK_CU(cuMipmappedArrayDestroy(mipmap));
  EXPECT_EQ(Memory().array_bytes, 0u);
}

}  // namespace
}  // namespace memprof::simcuda
