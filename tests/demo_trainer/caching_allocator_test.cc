// The caching allocator against its rules, one by one, and against a brute-force reference.
#include "demo_trainer/allocator/caching_allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "demo_trainer/error.h"
#include "tests/demo_trainer/allocator_reference.h"
#include "tests/demo_trainer/fake_driver.h"

namespace memprof::demo {
namespace {

constexpr size_t kKiB = 1024;
constexpr size_t kMiB = 1024 * kKiB;

class Observer : public AllocatorObserver {
 public:
  void SegmentCreated(const void*, size_t bytes, StreamHandle) override { reserved += bytes; }
  void BlockCreated(const void*, size_t bytes, size_t asked, StreamHandle) override {
    allocated += bytes;
    requested += asked;
  }
  void OutOfMemory(size_t bytes, size_t, size_t) override { oom_bytes = bytes; }
  size_t reserved = 0;
  size_t allocated = 0;
  size_t requested = 0;
  size_t oom_bytes = 0;
};

struct Fixture {
  explicit Fixture(size_t capacity = 1024 * kMiB,
                   size_t max_split = std::numeric_limits<size_t>::max())
      : driver(capacity), allocator({0, max_split}, &driver, &observer) {}
  FakeDriver driver;
  Observer observer;
  CachingAllocator allocator;
};

StreamHandle Stream(uintptr_t number) { return reinterpret_cast<StreamHandle>(number); }

// What holds of the pieces of all segments after every call, whatever the rules say.
void ExpectSound(const CachingAllocator& allocator) {
  const std::vector<CachingAllocator::BlockView> blocks = allocator.Blocks();
  size_t total = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const auto& block = blocks[i];
    total += block.bytes;
    ASSERT_GT(block.bytes, 0u);
    ASSERT_EQ(block.bytes % kBlockRounding, 0u);
    if (i == 0 || blocks[i - 1].segment != block.segment) {
      ASSERT_EQ(block.address, block.segment) << "a segment begins with a block";
      continue;
    }
    const auto& before = blocks[i - 1];
    ASSERT_EQ(before.address + before.bytes, block.address) << "no gap and no overlap";
    ASSERT_EQ(before.stream, block.stream) << "a segment serves one stream";
    ASSERT_TRUE(before.in_use || block.in_use) << "free neighbours have merged";
  }
  const AllocatorStats& stats = allocator.stats();
  ASSERT_EQ(total, stats.reserved.current);
  ASSERT_LE(stats.requested.current, stats.allocated.current);
  ASSERT_LE(stats.allocated.current, stats.reserved.current);
  for (const Gauge& gauge : {stats.allocated, stats.requested, stats.reserved, stats.blocks}) {
    ASSERT_LE(gauge.current, gauge.peak);
  }
  ASSERT_EQ(stats.allocations - stats.frees, stats.blocks.current);
}

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
  // Used blocks between keep the holes apart.
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
    FAIL() << "there is no room";
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

TEST(CachingAllocatorTest, PoolsDoNotShareBlocks) {
  Fixture f;
  void* large = f.allocator.Allocate(kMiB + 1, nullptr);
  f.allocator.Free(large);  // 20 MiB are free, of the large pool
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
  f.driver.FinishWork();  // of nothing yet
  f.allocator.RecordStream(a, Stream(3));
  f.allocator.RecordStream(a, Stream(2));  // twice is once
  f.allocator.RecordStream(a, Stream(1));  // its own stream is no other
  f.allocator.Free(a);
  EXPECT_EQ(f.driver.open_events(), 2u);
  EXPECT_NE(f.allocator.Allocate(kKiB, Stream(1)), a);
  f.driver.FinishWork();
  EXPECT_EQ(f.allocator.Allocate(kKiB, Stream(1)), a);
  // Recorded anew for each life of the block.
  f.allocator.Free(a);
  EXPECT_EQ(f.driver.open_events(), 0u);
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

// Both must agree on every block after every call.
void ExpectSame(const CachingAllocator& allocator, const AllocatorTwin& reference) {
  std::vector<std::tuple<uintptr_t, size_t, uintptr_t, bool>> expected;
  std::vector<std::tuple<uintptr_t, size_t, uintptr_t, bool>> actual;
  size_t reserved = 0;
  for (const auto& segment : reference.segments()) {
    reserved += segment.bytes;
    for (const auto& block : segment.blocks) {
      expected.emplace_back(block.address, block.bytes, segment.address, block.in_use);
    }
  }
  std::sort(expected.begin(), expected.end());
  for (const auto& block : allocator.Blocks()) {
    actual.emplace_back(block.address, block.bytes, block.segment, block.in_use);
  }
  ASSERT_EQ(actual, expected);
  ASSERT_EQ(allocator.stats().reserved.current, reserved);
  ASSERT_EQ(allocator.stats().segments.current, reference.segments().size());
}

size_t RandomSize(std::mt19937_64* random) {
  const size_t ranges[] = {4 * kKiB, kMiB, 9 * kMiB, 40 * kMiB, 120 * kMiB};
  return 1 + (*random)() % ranges[(*random)() % 5];
}

void CompareWithTwin(uint64_t seed, size_t capacity, size_t max_split) {
  FakeDriver reference_driver(capacity);
  AllocatorTwin reference(&reference_driver, max_split);
  Fixture f(capacity, max_split);
  std::mt19937_64 random(seed);
  std::vector<std::pair<uintptr_t, size_t>> live;
  uint64_t requested = 0;
  int out_of_memory = 0;
  for (int call = 0; call < 3000; ++call) {
    const uint64_t choice = random() % 100;
    if (choice < 50) {
      const size_t size = RandomSize(&random);
      const StreamHandle stream = Stream(random() % 3);
      const uintptr_t expected = reference.Allocate(size, stream);
      uintptr_t actual = 0;
      try {
        actual = reinterpret_cast<uintptr_t>(f.allocator.Allocate(size, stream));
        live.emplace_back(actual, size);
        requested += size;
      } catch (const OutOfMemory&) {
        ++out_of_memory;
      }
      ASSERT_EQ(actual, expected) << "call " << call;
    } else if (choice < 90 && !live.empty()) {
      std::swap(live[random() % live.size()], live.back());
      reference.Free(live.back().first);
      f.allocator.Free(reinterpret_cast<void*>(live.back().first));
      requested -= live.back().second;
      live.pop_back();
    } else if (choice < 96 && !live.empty()) {
      const uintptr_t address = live[random() % live.size()].first;
      const StreamHandle stream = Stream(random() % 3);
      reference.RecordStream(address, stream);
      f.allocator.RecordStream(reinterpret_cast<void*>(address), stream);
    } else if (choice < 98) {
      reference_driver.FinishWork();
      f.driver.FinishWork();
    } else if (choice == 99) {
      reference.EmptyCache();
      f.allocator.EmptyCache();
    }
    ExpectSame(f.allocator, reference);
    ExpectSound(f.allocator);
    if (testing::Test::HasFatalFailure()) FAIL() << "seed " << seed << ", call " << call;
    ASSERT_EQ(f.driver.used(), reference_driver.used());
    ASSERT_EQ(f.allocator.stats().requested.current, requested);
    ASSERT_EQ(f.allocator.stats().blocks.current, live.size());
  }
  const bool tight = capacity < 2048 * kMiB;
  EXPECT_EQ(out_of_memory > 0, tight) << "out of memory " << out_of_memory << " times";
}

TEST(CachingAllocatorTest, AgreesWithReferenceWithoutPressure) {
  CompareWithTwin(1, 64 * 1024 * kMiB, std::numeric_limits<size_t>::max());
}

TEST(CachingAllocatorTest, AgreesWithReferenceUnderPressure) {
  for (const uint64_t seed : {2, 3, 4}) {
    CompareWithTwin(seed, 700 * kMiB, std::numeric_limits<size_t>::max());
  }
}

TEST(CachingAllocatorTest, AgreesWithReferenceWithLimitedSplitting) {
  for (const uint64_t seed : {5, 6, 7}) CompareWithTwin(seed, 700 * kMiB, 32 * kMiB);
}

}  // namespace
}  // namespace memprof::demo
