// What the recorder needs of the operating system, in a form that is safe inside other people's
// processes: nothing here uses malloc, throws, or calls back into the program.
#pragma once

#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "libmemprof/src/base/memory_budget.h"

namespace memprof::recorder {

// CLOCK_MONOTONIC in nanoseconds: the clock of all times in the log. Where the kernel trusts the
// processor's counter this never enters the kernel, and it is right wherever a virtual machine is
// moved to.
inline std::uint64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}
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
inline constexpr std::size_t kMaxOwnRanges = 4096;
// For memory that was not mapped by the functions above.
void RememberOwn(void* memory, std::size_t bytes);
void ForgetOwn(void* memory);
// In order of address; room for kMaxOwnRanges. False when there are more.
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

// The calling thread cannot be cancelled (pthread_cancel) while one of these lives: a thread that
// dies with a lock of ours would leave everybody else waiting. What the thread had chosen holds
// again afterwards, and a cancellation that came meanwhile is acted on then. Costs two atomic
// operations where the C library needs them, so what is done for every event does without: it holds
// no lock, reaches no cancellation point, and changes nothing that another thread depends on.
class CancellationOff {
 public:
  CancellationOff();
  ~CancellationOff();
  CancellationOff(const CancellationOff&) = delete;
  CancellationOff& operator=(const CancellationOff&) = delete;

 private:
  int before_;
};

// For all that is more than an event put into the ring: system calls, tables, calls of the loader
// or the driver by our own choice. errno stays as the program left it, and the thread cannot be
// cancelled. The program's own calls stay outside: there it is cancelled as it is without us.
class SystemSection {
 public:
  SystemSection();
  ~SystemSection();
  SystemSection(const SystemSection&) = delete;
  SystemSection& operator=(const SystemSection&) = delete;

 private:
  CancellationOff cancellation_off_;
  int errno_;
};

// Whether the main thread has ended by pthread_exit.
bool MainThreadHasEnded();
// ... and all others too, but for `ours` threads of the recorder: the process is over without us.
bool OnlyOwnThreadsAreLeft(int ours);

}  // namespace memprof::recorder
