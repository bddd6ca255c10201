// What the recorder needs of the operating system, in a form that is safe inside other people's
// processes: nothing here uses malloc, throws, or calls back into the program.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "libmemprof/src/clock.h"
#include "libmemprof/src/memory_budget.h"

namespace memprof::recorder {

// CLOCK_REALTIME in nanoseconds since 1970.
std::uint64_t UnixNs();
// CPU time used by the calling thread, in nanoseconds.
std::uint64_t ThreadCpuNs();
std::uint32_t CurrentTid();

// Writes "memprof: <text>\n" to stderr in one piece. `format` as for printf; at most 500 bytes.
void Message(const char* format, ...) __attribute__((format(printf, 1, 2)));

// Zeroed private memory, or null when there is none or the budget does not allow it
// (memory_budget.h). Sizes are rounded up to pages. What was asked for with a need and a fate in
// forked children is given back with the same.
void* MapMemory(std::size_t bytes, Need need = Need::kTable, InChild in_child = InChild::kGone);
void UnmapMemory(void* memory, std::size_t bytes, Need need = Need::kTable,
                 InChild in_child = InChild::kGone);
// As mremap: moves and enlarges; null when there is no more, the old block is then untouched.
void* GrowMemory(void* memory, std::size_t old_bytes, std::size_t new_bytes,
                 Need need = Need::kTable);
// Address space whose pages get memory when they are touched: the caller charges them. Goes with
// plain munmap, if ever.
void* MapAddressSpace(std::size_t bytes, InChild in_child = InChild::kGone);

// What the recorder has mapped itself, so that a look through the process's memory can leave it
// out.
struct OwnRange {
  std::uintptr_t begin, end;
};
inline constexpr std::size_t kMostOwnRanges = 4096;
// For memory that was not mapped by the functions above.
void RememberOwn(void* memory, std::size_t bytes);
void ForgetOwn(void* memory);
// In order of address; room for kMostOwnRanges. False when there are more.
bool CopyOwnRanges(OwnRange* ranges, std::size_t* count);

// Sleeps until *word != expected, a wake-up, or the timeout. Spurious returns are possible.
// Preserves errno.
void FutexWait(const std::atomic<std::uint32_t>* word, std::uint32_t expected,
               std::uint64_t timeout_ns);
void FutexWake(const std::atomic<std::uint32_t>* word, int threads);

// Every other thread of the process passes a full memory barrier before this returns. Lets a fast
// path do without one: it writes, then reads a flag; who sets the flag calls this and then sees
// the write, or else the fast path sees the flag.
void SynchroniseThreads();

// A small lock that never allocates. Held only for moments, and never while calling into the
// loader, the driver or the program: any of these could need a lock that waits for this one.
class Mutex {
 public:
  void Lock();
  void Unlock();
  // For a forked child, whose other threads are gone.
  void Reset() { word_.store(0, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint32_t> word_{0};  // 0 free, 1 held, 2 held and someone sleeps
};

class LockGuard {
 public:
  explicit LockGuard(Mutex& mutex) : mutex_(mutex) { mutex_.Lock(); }
  ~LockGuard() { mutex_.Unlock(); }
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;

 private:
  Mutex& mutex_;
};

// Keeps errno as the program left it.
class ErrnoKeeper {
 public:
  ErrnoKeeper();
  ~ErrnoKeeper();
  ErrnoKeeper(const ErrnoKeeper&) = delete;
  ErrnoKeeper& operator=(const ErrnoKeeper&) = delete;

 private:
  int saved_;
};

}  // namespace memprof::recorder
