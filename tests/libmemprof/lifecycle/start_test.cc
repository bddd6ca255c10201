// Starting, stopping and forking.
#include "libmemprof/src/lifecycle/start.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <vector>

#include "libmemprof/include/memprof/memprof.h"
#include "libmemprof/src/sources/source_host.h"
#include "tests/libmemprof/recording/recording.h"

namespace memprof::recorder {
namespace {

class StartTest : public RecordingTest {};

TEST_F(StartTest, NothingHappensBeforeStart) {
  EXPECT_EQ(memprof_step(1), MEMPROF_NOT_RECORDING);
  EXPECT_EQ(memprof_stop(), MEMPROF_NOT_RECORDING);
  EXPECT_EQ(memprof_flush(), MEMPROF_NOT_RECORDING);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(StartTest, StopWorksAlsoWhereItsOwnEventIsLost) {
  setenv("MEMPROF_RING_EVENTS", "1024", 1);
  ASSERT_EQ(memprof_start(), MEMPROF_OK);
  TheRecorder()->writer()->Stop();  // the ring is not drained from here on
  while (memprof_step(1) == MEMPROF_OK) continue;
  EXPECT_EQ(memprof_stop(), MEMPROF_OK);
  EXPECT_FALSE(Recording());
  EXPECT_EQ(memprof_stop(), MEMPROF_NOT_RECORDING);
}

// For example, the thread that starts the recorder waits for a lock that this thread holds.
TEST_F(StartTest, AStartThatDoesNotEndIsWaitedForOnce) {
  g_control.mode.store(Mode::kStarting);
  const auto begin = std::chrono::steady_clock::now();
  for (int call = 0; call < 200; ++call) EXPECT_FALSE(WantEvents(StartCause::kHook));
  // 0.2 s in all; 0.2 s for each call would be 40 s.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  g_control.mode.store(Mode::kIdle);
  EXPECT_TRUE(WantEvents(StartCause::kHook));
}

// As `memprof detach` does, and then `memprof attach`.
TEST_F(StartTest, ARecordingIsTakenDownWhileThreadsGoOnCalling) {
  std::atomic<bool> ends{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&ends, t] {
      for (std::uint64_t i = 0; !ends; ++i) {
        char name[32];
        snprintf(name, sizeof name, "name %d of %d", static_cast<int>(i % 100), t);
        memprof_range_push(name);
        memprof_block_create(0, reinterpret_cast<void*>(0x1000 * (1 + t)), 512, 512, nullptr);
        memprof_block_destroy(0, reinterpret_cast<void*>(0x1000 * (1 + t)));
        memprof_range_pop();
        if (i % 7 == 0) memprof_snapshot(name);
        if (i % 11 == 0) memprof_flush();
        char path[256];
        memprof_log_path(path, sizeof path);
        if (i % 13 == 0) std::thread([] { memprof_step(1); }).join();
      }
    });
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(memprof_start(), MEMPROF_OK);
    usleep(5000);
    ASSERT_EQ(memprof_stop(), MEMPROF_OK);
    FinishRecording();
    ASSERT_TRUE(TakeDownRecording());
    EXPECT_EQ(TheRecorder(), nullptr);
    const testing::Log log = testing::ReadLog(path_);
    EXPECT_TRUE(log.has_trailer);
    for (const testing::Event& event : log.WithOp(log::OP_RANGE_PUSH))
      EXPECT_TRUE(log.Text(event.label).starts_with("name "));
    std::filesystem::remove(path_);
  }
  ends = true;
  for (std::thread& thread : threads) thread.join();
}

TEST_F(StartTest, ARecordingThatRunsIsNotTakenDown) {
  EXPECT_FALSE(TakeDownRecording());
  ASSERT_EQ(memprof_start(), MEMPROF_OK);
  EXPECT_FALSE(TakeDownRecording());
  EXPECT_TRUE(Recording());
}

TEST_F(StartTest, StoppedMeansStoppedHoweverManyThreadsSaySo) {
  ASSERT_EQ(memprof_start(), MEMPROF_OK);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([t] { t % 2 == 0 ? memprof_stop() : memprof_start(); });
    for (std::thread& thread : threads) thread.join();
    // Whichever call was last, mode and epoch agree.
    EXPECT_EQ(Recording(), g_control.mode.load() == Mode::kRecording);
  }
  EXPECT_EQ(memprof_start(), MEMPROF_OK);
  const testing::Log log = Finish();
  // Every pause is followed by a resumption; nothing else is between them.
  log::Op expected = log::OP_PAUSE;
  for (const testing::Event& event : log.ByTime()) {
    EXPECT_EQ(event.op, expected);
    expected = expected == log::OP_PAUSE ? log::OP_RESUME : log::OP_PAUSE;
  }
}

TEST_F(StartTest, AForkedChildHasNothingOfItsParentsRecording) {
  ASSERT_EQ(memprof_start(), MEMPROF_OK);
  memprof_step(1);
  const pid_t child = fork();
  if (child == 0) {
    setenv("MEMPROF_DISABLE", "1", 1);
    const bool off = memprof_start() == MEMPROF_UNAVAILABLE;
    struct memprof_stats stats {};
    stats.size = sizeof stats;
    const bool empty = memprof_get_stats(&stats) == MEMPROF_NOT_RECORDING && stats.events == 0;
    SourceTable().source_state("cupti", kSourceLost, "of the parent");
    SourceTable().count_anomaly(0, 1);
    _exit(off && empty && memprof_flush() == MEMPROF_UNAVAILABLE ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  const testing::Log log = Finish();
  EXPECT_EQ(log.events.size(), 2u) << "the step and the fork";
  EXPECT_EQ(log.counters.count("events_lost"), 0u);
}

TEST_F(StartTest, StopAndStartShareOneLog) {
  ASSERT_EQ(memprof_start(), MEMPROF_OK);
  memprof_step(1);
  EXPECT_EQ(memprof_stop(), MEMPROF_OK);
  EXPECT_EQ(memprof_step(2), MEMPROF_NOT_RECORDING);
  EXPECT_EQ(memprof_start(), MEMPROF_OK);
  memprof_step(3);
  const testing::Log log = Finish();
  std::vector<int> ops;
  for (const testing::Event& event : log.events) ops.push_back(event.op);
  EXPECT_THAT(ops,
              ::testing::ElementsAre(log::OP_STEP, log::OP_PAUSE, log::OP_RESUME, log::OP_STEP));
}

}  // namespace
}  // namespace memprof::recorder
