// The caching allocator when the device is full.
#include <gtest/gtest.h>

#include "demo_trainer/allocator/caching_allocator.h"
#include "demo_trainer/error.h"
#include "tests/demo_trainer/allocator_reference.h"
#include "tests/demo_trainer/caching_allocator_fixture.h"
#include "tests/demo_trainer/fake_driver.h"

namespace memprof::demo {
namespace {

TEST(CachingAllocatorTest, EmptyCacheKeepsSegmentsInUse) {
  Fixture f;
  void* a = f.allocator.Allocate(12 * kMiB, nullptr);
  f.allocator.Allocate(kKiB, nullptr);
  f.allocator.Free(a);
  EXPECT_EQ(f.driver.used(), 14 * kMiB);
  f.allocator.EmptyCache();
  EXPECT_EQ(f.driver.used(), 2 * kMiB);
  EXPECT_EQ(f.allocator.stats().reserved.current, 2 * kMiB);
  EXPECT_EQ(f.allocator.stats().reserved.peak, 14 * kMiB);
}

TEST(CachingAllocatorTest, RetriesAfterReleasingCachedSegments) {
  Fixture f(40 * kMiB);
  f.allocator.Free(f.allocator.Allocate(30 * kMiB, nullptr));
  EXPECT_NE(f.allocator.Allocate(32 * kMiB, nullptr), nullptr);
  EXPECT_EQ(f.driver.live_segments(), 1u);
  EXPECT_EQ(f.allocator.stats().retries, 1u);
  EXPECT_EQ(f.allocator.stats().ooms, 0u);
}

TEST(CachingAllocatorTest, OutOfMemorySaysTheSizes) {
  Fixture f(40 * kMiB);
  f.allocator.Allocate(30 * kMiB, nullptr);
  try {
    f.allocator.Allocate(32 * kMiB, nullptr);
    FAIL() << "there is no memory left";
  } catch (const OutOfMemory& error) {
    EXPECT_STREQ(error.what(),
                 "CUDA out of memory. Tried to allocate 32.00 MiB. GPU 0 has a total capacity of "
                 "40.00 MiB of which 10.00 MiB is free. The allocator holds 30.00 MiB: 30.00 MiB "
                 "allocated, 0 bytes reserved but unallocated.");
  }
  EXPECT_EQ(f.observer.oom_bytes, 32 * kMiB);
  EXPECT_EQ(f.allocator.stats().ooms, 1u);
}

TEST(CachingAllocatorTest, OversizeBlocksServeOnlyOversizeRequests) {
  Fixture f(1024 * kMiB, 64 * kMiB);
  void* big = f.allocator.Allocate(100 * kMiB, nullptr);
  f.allocator.Free(big);
  EXPECT_NE(f.allocator.Allocate(30 * kMiB, nullptr), big);
  EXPECT_NE(f.allocator.Allocate(80 * kMiB, nullptr), big) << "20 MiB would be wasted";
  EXPECT_EQ(f.allocator.Allocate(81 * kMiB, nullptr), big);
  EXPECT_EQ(f.allocator.stats().allocated.current, (30 + 80 + 100) * kMiB);
}

TEST(CachingAllocatorTest, OutOfMemoryWaitsForOtherStreams) {
  Fixture f(40 * kMiB);
  void* a = f.allocator.Allocate(30 * kMiB, Stream(1));
  f.allocator.RecordStream(a, Stream(2));
  f.allocator.Free(a);
  EXPECT_EQ(f.driver.used(), 30 * kMiB);
  EXPECT_NE(f.allocator.Allocate(20 * kMiB, Stream(1)), nullptr) << "after waiting for stream 2";
  EXPECT_EQ(f.driver.used(), 20 * kMiB);
  EXPECT_EQ(f.driver.open_events(), 0u);
}

TEST(CachingAllocatorTest, OutOfMemoryFreesOtherStreamsCaches) {
  Fixture f(40 * kMiB);
  f.allocator.Free(f.allocator.Allocate(30 * kMiB, Stream(1)));
  EXPECT_NE(f.allocator.Allocate(30 * kMiB, Stream(2)), nullptr);
  EXPECT_EQ(f.allocator.stats().retries, 1u);
}

// Unused segments of 40 and 60 MiB, which are oversize, and one of 20 MiB, which is not; 80 MiB
// are in use.
void FillWithOversize(Fixture* f) {
  std::vector<void*> unused;
  for (const size_t size : {40, 60, 5})
    unused.push_back(f->allocator.Allocate(size * kMiB, nullptr));
  f->allocator.Allocate(80 * kMiB, nullptr);
  for (void* ptr : unused) f->allocator.Free(ptr);
}

TEST(CachingAllocatorTest, TheSmallestOversizeSegmentThatSufficesGoesBack) {
  Fixture f(200 * kMiB, 32 * kMiB);
  FillWithOversize(&f);
  f.allocator.Allocate(30 * kMiB, nullptr);
  EXPECT_EQ(f.driver.used(), (80 + 60 + 20 + 30) * kMiB);
}

TEST(CachingAllocatorTest, OversizeSegmentsTogetherGoBackBeforeTheRest) {
  Fixture f(200 * kMiB, 32 * kMiB);
  FillWithOversize(&f);
  f.allocator.Allocate(90 * kMiB, nullptr);
  EXPECT_EQ(f.driver.used(), (80 + 20 + 90) * kMiB);
}

TEST(CachingAllocatorTest, EverythingUnusedGoesBackWhenOversizeSegmentsDoNotSuffice) {
  Fixture f(200 * kMiB, 32 * kMiB);
  FillWithOversize(&f);
  f.allocator.Allocate(114 * kMiB, nullptr);
  EXPECT_EQ(f.driver.used(), (80 + 114) * kMiB);
}

TEST(CachingAllocatorTest, AfterOutOfMemoryItGoesOn) {
  Fixture f(40 * kMiB);
  void* a = f.allocator.Allocate(30 * kMiB, nullptr);
  EXPECT_THROW(f.allocator.Allocate(32 * kMiB, nullptr), OutOfMemory);
  EXPECT_EQ(f.allocator.stats().allocations, 1u);
  f.allocator.Free(a);
  EXPECT_NE(f.allocator.Allocate(32 * kMiB, nullptr), nullptr);
  ExpectSound(f.allocator);
}

TEST(CachingAllocatorTest, PeaksStayWhenMemoryGoes) {
  Fixture f;
  void* a = f.allocator.Allocate(700, nullptr);
  void* b = f.allocator.Allocate(300, nullptr);
  f.allocator.Free(a);
  f.allocator.Free(b);
  f.allocator.EmptyCache();
  const AllocatorStats& stats = f.allocator.stats();
  EXPECT_EQ(FormatStats(stats),
            "allocated=0 peak_allocated=1536 requested=0 peak_requested=1000 reserved=0 "
            "peak_reserved=2097152 blocks=0 peak_blocks=2 segments=0 peak_segments=1 "
            "allocations=2 frees=2 retries=0 ooms=0");
}

}  // namespace
}  // namespace memprof::demo
