// Slabs: their owners, their reuse, and that waits for a full ring are short.
#include "libmemprof/src/log/ring_buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace memprof::recorder {
namespace {

using ring::SlabHeader;
using ring::SlabKind;
using ring::SlabState;

class RingBufferTest : public ::testing::Test {
 protected:
  void Create(std::uint64_t events, const std::string& shared = ::testing::TempDir()) {
    RingOptions options;
    options.events = events;
    options.shared_directory = shared.c_str();
    options.start_time_ns = 77;
    ASSERT_TRUE(ring_.Create(options));
  }
  ~RingBufferTest() override { ring_.Remove(); }
  RingBuffer ring_;
};

TEST_F(RingBufferTest, FileIsPrivateAndNamesItsProcess) {
  Create(0);
  ASSERT_TRUE(ring_.shared());
  struct stat status;
  ASSERT_EQ(stat(ring_.path(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
  EXPECT_EQ(std::memcmp(ring_.header()->magic, ring::kRingMagic, 8), 0);
  EXPECT_EQ(ring_.header()->pid, static_cast<std::uint32_t>(getpid()));
  EXPECT_EQ(ring_.header()->start_time_ns, 77u);
  EXPECT_GT(ring_.header()->pid_start_time, 0u);
  const std::string path = ring_.path();
  ring_.Remove();
  EXPECT_NE(stat(path.c_str(), &status), 0);
  EXPECT_FALSE(ring_.shared());
}

TEST_F(RingBufferTest, WithoutAFolderMemoryIsPrivateAndSaysSo) {
  Create(0, "/nowhere");
  EXPECT_FALSE(ring_.shared());
  EXPECT_EQ(ring_.AnomalyCount(log::Anomaly::kRingNotShared), 1u);
  EXPECT_NE(ring_.Acquire(SlabKind::kEvents, 1, 1), nullptr);
}

TEST_F(RingBufferTest, NeverHandsOutASlabTwice) {
  Create(106 * ring::kEventsPerSlab);  // six are reserved for definitions
  std::set<SlabHeader*> taken;
  for (int i = 0; i < 100; ++i) {
    SlabHeader* slab = ring_.Acquire(SlabKind::kEvents, 1, 1);
    ASSERT_NE(slab, nullptr);
    EXPECT_TRUE(taken.insert(slab).second);
    EXPECT_EQ(slab->published.load(), 0u);
    EXPECT_EQ(slab->state.load(), SlabState::kOwned);
  }
}

// Takes all slabs of the smallest ring that events may use; the last one is for definitions.
std::vector<SlabHeader*> TakeAll(RingBuffer* ring) {
  std::vector<SlabHeader*> slabs;
  for (int i = 0; i < 15; ++i) slabs.push_back(ring->Acquire(SlabKind::kEvents, 1, 1));
  EXPECT_THAT(slabs, ::testing::Each(::testing::NotNull()));
  return slabs;
}

TEST_F(RingBufferTest, WhenFullItWaitsBrieflyOnceAndThenNotAtAll) {
  Create(1);  // the smallest: 16 slabs
  TakeAll(&ring_);
  EXPECT_EQ(ring_.Acquire(SlabKind::kEvents, 1, 1), nullptr);
  // If each call waited again, these would take minutes.
  for (int i = 0; i < 100000; ++i) EXPECT_EQ(ring_.Acquire(SlabKind::kEvents, 1, 1), nullptr);
  ring_.Seal(ring_.slab(3));
  ring_.Release(ring_.slab(3));
  EXPECT_EQ(ring_.Acquire(SlabKind::kEvents, 1, 1), ring_.slab(3));
}

// A wait in vain would make the next ones shorter.
TEST_F(RingBufferTest, WhereThreadsHoldAllSlabsNobodyWaits) {
  Create(1);
  TakeAll(&ring_);
  const std::uint64_t before = ring_.PatienceNs();
  EXPECT_EQ(ring_.Acquire(SlabKind::kEvents, 2, 2), nullptr);
  EXPECT_EQ(ring_.PatienceNs(), before);
}

TEST_F(RingBufferTest, DefinitionsHaveRoomWhereEventsHaveNone) {
  Create(1);
  TakeAll(&ring_);
  EXPECT_EQ(ring_.Acquire(SlabKind::kEvents, 1, 1), nullptr);
  EXPECT_NE(ring_.Acquire(SlabKind::kDefinitions, 0, 0), nullptr);
  EXPECT_EQ(ring_.Acquire(SlabKind::kDefinitions, 0, 0), nullptr);
}

TEST_F(RingBufferTest, AWriterThatWorksIsWaitedForLonger) {
  Create(1);
  const std::vector<SlabHeader*> slabs = TakeAll(&ring_);
  ring_.Seal(slabs[5]);
  std::atomic<SlabHeader*> got{nullptr};
  std::thread producer([&] { got = ring_.Acquire(SlabKind::kEvents, 2, 2); });
  // Twice the time that a producer waits for a writer without a heartbeat.
  for (const std::uint64_t end = NowNs() + 400'000'000; NowNs() < end; usleep(1000))
    ring_.Heartbeat();
  ring_.Release(slabs[5]);
  producer.join();
  EXPECT_EQ(got.load(), slabs[5]);
}

TEST_F(RingBufferTest, PatienceShrinksWhileItIsInVain) {
  Create(1);
  const std::vector<SlabHeader*> slabs = TakeAll(&ring_);
  // A disk that blocks repeatedly.
  const std::uint64_t at_first = ring_.PatienceNs();
  for (int i = 0; i < 20; ++i) {
    ring_.Seal(slabs[2]);
    EXPECT_EQ(ring_.Acquire(SlabKind::kEvents, 1, 1), nullptr);
    ring_.Release(slabs[2]);
    ASSERT_EQ(ring_.Acquire(SlabKind::kEvents, 1, 1), slabs[2]);
  }
  EXPECT_LE(ring_.PatienceNs(), at_first / 64);
  // Each successful wait increases the patience again. On a loaded machine a producer may give up
  // earlier despite the heartbeat.
  bool grown = false;
  for (int i = 0; i < 1000 && !grown; ++i) {
    const std::uint64_t before = ring_.PatienceNs();
    SlabHeader* got = nullptr;
    ring_.Seal(slabs[2]);
    std::thread producer([&] { got = ring_.Acquire(SlabKind::kEvents, 2, 2); });
    for (int beat = 0; beat < 20; ++beat) {
      ring_.Heartbeat();
      usleep(200);
    }
    ring_.Release(slabs[2]);
    producer.join();
    if (got == nullptr) got = ring_.Acquire(SlabKind::kEvents, 2, 2);
    ASSERT_EQ(got, slabs[2]);
    grown = ring_.PatienceNs() >= 2 * before;
  }
  EXPECT_TRUE(grown);
}

TEST_F(RingBufferTest, TheWriterDoesNotWaitForItself) {
  Create(1);
  TakeAll(&ring_);
  for (const std::uint32_t index : {1u, 2u}) ring_.Seal(ring_.slab(index));
  ring_.SetWriter(CurrentTid());
  ASSERT_NE(ring_.Acquire(SlabKind::kDefinitions, 0, 0), nullptr);
  EXPECT_EQ(ring_.Acquire(SlabKind::kDefinitions, 0, 0), nullptr);
  // The call returned because the writer never waits, not because the ring counts as stuck: other
  // threads still wait.
  std::atomic<SlabHeader*> got{nullptr};
  std::thread producer([&] { got = ring_.Acquire(SlabKind::kEvents, 2, 2); });
  for (const std::uint32_t index : {1u, 2u})  // one of them fills the reserve
    ring_.Release(ring_.slab(index));
  producer.join();
  EXPECT_NE(got.load(), nullptr);
}

TEST_F(RingBufferTest, AWaitingProducerGetsWhatTheWriterReleases) {
  Create(1);
  const std::vector<SlabHeader*> slabs = TakeAll(&ring_);
  ring_.Seal(slabs[5]);
  // The producer calls repeatedly and sleeps in between; one release must still reach it.
  std::atomic<SlabHeader*> got{nullptr};
  std::thread producer([&] {
    while (got.load() == nullptr) got = ring_.Acquire(SlabKind::kEvents, 2, 2);
  });
  ring_.Release(slabs[5]);
  producer.join();
  EXPECT_EQ(got.load(), slabs[5]);
}

TEST_F(RingBufferTest, ThreadsAndWriterPassEverySlabAround) {
  Create(1);
  constexpr int kThreads = 4, kRounds = 2000;
  std::atomic<int> produced{0};
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    while (!stop) {
      for (std::uint32_t i = 0; i < ring_.slabs_ready(); ++i)
        if (ring_.slab(i)->state.load(std::memory_order_acquire) == SlabState::kSealed)
          ring_.Release(ring_.slab(i));
      ring_.WaitForAttention(ring_.Attention(), 1'000'000);
    }
  });
  std::vector<std::thread> producers;
  for (int t = 0; t < kThreads; ++t)
    producers.emplace_back([&, t] {
      for (int i = 0; i < kRounds; ++i) {
        SlabHeader* slab = ring_.Acquire(SlabKind::kEvents, static_cast<std::uint32_t>(t), 0);
        if (slab == nullptr) continue;
        // No other thread may hold the slab: the thread number written here must be unchanged.
        slab->published.store(static_cast<std::uint32_t>(t) + 1, std::memory_order_relaxed);
        ASSERT_EQ(slab->thread, static_cast<std::uint32_t>(t));
        ASSERT_EQ(slab->published.load(std::memory_order_relaxed),
                  static_cast<std::uint32_t>(t) + 1);
        ring_.Seal(slab);
        ++produced;
      }
    });
  for (std::thread& producer : producers) producer.join();
  stop = true;
  ring_.CallAttention();
  writer.join();
  EXPECT_GT(produced.load(), 16);
}

}  // namespace
}  // namespace memprof::recorder
