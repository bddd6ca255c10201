// The caching allocator against its rules, one by one.
#include "demo_trainer/allocator/caching_allocator.h"

#include <gtest/gtest.h>

#include "demo_trainer/error.h"
#include "tests/demo_trainer/allocator_reference.h"
#include "tests/demo_trainer/caching_allocator_fixture.h"
#include "tests/demo_trainer/fake_driver.h"

namespace memprof::demo {
namespace {

TEST(CachingAllocatorTest, RoundsTo512Bytes) {
  Fixture f;
  f.allocator.Allocate(1, nullptr);
  f.allocator.Allocate(513, nullptr);
  EXPECT_EQ(f.allocator.stats().allocated.current, 512u + 1024u);
  EXPECT_EQ(f.allocator.stats().requested.current, 514u);
  EXPECT_EQ(f.observer.allocated, 1536u);
  EXPECT_EQ(f.observer.requested, 514u);
}

TEST(CachingAllocatorTest, ZeroBytesAreNull) {
  Fixture f;
  EXPECT_EQ(f.allocator.Allocate(0, nullptr), nullptr);
  f.allocator.Free(nullptr);
  EXPECT_EQ(f.allocator.stats().allocations, 0u);
}

TEST(CachingAllocatorTest, SegmentSizesFollowTheRequest) {
  const std::pair<size_t, size_t> cases[] = {{1, 2 * kMiB},
                                             {kMiB, 2 * kMiB},
                                             {kMiB + 1, 20 * kMiB},
                                             {10 * kMiB - 512, 20 * kMiB},
                                             {10 * kMiB, 10 * kMiB},
                                             {11 * kMiB, 12 * kMiB},
                                             {33 * kMiB + 5, 34 * kMiB}};
  for (const auto& [request, segment] : cases) {
    Fixture f;
    f.allocator.Allocate(request, nullptr);
    EXPECT_EQ(f.allocator.stats().reserved.current, segment) << request;
  }
}

TEST(CachingAllocatorTest, BestFitIsSmallestThenLowest) {
  Fixture f;
  std::vector<void*> blocks;
  // Used blocks separate the holes.
  for (const size_t size : {8, 1, 4, 1, 4, 1}) {
    blocks.push_back(f.allocator.Allocate(size * kKiB, nullptr));
  }
  f.allocator.Free(blocks[0]);
  f.allocator.Free(blocks[4]);
  f.allocator.Free(blocks[2]);
  EXPECT_EQ(f.allocator.Allocate(3 * kKiB, nullptr), blocks[2]);
  EXPECT_EQ(f.allocator.Allocate(3 * kKiB, nullptr), blocks[4]);
  EXPECT_EQ(f.allocator.Allocate(3 * kKiB, nullptr), blocks[0]);
}

TEST(CachingAllocatorTest, LargeBlocksSplitOnlyAboveOneMiB) {
  Fixture f;
  f.allocator.Allocate(19 * kMiB, nullptr);  // of its own 20 MiB: remainder is exactly 1 MiB
  EXPECT_EQ(f.allocator.stats().allocated.current, 20 * kMiB);
  f.allocator.Allocate(9 * kMiB, nullptr);
  EXPECT_EQ(f.allocator.stats().allocated.current, 29 * kMiB);
}

TEST(CachingAllocatorTest, FreedNeighboursMerge) {
  Fixture f;
  void* a = f.allocator.Allocate(4 * kMiB, nullptr);
  void* b = f.allocator.Allocate(4 * kMiB, nullptr);
  void* c = f.allocator.Allocate(4 * kMiB, nullptr);
  f.allocator.Free(a);
  f.allocator.Free(c);
  f.allocator.Free(b);
  ASSERT_EQ(f.allocator.Blocks().size(), 1u);
  EXPECT_EQ(f.allocator.Blocks()[0].bytes, 20 * kMiB);
  EXPECT_FALSE(f.allocator.Blocks()[0].in_use);
}

TEST(CachingAllocatorTest, StreamsDoNotShareBlocks) {
  Fixture f;
  void* a = f.allocator.Allocate(kKiB, Stream(1));
  f.allocator.Free(a);
  EXPECT_NE(f.allocator.Allocate(kKiB, Stream(2)), a);
  EXPECT_EQ(f.allocator.Allocate(kKiB, Stream(1)), a);
}

TEST(CachingAllocatorTest, RecordedStreamDelaysReuse) {
  Fixture f;
  void* a = f.allocator.Allocate(kKiB, Stream(1));
  f.allocator.RecordStream(a, Stream(2));
  f.allocator.Free(a);
  EXPECT_EQ(f.allocator.stats().allocated.current, 0u);
  EXPECT_NE(f.allocator.Allocate(kKiB, Stream(1)), a) << "stream 2 still uses it";
  f.driver.FinishWork();
  EXPECT_EQ(f.allocator.Allocate(kKiB, Stream(1)), a);
  EXPECT_EQ(f.driver.open_events(), 0u);
}

TEST(CachingAllocatorTest, PoolsDoNotShareBlocks) {
  Fixture f;
  void* large = f.allocator.Allocate(kMiB + 1, nullptr);
  f.allocator.Free(large);  // 20 MiB are free in the large pool
  void* small = f.allocator.Allocate(kMiB, nullptr);
  EXPECT_NE(small, large);
  EXPECT_EQ(f.allocator.stats().reserved.current, 22 * kMiB);
  f.allocator.Free(small);
  EXPECT_EQ(f.allocator.Allocate(kMiB + 512, nullptr), large);
}

TEST(CachingAllocatorTest, SmallBlocksSplitDownToTheLast512Bytes) {
  Fixture f;
  f.allocator.Allocate(kMiB, nullptr);
  f.allocator.Allocate(kMiB - 512, nullptr);
  ASSERT_EQ(f.allocator.Blocks().size(), 3u);
  EXPECT_EQ(f.allocator.Blocks()[2].bytes, 512u);
  f.allocator.Allocate(512, nullptr);
  EXPECT_EQ(f.allocator.stats().segments.current, 1u);
  EXPECT_EQ(f.allocator.stats().allocated.current, 2 * kMiB);
}

TEST(CachingAllocatorTest, EveryRecordedStreamMustFinish) {
  Fixture f;
  void* a = f.allocator.Allocate(kKiB, Stream(1));
  f.allocator.RecordStream(a, Stream(2));
  f.driver.FinishWork();  // no work uses it yet
  f.allocator.RecordStream(a, Stream(3));
  f.allocator.RecordStream(a, Stream(2));  // recorded already: counts once
  f.allocator.RecordStream(a, Stream(1));  // its own stream does not count
  f.allocator.Free(a);
  EXPECT_EQ(f.driver.open_events(), 2u);
  EXPECT_NE(f.allocator.Allocate(kKiB, Stream(1)), a);
  f.driver.FinishWork();
  EXPECT_EQ(f.allocator.Allocate(kKiB, Stream(1)), a);
  // Streams are recorded separately for each use of the block.
  f.allocator.Free(a);
  EXPECT_EQ(f.driver.open_events(), 0u);
}

TEST(FormatBytesTest, ChoosesTheUnit) {
  EXPECT_EQ(FormatBytes(0), "0 bytes");
  EXPECT_EQ(FormatBytes(1023), "1023 bytes");
  EXPECT_EQ(FormatBytes(1024), "1.00 KiB");
  EXPECT_EQ(FormatBytes(kMiB - 1), "1024.00 KiB");
  EXPECT_EQ(FormatBytes(kMiB), "1.00 MiB");
  EXPECT_EQ(FormatBytes(3 * 512 * kMiB), "1.50 GiB");
}

TEST(CachingAllocatorTest, RefusesPointersThatAreNotInUse) {
  Fixture f;
  int local = 0;
  EXPECT_THROW(f.allocator.Free(&local), Error);
  void* a = f.allocator.Allocate(kKiB, Stream(1));
  f.allocator.RecordStream(a, Stream(2));
  f.allocator.Free(a);
  EXPECT_THROW(f.allocator.Free(a), Error);
}

}  // namespace
}  // namespace memprof::demo
