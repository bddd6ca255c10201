// The allocators on a device: what they take from CUDA and free again, and when memory that another
// stream uses may be reused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "demo_trainer/allocator/caching_allocator.h"
#include "demo_trainer/allocator/direct_allocator.h"
#include "demo_trainer/error.h"
#include "tests/demo_trainer/blocked_stream.h"
#include "tests/demo_trainer/test_model.h"

namespace memprof::demo {
namespace {

using testing::HasSubstr;

constexpr size_t kMiB = size_t{1} << 20;
// More than any device has, but no overflow when rounded up.
constexpr size_t kTooMuch = size_t{1} << 46;

size_t FreeBytes() {
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  Check(cudaMemGetInfo(&free_bytes, &total_bytes), "asking");
  return free_bytes;
}

class AnyAllocatorTest : public testing::TestWithParam<AllocatorKind> {
 protected:
  const std::unique_ptr<Device> device_ = MakeDevice(GetParam());
  Allocator& allocator_ = device_->allocator();
};

std::string KindName(const testing::TestParamInfo<AllocatorKind>& kind) {
  if (kind.param == AllocatorKind::kCaching) return "caching";
  return kind.param == AllocatorKind::kCuda ? "cuda" : "async";
}

INSTANTIATE_TEST_SUITE_P(Kinds, AnyAllocatorTest,
                         testing::Values(AllocatorKind::kCaching, AllocatorKind::kCuda,
                                         AllocatorKind::kAsync),
                         KindName);

TEST_P(AnyAllocatorTest, CountsWhatIsHeld) {
  const AllocatorStats& stats = allocator_.stats();
  void* a = allocator_.Allocate(3 * 512, nullptr);
  void* b = allocator_.Allocate(5 * 512, nullptr);
  EXPECT_EQ(stats.allocated.current, 8u * 512);
  EXPECT_EQ(stats.blocks.current, 2u);
  EXPECT_EQ(stats.allocations, 2u);
  EXPECT_GE(stats.reserved.current, stats.allocated.current);
  allocator_.Free(a);
  EXPECT_EQ(stats.requested.current, 5u * 512);
  EXPECT_EQ(stats.requested.peak, 8u * 512);
  EXPECT_EQ(stats.blocks.current, 1u);
  EXPECT_EQ(stats.frees, 1u);
  allocator_.Free(b);
  EXPECT_EQ(stats.allocated.current, 0u);
  EXPECT_EQ(stats.blocks.peak, 2u);
}

TEST_P(AnyAllocatorTest, NothingIsNull) {
  EXPECT_EQ(allocator_.Allocate(0, nullptr), nullptr);
  allocator_.Free(nullptr);
  EXPECT_EQ(allocator_.stats().allocations + allocator_.stats().frees, 0u);
}

TEST_P(AnyAllocatorTest, RefusesPointersThatAreNotInUse) {
  int local = 0;
  EXPECT_THROW(allocator_.Free(&local), Error);
  void* ptr = allocator_.Allocate(100, nullptr);
  allocator_.Free(ptr);
  EXPECT_THROW(allocator_.Free(ptr), Error);
  EXPECT_EQ(allocator_.stats().frees, 1u);
}

TEST_P(AnyAllocatorTest, OutOfMemoryIsReportedAndSurvived) {
  void* held = allocator_.Allocate(4 * kMiB, nullptr);
  try {
    allocator_.Allocate(kTooMuch, nullptr);
    FAIL() << "there is no such device";
  } catch (const OutOfMemory& error) {
    EXPECT_THAT(error.what(), HasSubstr("Tried to allocate 65536.00 GiB. GPU 0 has"));
    EXPECT_THAT(error.what(), HasSubstr(": 4.00 MiB allocated"));
  }
  EXPECT_EQ(allocator_.stats().ooms, 1u);
  EXPECT_EQ(allocator_.stats().allocations, 1u);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess) << "the next launch would report it";
  allocator_.Free(held);
  void* again = allocator_.Allocate(4 * kMiB, nullptr);
  EXPECT_NE(again, nullptr);
  allocator_.Free(again);
}

TEST_P(AnyAllocatorTest, EmptyCacheGivesEverythingUnusedBack) {
  const size_t before = FreeBytes();
  // The stream-ordered pool keeps its memory, as in programs that use it.
  cudaMemPool_t pool = nullptr;
  Check(cudaDeviceGetDefaultMemPool(&pool, 0), "finding the pool");
  uint64_t keep = std::numeric_limits<uint64_t>::max();
  Check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep), "keeping memory");
  void* held = allocator_.Allocate(30 * kMiB, nullptr);
  allocator_.Free(allocator_.Allocate(50 * kMiB, nullptr));
  device_->Synchronize();
  const bool caches = GetParam() != AllocatorKind::kCuda;
  EXPECT_EQ(before - FreeBytes() >= 80 * kMiB, caches);
  allocator_.EmptyCache();
  EXPECT_GE(before - FreeBytes(), 30 * kMiB);
  EXPECT_LT(before - FreeBytes(), 64 * kMiB);
  allocator_.Free(held);
  allocator_.EmptyCache();
  EXPECT_EQ(FreeBytes(), before);
}

