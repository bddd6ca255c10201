// Sizes of arrays from their descriptors.
#include "libmemprof/src/driver/array_bytes.h"

#include <gtest/gtest.h>

namespace memprof::recorder {
namespace {

TEST(ArrayBytes, CountElementsChannelsAndLevels) {
  CUDA_ARRAY_DESCRIPTOR flat{};
  flat.Width = 100;
  flat.Format = CU_AD_FORMAT_FLOAT;
  flat.NumChannels = 4;
  EXPECT_EQ(ArrayBytes(&flat), 1600u);
  flat.Height = 10;
  EXPECT_EQ(ArrayBytes(&flat), 16000u);
  CUDA_ARRAY3D_DESCRIPTOR deep{};
  deep.Width = 64;
  deep.Height = 32;
  deep.Depth = 8;
  deep.Format = CU_AD_FORMAT_HALF;
  deep.NumChannels = 1;
  EXPECT_EQ(ArrayBytes3D(&deep, 1), 64u * 32 * 8 * 2);
  EXPECT_EQ(ArrayBytes3D(&deep, 3), 2u * (64 * 32 * 8 + 32 * 16 * 4 + 16 * 8 * 2));
  deep.Flags = CUDA_ARRAY3D_LAYERED;
  EXPECT_EQ(ArrayBytes3D(&deep, 2), 2u * 8 * (64 * 32 + 32 * 16));
  deep.Format = static_cast<CUarray_format>(0x91);  // BC1: 4 bits a pixel, all channels
  EXPECT_EQ(ArrayBytes3D(&deep, 1), 64u * 32 * 8 / 2);
  deep.Format = static_cast<CUarray_format>(0xb0);  // planar video
  EXPECT_EQ(ArrayBytes3D(&deep, 1), 0u);
  EXPECT_EQ(ArrayBytes(nullptr) + ArrayBytes3D(nullptr, 1), 0u);
}

// Every number of CUarray_format that has a size, against the names of cuda.h.
TEST(ArrayBytes, EveryFormatHasItsSize) {
  struct Format {
    int number;
    unsigned channels;
    std::uint64_t bits;  // of one element of all channels
  };
  const Format formats[] = {
      {CU_AD_FORMAT_UNSIGNED_INT8, 1, 8},
      {CU_AD_FORMAT_UNSIGNED_INT16, 2, 32},
      {CU_AD_FORMAT_UNSIGNED_INT32, 4, 128},
      {CU_AD_FORMAT_SIGNED_INT8, 4, 32},
      {CU_AD_FORMAT_SIGNED_INT16, 1, 16},
      {CU_AD_FORMAT_SIGNED_INT32, 1, 32},
      {CU_AD_FORMAT_HALF, 4, 64},
      {CU_AD_FORMAT_FLOAT, 2, 64},
      {0xc0, 1, 8},  // UNORM_INT8X1 ... X4, then 16 bits, then SNORM
      {0xc1, 2, 16},
      {0xc2, 4, 32},
      {0xc3, 1, 16},
      {0xc4, 2, 32},
      {0xc5, 4, 64},
      {0xc6, 1, 8},
      {0xc8, 4, 32},
      {0xcb, 4, 64},
      {0xcc, 1, 0},
      {0x91, 4, 4},
      {0x92, 4, 4},
      {0x93, 4, 8},
      {0x97, 1, 4},
      {0x98, 1, 4},
      {0x99, 2, 8},
      {0x9e, 4, 8},
      {0x9f, 1, 0},
      {0, 1, 0},
      {-1, 1, 0},
      {0x7fffffff, 4, 0},
  };
  for (const Format& format : formats) {
    CUDA_ARRAY_DESCRIPTOR flat{};
    flat.Width = 64;
    flat.Height = 2;
    flat.Format = static_cast<CUarray_format>(format.number);
    flat.NumChannels = format.channels;
    EXPECT_EQ(ArrayBytes(&flat), 128 * format.bits / 8) << "format " << format.number;
  }
}

TEST(ArrayBytes, MipmapsEndAtOneElementAndOddExtentsRoundDown) {
  CUDA_ARRAY3D_DESCRIPTOR deep{};
  deep.Width = 5;
  deep.Height = 3;
  deep.Format = CU_AD_FORMAT_UNSIGNED_INT8;
  deep.NumChannels = 1;
  EXPECT_EQ(ArrayBytes3D(&deep, 0), 0u);
  EXPECT_EQ(ArrayBytes3D(&deep, 2), 15u + 2);
  EXPECT_EQ(ArrayBytes3D(&deep, 4), 15u + 2 + 1 + 1);
  EXPECT_EQ(ArrayBytes3D(&deep, ~0u), 15u + 2 + 62) << "an invalid number of levels ends too";
  deep.Width = 0;  // an invalid array: the driver decides what happens with it
  EXPECT_EQ(ArrayBytes3D(&deep, 1), 0u);
}

}  // namespace
}  // namespace memprof::recorder
