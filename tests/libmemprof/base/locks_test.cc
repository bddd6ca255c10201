// Locks exclude, are taken in order, and are free in a forked child.
#include "libmemprof/src/base/locks.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

namespace memprof::recorder {
namespace {

TEST(Locks, ExcludeOtherThreads) {
  Mutex<LockRank::kVmm> mutex;
  int inside = 0;
  std::uint64_t sum = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20000; ++i) {
        LockGuard lock(mutex);
        EXPECT_EQ(++inside, 1);
        ++sum;
        --inside;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, 80000u);
}

TEST(Locks, TakenInTheirOrderAreNoMistake) {
  Mutex<LockRank::kStacks> stacks;
  Mutex<LockRank::kDefinitions> definitions;
  Mutex<LockRank::kRing> ring;
  for (int i = 0; i < 2; ++i) {
    LockGuard first(stacks);
    {
      LockGuard second(definitions);
      LockGuard third(ring);
    }
    LockGuard third(ring);
  }
  EXPECT_EQ(LocksOutOfOrder(), 0u);
}

// Taking a lock out of order is detected, even if no other thread makes it a deadlock.
template <typename Outer, typename Inner>
std::uint64_t MistakesOf() {
  Outer outer;
  Inner inner;
  const std::uint64_t before = LocksOutOfOrder();
  LockGuard first(outer);
  LockGuard second(inner);
  return LocksOutOfOrder() - before;
}

using DefinitionsLock = Mutex<LockRank::kDefinitions>;
using RingLock = Mutex<LockRank::kRing>;

#if defined(MEMPROF_ABORT_ON_LOCK_ORDER)
TEST(LocksDeathTest, OutOfOrderEndTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH((MistakesOf<RingLock, DefinitionsLock>()), "memprof: lock .* is taken while locks");
  EXPECT_DEATH((MistakesOf<RingLock, RingLock>()), "memprof: lock .* is taken while locks");
  EXPECT_EQ((MistakesOf<DefinitionsLock, RingLock>()), 0u);
}
#else
TEST(Locks, OutOfOrderAreCounted) {
  EXPECT_EQ((MistakesOf<RingLock, DefinitionsLock>()), 1u);
  EXPECT_EQ((MistakesOf<RingLock, RingLock>()), 1u) << "two locks of one rank have no order";
  EXPECT_EQ((MistakesOf<DefinitionsLock, RingLock>()), 0u);
}
#endif

// Another thread may hold these locks at the moment of the fork.
TEST(Locks, OfTheProcessAreFreeInAForkedChild) {
  std::atomic<int> stage{0};
  std::thread holder([&] {
    LockGuard names(g_process_locks.nvtx_strings);
    LockGuard barrier(g_process_locks.thread_barrier);
    stage = 1;
    while (stage != 2) std::this_thread::yield();
  });
  while (stage != 1) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    ResetProcessLocks();
    LockGuard names(g_process_locks.nvtx_strings);
    LockGuard barrier(g_process_locks.thread_barrier);
    _exit(0);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  stage = 2;
  holder.join();
}

}  // namespace
}  // namespace memprof::recorder
