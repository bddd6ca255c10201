// Copies and fills of every shape, and arrays.
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "driver_fixture.h"

namespace memprof::simcuda {
namespace {

const Configure kConfigure("memory=1GiB,overhead=0");

using CopyTest = DriverTest;

std::vector<unsigned char> Pattern(size_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<unsigned char> pattern(bytes);
  for (unsigned char& byte : pattern) byte = static_cast<unsigned char>(random());
  return pattern;
}

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
  // Any pointer to any pointer.
  std::vector<unsigned char> other(1024);
  CHECK_CU(cuMemcpy(reinterpret_cast<CUdeviceptr>(other.data()), address, 1024));
  EXPECT_EQ(other, read);
  CHECK_CU(cuMemFree(address));
}

TEST_F(CopyTest, BoxesLandWhereTheyShould) {
  // A box out of host memory into the middle of device memory, and back out.
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

// A box-shaped place of some kind, and what every byte of it should be.
class Place {
 public:
  enum Kind { kHost, kPinned, kDevice, kManaged, kArray, kKinds };
  Place(Kind kind, size_t width, size_t height, size_t depth, size_t pitch, unsigned seed)
      : kind_(kind), width_(width), height_(height), depth_(depth), pitch_(pitch) {
    model_ = Pattern(width * height * depth, seed);
    const size_t bytes = pitch * height * depth;
    void* pinned = nullptr;
    switch (kind) {
      case kHost:
        host_.resize(bytes);
        base_ = reinterpret_cast<CUdeviceptr>(host_.data());
        break;
      case kPinned:
        EXPECT_EQ(CUDA_SUCCESS, cuMemHostAlloc(&pinned, bytes, 0));
        base_ = reinterpret_cast<CUdeviceptr>(pinned);
        break;
      case kDevice:
        EXPECT_EQ(CUDA_SUCCESS, cuMemAlloc(&base_, bytes));
        break;
      case kManaged:
        EXPECT_EQ(CUDA_SUCCESS, cuMemAllocManaged(&base_, bytes, CU_MEM_ATTACH_GLOBAL));
        break;
      default: {
        CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
        descriptor.Width = width;
        descriptor.Height = height;
        descriptor.Depth = depth;
        descriptor.Format = CU_AD_FORMAT_SIGNED_INT8;
        descriptor.NumChannels = 1;
        EXPECT_EQ(CUDA_SUCCESS, cuArray3DCreate(&array_, &descriptor));
        break;
      }
    }
    ForEachRow([&](CUDA_MEMCPY3D* copy, unsigned char* row) {
      Side(copy, true, 0, copy->srcY, copy->srcZ);
      copy->srcMemoryType = CU_MEMORYTYPE_HOST;
      copy->srcHost = row;
      copy->srcY = copy->srcZ = 0;
    });
  }
  ~Place() {
    if (kind_ == kPinned) cuMemFreeHost(reinterpret_cast<void*>(base_));
    if (kind_ == kDevice || kind_ == kManaged) cuMemFree(base_);
    if (kind_ == kArray) cuArrayDestroy(array_);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  // Describes this place as one side of a copy that starts there.
  void Side(CUDA_MEMCPY3D* copy, bool destination, size_t x, size_t y, size_t z) const {
    const CUmemorytype type = kind_ == kArray    ? CU_MEMORYTYPE_ARRAY
                              : kind_ == kDevice ? CU_MEMORYTYPE_DEVICE
                              : kind_ == kHost   ? CU_MEMORYTYPE_HOST
                                                 : CU_MEMORYTYPE_UNIFIED;
    if (destination) {
      copy->dstMemoryType = type;
      copy->dstArray = array_;
      copy->dstDevice = base_;
      copy->dstHost = reinterpret_cast<void*>(base_);
      copy->dstPitch = pitch_;
      copy->dstHeight = height_;
      copy->dstXInBytes = x;
      copy->dstY = y;
      copy->dstZ = z;
    } else {
      copy->srcMemoryType = type;
      copy->srcArray = array_;
      copy->srcDevice = base_;
      copy->srcHost = reinterpret_cast<void*>(base_);
      copy->srcPitch = pitch_;
      copy->srcHeight = height_;
      copy->srcXInBytes = x;
      copy->srcY = y;
      copy->srcZ = z;
    }
  }
  unsigned char& Byte(size_t x, size_t y, size_t z) {
    return model_[(z * height_ + y) * width_ + x];
  }
  // Whether every byte is what the model says.
  void Check() {
    const std::vector<unsigned char> expected = model_;
    ForEachRow([&](CUDA_MEMCPY3D* copy, unsigned char* row) {
      Side(copy, false, 0, copy->srcY, copy->srcZ);
      copy->dstMemoryType = CU_MEMORYTYPE_HOST;
      copy->dstHost = row;
    });
    EXPECT_EQ(model_, expected) << "kind " << kind_;
  }
  const Kind kind_;
  const size_t width_;
  const size_t height_;
  const size_t depth_;

 private:
  // One copy for each row of the model, its place given as srcY and srcZ.
  template <class Fill>
  void ForEachRow(Fill fill) {
    for (size_t z = 0; z < depth_; ++z) {
      for (size_t y = 0; y < height_; ++y) {
        CUDA_MEMCPY3D copy = {};
        copy.srcY = y;
        copy.srcZ = z;
        copy.WidthInBytes = width_;
        copy.Height = 1;
        copy.Depth = 1;
        fill(&copy, &Byte(0, y, z));
        ASSERT_EQ(CUDA_SUCCESS, cuMemcpy3D(&copy));
      }
    }
  }
  const size_t pitch_;
  std::vector<unsigned char> model_;
  std::vector<unsigned char> host_;
  CUdeviceptr base_ = 0;
  CUarray array_ = nullptr;
};

TEST_F(CopyTest, BoxesOfAllKindsAgreeWithABytewiseModel) {
  std::mt19937 random(12);
  std::vector<std::unique_ptr<Place>> places;
  for (int i = 0; i < 2 * Place::kKinds; ++i) {
    const size_t width = 5 + random() % 40;
    places.push_back(std::make_unique<Place>(static_cast<Place::Kind>(i % Place::kKinds), width,
                                             2 + random() % 6, 2 + random() % 4,
                                             width + random() % 9, random()));
  }
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    Place& from = *places[random() % places.size()];
    Place& to = *places[random() % places.size()];
    if (&from == &to) continue;
    const size_t start[6] = {random() % from.width_, random() % from.height_,
                             random() % from.depth_, random() % to.width_,
                             random() % to.height_,  random() % to.depth_};
    const size_t shape[3] = {1 + random() % 12, 1 + random() % 3, 1 + random() % 3};
    const size_t room[6] = {from.width_, from.height_, from.depth_,
                            to.width_,   to.height_,   to.depth_};
    bool fits = true;
    bool fits_arrays = true;
    for (int i = 0; i < 6; ++i) {
      const bool inside = start[i] + shape[i % 3] <= room[i];
      fits = fits && inside;
      if ((i < 3 ? from : to).kind_ == Place::kArray) fits_arrays = fits_arrays && inside;
    }
    // Outside of plain memory's rows there may be more memory; only arrays tell for sure.
    if (!fits && fits_arrays) continue;
    CUDA_MEMCPY3D copy = {};
    from.Side(&copy, false, start[0], start[1], start[2]);
    to.Side(&copy, true, start[3], start[4], start[5]);
    copy.WidthInBytes = shape[0];
    copy.Height = shape[1];
    copy.Depth = shape[2];
    const CUresult result = round % 2 == 0 ? cuMemcpy3D(&copy) : cuMemcpy3DAsync(&copy, nullptr);
    ASSERT_EQ(result, fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
    refused += fits ? 0 : 1;
    for (size_t z = 0; fits && z < shape[2]; ++z) {
      for (size_t y = 0; y < shape[1]; ++y) {
        for (size_t x = 0; x < shape[0]; ++x) {
          to.Byte(start[3] + x, start[4] + y, start[5] + z) =
              from.Byte(start[0] + x, start[1] + y, start[2] + z);
        }
      }
    }
  }
  EXPECT_GT(refused, 50);
  CHECK_CU(cuCtxSynchronize());
  for (const auto& place : places) place->Check();
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
