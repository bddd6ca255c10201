// How requests are rounded.
#include "analysis/allocators/caching.h"
#include "analysis/base/sizes.h"
#include "gtest/gtest.h"

namespace memprof::analysis::allocators {
namespace {

TEST(CachingRoundTest, RoundsToBlocks) {
  const CachingOptions options;
  EXPECT_EQ(CachingRound(1, options), 512u);
  EXPECT_EQ(CachingRound(512, options), 512u);
  EXPECT_EQ(CachingRound(513, options), 1024u);
  EXPECT_EQ(CachingRound(5 * kMiB + 1, options), 5 * kMiB + 512);
}

TEST(CachingRoundTest, RoundsToPartsOfPowersOfTwo) {
  CachingOptions options;
  options.roundup_power2.fill(4);
  // The example of the documentation: 1200 is between 1024 and 2048, with divisions of 256 bytes.
  EXPECT_EQ(CachingRound(1200, options), 1536u) << "too small for divisions: blocks of 512 bytes";
  EXPECT_EQ(CachingRound(2049, options), 2560u);
  EXPECT_EQ(CachingRound(1200 * kKiB, options), 1280 * kKiB);
  EXPECT_EQ(CachingRound(4 * kMiB, options), 4 * kMiB);
  EXPECT_EQ(CachingRound(9 * kMiB, options), 10 * kMiB);
  options.roundup_power2 = {};
  options.roundup_power2[1] = 1;  // for 2 to 4 MiB
  EXPECT_EQ(CachingRound(9 * kMiB - 1, options), 9 * kMiB);
  EXPECT_EQ(CachingRound(3 * kMiB, options), 3 * kMiB) << "one division has no effect";
  options.roundup_power2[1] = 2;
  EXPECT_EQ(CachingRound(2 * kMiB + 1, options), 3 * kMiB);
  EXPECT_EQ(CachingRound(2 * kMiB - 1, options), 2 * kMiB) << "the row below: blocks of 512 bytes";
}

TEST(CachingRoundTest, TakesSegmentsBySize) {
  EXPECT_EQ(CachingSegmentBytes(512), 2 * kMiB);
  EXPECT_EQ(CachingSegmentBytes(kMiB), 2 * kMiB);
  EXPECT_EQ(CachingSegmentBytes(kMiB + 512), 20 * kMiB);
  EXPECT_EQ(CachingSegmentBytes(10 * kMiB - 512), 20 * kMiB);
  EXPECT_EQ(CachingSegmentBytes(10 * kMiB), 10 * kMiB);
  EXPECT_EQ(CachingSegmentBytes(10 * kMiB + 512), 12 * kMiB);
}

}  // namespace
}  // namespace memprof::analysis::allocators
