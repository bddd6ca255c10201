// Every lock of the recorder, and the order in which they are taken.
//
// A Mutex names its place in LockRank, so a lock that is not listed here does not compile. A thread
// that holds a lock may only take locks that come after it in LockRank; each Lock checks that. A
// lock that lives as long as the process, not one recording, is a member of ProcessLocks, because
// it has to be free in a forked child (tests/layers/check_locks.py finds any other).
#pragma once

#include <atomic>
#include <cstdint>

#include "libmemprof/src/arch/arch.h"
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

// A small lock that never allocates. It is held only briefly, and never during calls into the
// loader, the driver or the program: these could need a lock whose holder waits for this one.
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
  // From before the lock is taken until it is released. A handler that waits for its end may leave.
  SignalsOff signals_off_;
  CancellationOff cancellation_off_;
  Lock& mutex_;
};

// The data behind each of these locks must be consistent at any moment: another thread may have
// held the lock when the process was forked.
struct alignas(arch::kMaxPageBytes) ProcessLocks {
  Mutex<LockRank::kNvtxNames> nvtx_strings;
  Mutex<LockRank::kNvtxNames> nvtx_domains;
  Mutex<LockRank::kThreads> threads;
  Mutex<LockRank::kThreadBarrier> thread_barrier;
};
extern ProcessLocks g_process_locks;
// For the child of a fork: releases all of them.
void ResetProcessLocks();
// Once in a process: the kernel then also clears the locks in children in which no handler of ours
// runs.
void KeepProcessLocksFromChildren();

// How often a thread took a lock against the order, or one that it already held: a bug in the
// recorder. Builds that check themselves (sanitizers, Debug) abort instead.
std::uint64_t LocksOutOfOrder();

}  // namespace memprof::recorder
