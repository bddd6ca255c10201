// Special cases of the writer: many threads in one batch, the order of time across threads, and a
// log that can no longer be written.
#include "libmemprof/src/log/writer.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>

#include <chrono>
#include <map>
#include <random>
#include <thread>

#include "libmemprof/include/memprof/memprof.h"
#include "libmemprof/src/log/vocabulary.h"
#include "tests/libmemprof/recording/recording.h"

namespace memprof::recorder {
namespace {

using ring::RingEvent;

class WriterTest : public RecordingTest {
 protected:
  // Starts a recording without the writer thread: the test decides when to drain.
  void StartWithoutWriter() {
    ASSERT_EQ(memprof_start(), MEMPROF_OK);
    TheRecorder()->writer()->Stop();
  }
  // Publishes an event as the thread with that id, at a time chosen by the test.
  void Publish(std::uint32_t thread, RingEvent event) {
    ring::SlabHeader*& slab = slabs_[thread];
    RingBuffer* ring = TheRecorder()->ring();
    if (slab == nullptr) slab = ring->Acquire(ring::SlabKind::kEvents, thread, 0);
    ASSERT_NE(slab, nullptr);
    const std::uint32_t used = slab->published.load();
    SlabEvents(slab)[used] = event;
    slab->published.store(used + 1);
  }
  static RingEvent Event(Op op, std::uint64_t time_ns, std::uint64_t address,
                         std::uint64_t bytes = 0, Layer layer = kLayerLinear) {
    RingEvent event{};
    event.op = op;
    event.layer = layer;
    event.time_ns = time_ns;
    event.address = address;
    event.bytes = bytes;
    return event;
  }
  std::map<std::uint32_t, ring::SlabHeader*> slabs_;
};

TEST_F(WriterTest, EventsOfManyThreadsAreAccountedInTheOrderOfTime) {
  setenv("MEMPROF_RING_EVENTS", "1048576", 1);
  StartWithoutWriter();
  // Thread t allocates at time 2t+1 what thread t-1 frees at 2t+2; the first block is not freed.
  constexpr std::uint32_t kThreads = 400;
  for (std::uint32_t t = 1; t <= kThreads; ++t) {
    if (t > 1) Publish(t - 1, Event(kOpFree, 2 * t + 2, t * 4096));
    Publish(t, Event(kOpAlloc, 2 * t + 1, t * 4096, 100, kLayerManaged));
  }
  EXPECT_TRUE(TheRecorder()->writer()->DrainOnce());
  const LiveTotals totals = TheRecorder()->writer()->totals();
  EXPECT_EQ(totals.allocations, kThreads);
  EXPECT_EQ(totals.frees, kThreads - 1);
  EXPECT_EQ(totals.live_bytes, 100u);
  EXPECT_EQ(totals.peak_bytes, 200u) << "the first block and one other at a time";
  for (const testing::Event& event : testing::ReadLog(path_).events)
    EXPECT_EQ(event.layer, log::LAYER_MANAGED);
}

// One commit holds 16 Ki events. An allocation drained in the second commit may precede its free,
// drained in the first.
TEST_F(WriterTest, TheOrderOfTimeHoldsAcrossCommitsToo) {
  StartWithoutWriter();
  constexpr std::uint32_t kEach = 700;
  std::uint64_t time = 1;
  for (std::uint32_t i = 0; i < kEach; ++i)
    for (std::uint32_t t = 30; t > 0; --t) Publish(t + 100, Event(kOpStep, ++time, 0));
  // The last thread's event is the earliest, the first one's the latest.
  Publish(999, Event(kOpAlloc, 1, 0x5000, 64, kLayerPitched));
  Publish(1, Event(kOpFree, ++time, 0x5000));
  EXPECT_TRUE(TheRecorder()->writer()->DrainOnce());
  EXPECT_EQ(TheRecorder()->writer()->totals().frees, 1u);
  EXPECT_EQ(TheRecorder()->writer()->totals().live_bytes, 0u);
  const testing::Log log = testing::ReadLog(path_);
  ASSERT_EQ(log.events.size(), 30 * kEach + 2);
  EXPECT_EQ(log.WithOp(log::OP_FREE).at(0).layer, log::LAYER_PITCHED);
}

TEST_F(WriterTest, WhatIsStampedAfterTheDrainBeganWaitsForTheNext) {
  StartWithoutWriter();
  const std::uint64_t future = NowNs() + 3600ull * 1'000'000'000;
  Publish(1, Event(kOpStep, 1, 0));
  Publish(1, Event(kOpStep, future, 0));
  Publish(1, Event(kOpStep, 2, 0));  // behind an event that waits, so it waits too
  Publish(2, Event(kOpStep, 3, 0));
  EXPECT_TRUE(TheRecorder()->writer()->DrainOnce());
  std::vector<std::uint64_t> times;
  for (const testing::Event& event : testing::ReadLog(path_).events) times.push_back(event.time_ns);
  EXPECT_THAT(times, ::testing::UnorderedElementsAre(1, 3));
}

TEST_F(WriterTest, ThreadsThatPassBlocksOnAgreeWithTheirCounts) {
  ASSERT_EQ(memprof_start(), MEMPROF_OK);
  // Real threads and real times: each block is allocated by one thread and freed by the next.
  constexpr int kThreads = 4, kRounds = 3000;
  struct Box {
    std::atomic<std::uint64_t> address{0};
  };
  std::vector<Box> boxes(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      EntryGuard guard;
      Box& mine = boxes[static_cast<std::size_t>(t)];
      Box& others = boxes[static_cast<std::size_t>((t + 1) % kThreads)];
      int given = 0, taken = 0;
      while (given < kRounds || taken < kRounds) {
        if (given < kRounds && mine.address.load() == 0) {
          const std::uint64_t address =
              (static_cast<std::uint64_t>(t) << 40) + 4096 * static_cast<std::uint64_t>(++given);
          RingEvent event = Event(kOpAlloc, NowNs(), address, 1, kLayerManaged);
          RecordEvent(guard.slot(), &event, false);
          mine.address.store(address);
        }
        const std::uint64_t address = taken < kRounds ? others.address.exchange(0) : 0;
        if (address == 0) {
          std::this_thread::yield();
          continue;
        }
        ++taken;
        RingEvent event = Event(kOpFree, NowNs(), address);
        RecordEvent(guard.slot(), &event, false);
      }
    });
  for (std::thread& thread : threads) thread.join();
  const testing::Log log = Finish();
  EXPECT_EQ(log.events.size(), 2u * kThreads * kRounds);
  for (const testing::Event& event : log.events) ASSERT_EQ(event.layer, log::LAYER_MANAGED);
  const LiveTotals totals = TheRecorder()->writer()->totals();
  EXPECT_EQ(totals.allocations, static_cast<std::uint64_t>(kThreads * kRounds));
  EXPECT_EQ(totals.frees, totals.allocations);
  EXPECT_EQ(totals.live_bytes, 0u);
}

// Small chunks compress badly: a few events at a time wait in the ring for about a second.
TEST_F(WriterTest, WhatComesLittleByLittleIsWrittenInFewChunks) {
  ASSERT_EQ(memprof_start(), MEMPROF_OK);
  ASSERT_EQ(memprof_flush(), MEMPROF_OK);
  const int chunks_before = testing::ReadLog(path_).event_chunks;
  const std::uint64_t begin = NowNs();
  constexpr int kSteps = 40;
  for (int i = 0; i < kSteps; ++i) {
    memprof_step(static_cast<std::uint64_t>(i));
    std::this_thread::sleep_for(std::chrono::milliseconds(15));
  }
  const testing::Log log = Finish();
  const auto seconds = static_cast<int>((NowNs() - begin) / 1'000'000'000);
  EXPECT_EQ(log.events.size(), static_cast<std::size_t>(kSteps));
  EXPECT_LE(log.event_chunks - chunks_before, seconds + 2);
}

TEST_F(WriterTest, ALogThatCannotGrowEndsWithAReasonAndTheProgramGoesOn) {
  ASSERT_EQ(memprof_start(), MEMPROF_OK);
  memprof_step(1);
  ASSERT_EQ(memprof_flush(), MEMPROF_OK);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = before;
  small.rlim_cur = std::filesystem::file_size(path_) + 400;
  // The writer blocks the signal. This thread ignores it, because it writes to stderr.
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  ::testing::internal::CaptureStderr();
  setrlimit(RLIMIT_FSIZE, &small);
  std::mt19937_64 random(1);
  for (int i = 0; i < 5000 && Recording(); ++i) {
    memprof_step(random());
    if (i % 500 == 499) memprof_flush();
  }
  const bool still_recording = Recording();
  const int flushed = memprof_flush(), started = memprof_start();
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_FALSE(still_recording);
  EXPECT_EQ(flushed, MEMPROF_UNAVAILABLE);
  EXPECT_EQ(started, MEMPROF_UNAVAILABLE);
  EXPECT_EQ(memprof_step(1), MEMPROF_NOT_RECORDING);
  EXPECT_THAT(said,
              ::testing::AllOf(::testing::HasSubstr("cannot write"), ::testing::HasSubstr(path_)));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
  const testing::Log log = testing::ReadLog(path_);
  EXPECT_EQ(log.error, "") << "what was written is complete";
  EXPECT_GE(log.events.size(), 1u);
  if (log.has_trailer) {
    EXPECT_THAT(log.trailer.reason(), ::testing::HasSubstr("error: File too large"));
    EXPECT_GE(log.counters.at("events_lost"), 1u);
  }
}

}  // namespace
}  // namespace memprof::recorder