TEST_P(AnyAllocatorTest, MemoryIsUsable) {
  std::vector<float> values = RandomValues(1000, 1);
  const Tensor tensor = Upload(*device_, values, {1000});
  const Tensor clone = tensor.Clone("clone");
  Zero(tensor);
  EXPECT_EQ(Read(clone), values);
}

TEST(DirectAllocatorTest, ReservesExactlyWhatIsAsked) {
  DirectAllocator allocator(DirectAllocator::Kind::kCuda, 0);
  void* ptr = allocator.Allocate(12345, nullptr);
  EXPECT_EQ(allocator.stats().reserved.current, 12345u);
  EXPECT_EQ(allocator.stats().allocated.current, 12345u);
  EXPECT_EQ(allocator.stats().segments.current, 1u);
  allocator.Free(ptr);
  EXPECT_EQ(allocator.stats().segments.current, 0u);
}

// Memory of the default stream that other streams use: freeing it makes the default stream wait for
// all of them, not only for the latest one.
TEST(DirectAllocatorTest, FreeWaitsForEveryOtherStream) {
  DirectAllocator allocator(DirectAllocator::Kind::kAsync, 0);
  BlockedStream first;
  BlockedStream last;
  void* ptr = allocator.Allocate(kMiB, nullptr);
  allocator.RecordStream(ptr, first.get());
  allocator.RecordStream(ptr, last.get());
  Check(cudaStreamSynchronize(nullptr), "waiting");
  allocator.Free(ptr);
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorNotReady);
  last.Open();
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorNotReady) << "the first one still uses it";
  first.Open();
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
}

TEST(DirectAllocatorTest, ItsOwnStreamIsNotAnotherOne) {
  DirectAllocator allocator(DirectAllocator::Kind::kAsync, 0);
  BlockedStream own;
  void* ptr = allocator.Allocate(kMiB, own.get());
  allocator.RecordStream(ptr, own.get());
  allocator.RecordStream(&allocator, own.get());  // not its memory: no effect
  allocator.Free(ptr);
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaSuccess);
}

TEST(CudaDriverTest, EventsAreDoneWhenTheirWorkIs) {
  const auto driver = MakeCudaDriver(0);
  BlockedStream stream;
  const DeviceDriver::Event pending = driver->RecordEvent(stream.get());
  const DeviceDriver::Event other = driver->RecordEvent(stream.get());
  EXPECT_NE(pending, other);
  EXPECT_FALSE(driver->TakeIfDone(pending));
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess) << "not ready is not an error";
  stream.Open();
  EXPECT_TRUE(driver->TakeIfDone(pending));
  driver->WaitFor(other);
}

TEST(CudaDriverTest, TooMuchIsNullAndNothingElse) {
  const auto driver = MakeCudaDriver(0);
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  driver->MemoryInfo(&free_bytes, &total_bytes);
  EXPECT_GT(free_bytes, 0u);
  EXPECT_LE(free_bytes, total_bytes);
  EXPECT_EQ(driver->Allocate(kTooMuch), nullptr);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  int local = 0;
  EXPECT_THROW(driver->Free(&local), Error);
  cudaGetLastError();
}

// End to end: blocks of one stream that another one reads.
TEST(CachingOnDeviceTest, AnotherStreamDelaysReuseUntilItsWorkIsDone) {
  const auto device = MakeDevice();
  Allocator& allocator = device->allocator();
  BlockedStream reader;
  void* ptr = allocator.Allocate(4096, nullptr);
  allocator.RecordStream(ptr, reader.get());
  allocator.Free(ptr);
  void* meanwhile = allocator.Allocate(4096, nullptr);
  EXPECT_NE(meanwhile, ptr);
  reader.Open();
  EXPECT_EQ(allocator.Allocate(4096, nullptr), ptr);
  allocator.Free(ptr);
  allocator.Free(meanwhile);
}

TEST(CachingOnDeviceTest, EndingGivesEverythingBack) {
  const size_t before = FreeBytes();
  {
    const auto device = MakeDevice();
    Allocator& allocator = device->allocator();
    allocator.Free(allocator.Allocate(100, nullptr));
    allocator.Free(allocator.Allocate(30 * kMiB, device->copy_stream()));
    EXPECT_EQ(before - FreeBytes(), 32 * kMiB);
  }
  EXPECT_EQ(FreeBytes(), before);
}

TEST(DeviceTest, ThereMustBeSuchADevice) {
  EXPECT_THROW(Device(99, AllocatorKind::kCaching, std::numeric_limits<size_t>::max()), Error);
  cudaGetLastError();
}

}  // namespace
}  // namespace memprof::demo
