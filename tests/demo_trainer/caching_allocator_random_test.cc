// The caching allocator against a brute-force reference.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "demo_trainer/allocator/caching_allocator.h"
#include "demo_trainer/error.h"
#include "tests/demo_trainer/allocator_reference.h"
#include "tests/demo_trainer/caching_allocator_fixture.h"
#include "tests/demo_trainer/fake_driver.h"

namespace memprof::demo {
namespace {

// Both must have the same blocks after every call.
void ExpectSame(const CachingAllocator& allocator, const AllocatorReference& reference) {
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

void CompareWithReference(uint64_t seed, size_t capacity, size_t max_split) {
  FakeDriver reference_driver(capacity);
  AllocatorReference reference(&reference_driver, max_split);
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
  CompareWithReference(1, 64 * 1024 * kMiB, std::numeric_limits<size_t>::max());
}

TEST(CachingAllocatorTest, AgreesWithReferenceUnderPressure) {
  for (const uint64_t seed : {2, 3, 4}) {
    CompareWithReference(seed, 700 * kMiB, std::numeric_limits<size_t>::max());
  }
}

TEST(CachingAllocatorTest, AgreesWithReferenceWithLimitedSplitting) {
  for (const uint64_t seed : {5, 6, 7}) CompareWithReference(seed, 700 * kMiB, 32 * kMiB);
}

}  // namespace
}  // namespace memprof::demo
