// Sizes of arrays from their descriptors.
#include "libmemprof/src/array_bytes.h"

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
  const unsigned old[] = {10, 20, 0x03, 2};  // width, height, 32-bit format, channels
  EXPECT_EQ(ArrayBytes32(old), 10u * 20 * 4 * 2);
  const unsigned old3d[] = {10, 20, 3, 0x01, 1, 0};
  EXPECT_EQ(ArrayBytes3D32(old3d), 600u);
  EXPECT_EQ(ArrayBytes(nullptr) + ArrayBytes3D(nullptr, 1) + ArrayBytes32(nullptr), 0u);
}

}  // namespace
}  // namespace memprof::recorder
