// Memory that grows.
#include "holders/src/region.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace memprof::holders {
namespace {

TEST(Region, KeepsWhatItHasWhenItGrows) {
  Region<std::uint32_t> region;
  for (std::uint32_t i = 0; i < 300'000; ++i) ASSERT_TRUE(region.Push(i * 7));
  ASSERT_EQ(region.size(), 300'000u);
  for (std::uint32_t i = 0; i < 300'000; ++i) ASSERT_EQ(region[i], i * 7);
  EXPECT_EQ(region.bytes(), 1'200'000u);
}

TEST(Region, BeginsWithZeroes) {
  Region<std::uint64_t> region;
  ASSERT_TRUE(region.Create(10'000));
  EXPECT_EQ(region.size(), 10'000u);
  for (std::size_t i = 0; i < region.size(); ++i) ASSERT_EQ(region[i], 0u);
}

TEST(Region, WithoutMemoryItSaysSoAndKeepsWhatItHas) {
  Region<std::uint64_t> region;
  ASSERT_TRUE(region.Push(1));
  EXPECT_FALSE(Region<std::uint64_t>().Create(std::size_t{1} << 50));
  EXPECT_EQ(region[0], 1u);
}

}  // namespace
}  // namespace memprof::holders
