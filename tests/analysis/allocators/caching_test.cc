// The rules of PyTorch's caching allocator one by one.
#include "analysis/allocators/caching.h"

#include <optional>

#include "analysis/allocators/trace.h"
#include "analysis/base/sizes.h"
#include "gtest/gtest.h"

namespace memprof::analysis::allocators {
namespace {

class CachingTest : public ::testing::Test {
 protected:
  void Start(const CachingOptions& options, std::uint64_t capacity = kUnlimited) {
    allocator_.reset();
    device_.emplace(capacity);
    allocator_.emplace(options, &*device_);
  }
  Handle Get(std::uint64_t bytes, StreamNumber stream = 0) {
    return allocator_->Allocate(bytes, stream);
  }
  std::uint64_t AddressOf(Handle handle) const { return allocator_->PlaceOf(handle).address; }
  std::uint64_t BytesOf(Handle handle) const { return allocator_->PlaceOf(handle).bytes; }
  const Figures& figures() const { return allocator_->figures(); }

  std::optional<Device> device_;
  std::optional<CachingAllocator> allocator_;
};

TEST_F(CachingTest, KeepsSmallAndLargeApart) {
  Start({});
  Get(100);
  EXPECT_EQ(figures().reserved, 2 * kMiB);
  Get(3 * kMiB);
  EXPECT_EQ(figures().reserved, 22 * kMiB);
  Get(5 * kMiB);
  EXPECT_EQ(figures().reserved, 22 * kMiB);
  EXPECT_EQ(figures().segments, 2u);
  EXPECT_EQ(figures().allocated, 512 + 8 * kMiB);
  EXPECT_EQ(device_->calls(), 2u);
}

TEST_F(CachingTest, TakesTheSmallestThatFitsThenTheLowest) {
  Start({});
  const Handle a = Get(4 * kKiB), b = Get(512), c = Get(2 * kKiB), d = Get(512), e = Get(2 * kKiB);
  Get(512);
  const std::uint64_t at_c = AddressOf(c), at_a = AddressOf(a), at_e = AddressOf(e);
  EXPECT_LT(AddressOf(b), at_c);
  allocator_->Free(a);
  allocator_->Free(e);
  allocator_->Free(c);
  EXPECT_EQ(AddressOf(Get(2 * kKiB)), at_c);
  EXPECT_EQ(AddressOf(Get(2 * kKiB)), at_e);
  EXPECT_EQ(AddressOf(Get(1 * kKiB)), at_a);
  EXPECT_EQ(AddressOf(Get(3 * kKiB)), at_a + kKiB);
  EXPECT_NE(AddressOf(d), at_a);
}

TEST_F(CachingTest, ServesEachStreamFromItsOwn) {
  Start({});
  allocator_->Free(Get(512, 0));
  Get(512, 1);
  EXPECT_EQ(figures().segments, 2u);
  Get(512, 0);
  EXPECT_EQ(figures().segments, 2u);
}

TEST_F(CachingTest, SplitsLargeBlocksOnlyForMoreThanAMebibyte) {
  Start({});
  const Handle whole = Get(19 * kMiB);  // a separate segment of 20 MiB
  EXPECT_EQ(BytesOf(whole), 20 * kMiB) << "a rest of 1 MiB is not split off";
  allocator_->Free(whole);
  EXPECT_EQ(BytesOf(Get(19 * kMiB - 512)), 19 * kMiB - 512);
}

TEST_F(CachingTest, MergesWithBothNeighbours) {
  Start({});
  const Handle a = Get(512 * kKiB), b = Get(512 * kKiB), c = Get(1 * kMiB);
  EXPECT_EQ(figures().segments, 1u);
  allocator_->Free(a);
  allocator_->Free(c);
  allocator_->Free(b);
  EXPECT_EQ(allocator_->Inconsistency(), "");
  allocator_->EmptyCache();
  EXPECT_EQ(figures().reserved, 0u);
}

TEST_F(CachingTest, GivesCachedSegmentsBackWhenTheDeviceIsFull) {
  Start({}, 64 * kMiB);
  const Handle a = Get(30 * kMiB), b = Get(30 * kMiB);
  allocator_->Free(a);
  EXPECT_NE(Get(32 * kMiB), kNoHandle);
  EXPECT_EQ(figures().reserved, 62 * kMiB);
  EXPECT_EQ(figures().retries, 1u);
  EXPECT_EQ(Get(32 * kMiB), kNoHandle);
  EXPECT_EQ(figures().failures, 1u);
  EXPECT_EQ(figures().failed_bytes, 32 * kMiB);
  EXPECT_EQ(figures().failed_number, 3u);
  allocator_->Free(b);
}

TEST_F(CachingTest, KeepsOversizeBlocksWhole) {
  CachingOptions options;
  options.max_split = 32 * kMiB;
  Start(options);
  const Handle large = Get(60 * kMiB);
  const std::uint64_t at = AddressOf(large);
  allocator_->Free(large);
  EXPECT_NE(AddressOf(Get(2 * kMiB)), at) << "not for requests below max_split";
  EXPECT_NE(AddressOf(Get(40 * kMiB)), at) << "not for requests 20 MiB smaller";
  const Handle again = Get(40 * kMiB + 512);
  EXPECT_EQ(AddressOf(again), at);
  EXPECT_EQ(BytesOf(again), 60 * kMiB);
}

TEST_F(CachingTest, GivesOversizeSegmentsBackFirst) {
  CachingOptions options;
  options.max_split = 32 * kMiB;
  Start(options, 200 * kMiB);
  allocator_->Free(Get(20 * kMiB));
  const Handle a = Get(40 * kMiB), b = Get(60 * kMiB), c = Get(80 * kMiB);
  allocator_->Free(a);
  allocator_->Free(b);
  allocator_->Free(c);
  EXPECT_NE(Get(100 * kMiB), kNoHandle) << "80 MiB, then 60 MiB are freed";
  EXPECT_EQ(figures().reserved, 160 * kMiB);
  EXPECT_NE(Get(61 * kMiB), kNoHandle) << "40 MiB are not enough: everything is freed";
  EXPECT_EQ(figures().reserved, 162 * kMiB);
}

TEST_F(CachingTest, CollectsOldSegmentsBeyondTheThreshold) {
  CachingOptions options;
  options.gc_threshold = 0.5;
  Start(options, 200 * kMiB);
  const Handle a = Get(50 * kMiB), b = Get(40 * kMiB), c = Get(30 * kMiB);
  allocator_->Free(b);
  allocator_->Free(a);
  for (int i = 0; i < 10; ++i) allocator_->Free(Get(45 * kMiB));
  allocator_->Free(c);
  EXPECT_EQ(figures().reserved, 120 * kMiB);
  Get(60 * kMiB);
  EXPECT_EQ(figures().reserved, 140 * kMiB) << "that of 40 MiB was freed: older than the average";
  EXPECT_EQ(figures().retries, 0u);
}

TEST_F(CachingTest, KeepsToItsLimit) {
  CachingOptions options;
  options.limit = 30 * kMiB;
  Start(options, 100 * kMiB);
  EXPECT_NE(Get(20 * kMiB), kNoHandle);
  EXPECT_EQ(Get(11 * kMiB), kNoHandle);
  EXPECT_NE(Get(10 * kMiB), kNoHandle);
}

TEST_F(CachingTest, ExpandableSegmentsGrowByPages) {
  CachingOptions options;
  options.expandable = true;
  Start(options, 1024 * kMiB);
  const Handle a = Get(30 * kMiB);
  EXPECT_EQ(figures().reserved, 40 * kMiB);
  EXPECT_EQ(figures().segments, 1u);
  const Handle b = Get(30 * kMiB);
  EXPECT_EQ(AddressOf(b), AddressOf(a) + 30 * kMiB);
  EXPECT_EQ(figures().reserved, 60 * kMiB);
  Get(100);
  EXPECT_EQ(figures().reserved, 62 * kMiB);
  EXPECT_EQ(figures().segments, 2u);
  EXPECT_EQ(device_->calls(), (2 * 2 + 1) + (2 * 1 + 1) + (2 * 1 + 1));
}

TEST_F(CachingTest, ExpandableSegmentsUnmapWholePages) {
  CachingOptions options;
  options.expandable = true;
  Start(options, 200 * kMiB);
  const Handle a = Get(50 * kMiB), b = Get(30 * kMiB), c = Get(60 * kMiB);
  EXPECT_EQ(figures().reserved, 140 * kMiB);
  const std::uint64_t at = AddressOf(a);
  allocator_->Free(a);
  allocator_->EmptyCache();
  EXPECT_EQ(figures().reserved, 100 * kMiB) << "two pages; the third is shared with a block";
  EXPECT_EQ(allocator_->Inconsistency(), "");
  const Handle d = Get(45 * kMiB);
  EXPECT_EQ(AddressOf(d), at) << "the lowest addresses first";
  EXPECT_EQ(figures().reserved, 140 * kMiB);
  allocator_->Free(b);
  allocator_->Free(c);
  allocator_->Free(d);
  allocator_->EmptyCache();
  EXPECT_EQ(figures().reserved, 0u);
  EXPECT_EQ(figures().segments, 0u);
}

TEST_F(CachingTest, RecordedReleasesTakeOneSegment) {
  Start({});
  const Handle a = Get(30 * kMiB), b = Get(30 * kMiB), c = Get(12 * kMiB);
  const std::uint64_t at = AddressOf(b);
  allocator_->Free(a);
  allocator_->Free(b);
  allocator_->Free(c);
  EXPECT_FALSE(allocator_->ReleaseSegment(14 * kMiB, 0));
  EXPECT_TRUE(allocator_->ReleaseSegment(30 * kMiB, at));
  EXPECT_EQ(figures().reserved, 42 * kMiB);
  EXPECT_NE(AddressOf(Get(30 * kMiB)), at);
}

TEST_F(CachingTest, LiesWhereTheLogSaysSegmentsLay) {
  Start({});
  device_->ExpectAddress(2 * kMiB, 0x7000000);
  device_->ExpectAddress(2 * kMiB, 0x5000000);
  const Handle a = Get(1 * kMiB), b = Get(1 * kMiB), c = Get(1 * kMiB);
  EXPECT_EQ(AddressOf(a), 0x7000000u);
  EXPECT_EQ(AddressOf(c), 0x5000000u);
  allocator_->Free(a);
  allocator_->Free(b);
  allocator_->Free(c);
  Get(1 * kMiB);
  EXPECT_EQ(AddressOf(Get(512)), 0x5100000u) << "the rest of the lower one is smaller";
}

}  // namespace
}  // namespace memprof::analysis::allocators
