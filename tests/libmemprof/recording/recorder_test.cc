// The whole recorder in this process: from the C API to the log.
#include "libmemprof/src/recording/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include "libmemprof/include/memprof/memprof.h"
#include "libmemprof/src/base/memory_budget.h"
#include "libmemprof/src/sources/source_host.h"
#include "tests/libmemprof/recording/recording.h"

namespace memprof::recorder {
namespace {

class RecorderTest : public RecordingTest {};

TEST_F(RecorderTest, EventsOfManyThreadsKeepTheirOrder) {
  ASSERT_EQ(memprof_start(), MEMPROF_OK);
  constexpr std::uint64_t kThreads = 6, kEvents = 5000;
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < kThreads; ++t)
    threads.emplace_back([t] {
      for (std::uint64_t i = 0; i < kEvents; ++i)
        ASSERT_EQ(memprof_block_create(0, At((t + 1) << 32 | (i + 1)), i, i, nullptr), MEMPROF_OK);
    });
  for (std::thread& thread : threads) thread.join();
  const testing::Log log = Finish();
  EXPECT_EQ(log.error, "");
  ASSERT_EQ(log.events.size(), kThreads * kEvents);
  std::map<std::uint32_t, testing::Event> last;
  for (const testing::Event& event : log.events) {
    const auto before = last.find(event.thread);
    if (before != last.end()) {
      ASSERT_EQ(event.address, before->second.address + 1);
      ASSERT_GE(event.time_ns, before->second.time_ns);
    }
    last[event.thread] = event;
  }
  EXPECT_EQ(last.size(), kThreads);
}

TEST_F(RecorderTest, AChunkHoldsAtMostFourThousandEvents) {
  ASSERT_EQ(memprof_start(), MEMPROF_OK);
  for (int i = 0; i < 30000; ++i) memprof_step(static_cast<std::uint64_t>(i));
  const testing::Log log = Finish();
  EXPECT_EQ(log.events.size(), 30000u);
  for (const auto& chunk : log.chunks) EXPECT_LE(chunk.events, log::kEventsPerChunk);
}

TEST_F(RecorderTest, FlushPutsEverythingIntoTheFile) {
  ASSERT_EQ(memprof_start(), MEMPROF_OK);
  for (std::uint64_t i = 1; i <= 100; ++i) {
    memprof_step(i);
    ASSERT_EQ(memprof_flush(), MEMPROF_OK);
    ASSERT_EQ(testing::ReadLog(path_).events.size(), i);
  }
}

TEST_F(RecorderTest, EventsAfterTheEndReopenTheLog) {
  ASSERT_EQ(memprof_start(), MEMPROF_OK);
  memprof_step(1);
  EXPECT_TRUE(Finish().has_trailer);
  g_control.ending.store(1);
  memprof_step(2);
  memprof_step(3);
  const testing::Log log = testing::ReadLog(path_);
  EXPECT_EQ(log.error, "");
  EXPECT_TRUE(log.has_trailer);
  ASSERT_EQ(log.events.size(), 3u);
  EXPECT_EQ(log.trailer.events(), 3u);
  EXPECT_EQ(log.chunks.back().kind, static_cast<std::uint32_t>(log::ChunkKind::kTrailer));
}

// Threads may still run while the process ends, or between two calls of Finish.
TEST_F(RecorderTest, OnceEndedTheLogIsCompleteAfterEveryBatch) {
  ASSERT_EQ(memprof_start(), MEMPROF_OK);
  memprof_step(0);
  ASSERT_TRUE(Finish().has_trailer);
  for (std::uint64_t i = 1; i <= 20; ++i) {
    const std::string label = "label " + std::to_string(i);
    ASSERT_EQ(memprof_snapshot(label.c_str()), MEMPROF_OK);
    ASSERT_EQ(memprof_flush(), MEMPROF_OK);
    const testing::Log log = testing::ReadLog(path_);
    ASSERT_EQ(log.error, "");
    ASSERT_TRUE(log.has_trailer);
    ASSERT_EQ(log.events.size(), i + 1);
    ASSERT_EQ(log.trailer.events(), i + 1);
    ASSERT_EQ(log.Text(log.events.back().label), label);
    ASSERT_GE(log.trailer.end_time_ns(), log.events.back().time_ns);
    std::vector<testing::Log::Chunk> listed = log.chunks;
    listed.resize(listed.size() - 2);  // the index lists neither itself nor the trailer
    ASSERT_TRUE(log.Indexed() == listed);
  }
}

// An event with a stack; the thread's memo takes memory.
void RecordWithStack() {
  EntryGuard guard;
  ring::RingEvent event{};
  event.op = kOpStep;
  EXPECT_TRUE(RecordEvent(guard.slot(), &event, true));
}

TEST_F(RecorderTest, AThreadsMemoIsFreedAtItsEndAndNotInheritedByChildren) {
  if (!kTestStacks) GTEST_SKIP() << "without stacks there are no memos";
  ASSERT_EQ(memprof_start(), MEMPROF_OK);
  std::uint64_t within = 0;
  const auto one_thread = [&within] {
    std::thread([&within] {
      RecordWithStack();
      within = ChargedMemory();
    }).join();
  };
  one_thread();  // the thread's state is kept for the next thread
  ASSERT_TRUE(TheRecorder()->writer()->Flush(10'000'000'000));
  one_thread();
  ASSERT_TRUE(TheRecorder()->writer()->Flush(10'000'000'000));
  const std::uint64_t before = ChargedMemory();
  one_thread();
  EXPECT_GE(within, before + (std::uint64_t{40} << 10));
  ASSERT_TRUE(TheRecorder()->writer()->Flush(10'000'000'000));
  EXPECT_EQ(ChargedMemory(), before);

  RecordWithStack();  // this thread's memo is kept here, but not in a child
  const pid_t child = fork();
  if (child == 0) {
    const std::uint64_t kept = ChargedMemory();
    // Only the recorder itself and the states of threads remain: no table, no memo.
    _exit(kept > 0 && kept < before && ChargeMemory(1, Need::kMemo) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// A thread that records at once, and then whenever it is told to, until it shall end.
class RecordingThread {
 public:
  RecordingThread() { Record(); }
  ~RecordingThread() {
    command_ = kEnd;
    thread_.join();
  }
  bool Record() {
    command_ = kRecord;
    while (command_ == kRecord) std::this_thread::yield();
    return recorded_;
  }
  bool recorded() const { return recorded_; }

 private:
  enum Command { kWait, kRecord, kEnd };
  void Serve() {
    while (command_ != kEnd) {
      if (command_ != kRecord) {
        std::this_thread::yield();
        continue;
      }
      recorded_ = memprof_step(1) == MEMPROF_OK;
      command_ = kWait;
    }
  }
  std::atomic<Command> command_{kWait};
  bool recorded_ = false;
  std::thread thread_{[this] { Serve(); }};
};

TEST_F(RecorderTest, AThreadThatWasRefusedIsTakenOnceAnotherHasEnded) {
  ASSERT_EQ(memprof_start(), MEMPROF_OK);
  std::thread([] { memprof_step(1); }).join();
  SetMemoryLimit(1, 0);  // no more threads at once than there were
  std::vector<std::unique_ptr<RecordingThread>> taken;
  auto next = std::make_unique<RecordingThread>();
  for (int i = 0; next->recorded() && i < 1000; ++i) {
    taken.push_back(std::move(next));
    next = std::make_unique<RecordingThread>();
  }
  ASSERT_FALSE(next->recorded());
  EXPECT_FALSE(next->Record());
  EXPECT_GE(TheRecorder()->ring()->AnomalyCount(log::Anomaly::kThreadSlotsExhausted), 2u);
  ASSERT_FALSE(taken.empty());
  taken.pop_back();
  EXPECT_TRUE(next->Record());
  SetMemoryLimit(kDefaultMemoryMib << 20, 0);
}

TEST_F(RecorderTest, AFullRingCountsWhatItDrops) {
  setenv("MEMPROF_RING_EVENTS", "1024", 1);
  ASSERT_EQ(memprof_start(), MEMPROF_OK);
  // Without the writer the ring is never drained.
  TheRecorder()->writer()->Stop();
  std::uint64_t kept = 0, dropped = 0;
  for (int i = 0; i < 30000; ++i)
    memprof_step(static_cast<std::uint64_t>(i)) == MEMPROF_OK ? ++kept : ++dropped;
  EXPECT_GT(dropped, 0u);
  EXPECT_EQ(TheRecorder()->ring()->AnomalyCount(log::Anomaly::kEventsLost), dropped);
  std::uint64_t drained = 0;
  while (TheRecorder()->writer()->DrainOnce()) continue;
  drained = testing::ReadLog(path_).events.size();
  EXPECT_EQ(drained, kept);
  EXPECT_EQ(memprof_step(1), MEMPROF_OK) << "space again";
}

TEST_F(RecorderTest, StatsFillOnlyAsMuchAsTheCallerKnows) {
  EXPECT_EQ(memprof_get_stats(nullptr), MEMPROF_INVALID_ARGUMENT);
  ASSERT_EQ(memprof_start(), MEMPROF_OK);
  memprof_step(1);
  struct memprof_stats stats;
  memset(&stats, 0xee, sizeof stats);
  stats.size = offsetof(struct memprof_stats, events_lost);
  EXPECT_EQ(memprof_get_stats(&stats), MEMPROF_OK);
  EXPECT_EQ(stats.events, 1u);
  EXPECT_EQ(stats.events_lost, 0xeeeeeeeeeeeeeeeeu);
  stats.size = sizeof stats;
  EXPECT_EQ(memprof_get_stats(&stats), MEMPROF_OK);
  EXPECT_EQ(stats.events_lost, 0u);
  EXPECT_EQ(stats.recording, 1u);
  EXPECT_GT(stats.log_bytes, 100u);
}

TEST_F(RecorderTest, SourcesRecordThroughTheirTable) {
  ASSERT_EQ(memprof_start(), MEMPROF_OK);
  const RecorderApi& table = SourceTable();
  EXPECT_EQ(table.version, kSourceApiVersion);
  const std::uint32_t kernel = table.intern("my_kernel", 9);
  EXPECT_EQ(table.intern("my_kernel", 9), kernel);
  table.source_state("cupti", kSourceOn, "version 13");
  table.count_anomaly(static_cast<int>(log::Anomaly::kClockSteps), 5);
  table.count_anomaly(-1, 5);
  EXPECT_EQ(table.inside_hook(), 0);
  SourceEvent event{};
  event.op = log::OP_LAUNCH;
  event.device = 0;
  event.stream = 0x77;
  event.context = 0x1234;
  event.label = kernel;
  event.with_stack = 1;
  table.record(&event);
  event.op = log::OP_CONTEXT_DESTROY;
  event.device = -1;
  table.record(&event);
  const testing::Log log = Finish();
  ASSERT_EQ(log.events.size(), 2u);
  EXPECT_EQ(log.Text(log.events[0].label), "my_kernel");
  EXPECT_EQ(log.events[0].stream, 0x77u);
  EXPECT_EQ(log.contexts.at(log.events[0].context).handle(), 0x1234u);
  EXPECT_EQ(log.events[1].context, log.events[0].context);
  EXPECT_EQ(log.events[1].device, 0) << "known from the context";
  EXPECT_EQ(log.events[0].stack != 0, kTestStacks);
  EXPECT_EQ(log.counters.at("clock_steps"), 5u);
  EXPECT_EQ(log.sources.back().name(), "cupti");
}

TEST_F(RecorderTest, CallsFromInsideTheRecorderAreLeftOut) {
  ASSERT_EQ(memprof_start(), MEMPROF_OK);
  {
    EntryGuard guard;
    EXPECT_EQ(memprof_step(1), MEMPROF_NOT_RECORDING);
    EXPECT_EQ(SourceTable().inside_hook(), 1);
  }
  EXPECT_EQ(memprof_step(2), MEMPROF_OK);
  EXPECT_EQ(Finish().events.size(), 1u);
}

}  // namespace
}  // namespace memprof::recorder
