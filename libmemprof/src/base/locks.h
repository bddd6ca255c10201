// Every lock of the recorder, and the order in which locks are taken.
//
// A Mutex names its place in LockRank, so a lock that is not listed here does not compile. Whoever
// holds one may take only those that come after it; each Lock checks that. One whose life is that
// of the process and not of one recording is a member of ProcessLocks, because a forked child has
// to begin with it free (tests/layers/check_locks.py finds any other).
#pragma once

#include <atomic>
#include <cstdint>

#include "libmemprof/src/base/sys.h"

namespace memprof::recorder {

// Outer ones first.
enum class LockRank : std::uint8_t {
  kWriterServing,  // of those who do the writer thread's work after its end
  kThreads,
  kNvtxNames,
  kTorchEnded,
  kTorchCaptures,
  kTorchSegments,
  kPython,
  kStacks,
  kModules,
  kDriverState,
  kGraphs,
  kHandles,
  kExports,
  kTiles,
  kVmm,
  kDefinitions,
  kRing,
  kLiveTotals,
  kThreadBarrier,
  kCount
};

// A small lock that never allocates. Held only for moments, and never while calling into the
// loader, the driver or the program: any of these could need a lock that waits for this one.
class BasicMutex {
 public:
  BasicMutex(const BasicMutex&) = delete;
  BasicMutex& operator=(const BasicMutex&) = delete;

 protected:
  constexpr BasicMutex() = default;
  void Lock(LockRank rank);
  void Unlock(LockRank rank);

 private:
  std::atomic<std::uint32_t> word_{0};  // 0 free, 1 held, 2 held and someone sleeps
};

// The rank is not stored: the kernel wipes the page of a process's locks in forked children.
template <LockRank kRank>
class Mutex : public BasicMutex {
 public:
  constexpr Mutex() = default;
  void Lock() { BasicMutex::Lock(kRank); }
  void Unlock() { BasicMutex::Unlock(kRank); }
};

template <typename Lock>
class LockGuard {
 public:
  explicit LockGuard(Lock& mutex) : mutex_(mutex) { mutex_.Lock(); }
  ~LockGuard() { mutex_.Unlock(); }
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;

 private:
  CancellationOff cancellation_off_;  // before the lock is taken, and until it is given back
  Lock& mutex_;
};

// What each of them guards must make sense at any moment of a change: another thread may have held
// it when the process was forked.
struct alignas(4096) ProcessLocks {
  Mutex<LockRank::kNvtxNames> nvtx_strings;
  Mutex<LockRank::kNvtxNames> nvtx_domains;
  Mutex<LockRank::kThreadBarrier> thread_barrier;
};
extern ProcessLocks g_process_locks;
// For the child of a fork: all of them are free.
void ResetProcessLocks();
// Once in a process: the kernel wipes the locks in children that no handler of ours sees.
void KeepProcessLocksFromChildren();

// How often a lock was taken by a thread that held one which comes after it, or that lock itself:
// a mistake of ours. Where the build checks itself (sanitizers, Debug) it ends the program.
std::uint64_t LocksOutOfOrder();

}  // namespace memprof::recorder
