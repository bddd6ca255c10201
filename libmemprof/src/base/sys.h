// Functions of the operating system for the recorder, in a form that is safe inside other people's
// processes: none uses malloc, throws, or calls the program.
#pragma once

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "libmemprof/src/arch/arch.h"
#include "libmemprof/src/base/memory_budget.h"

namespace memprof::recorder {

// CLOCK_MONOTONIC in nanoseconds: the clock of all times in the log. Does not enter the kernel
// where the kernel trusts the processor's time-stamp counter, and stays correct when a virtual
// machine migrates.
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

// Of this kernel: 4, 16 or 64 KiB.
inline std::size_t PageBytes() { return static_cast<std::size_t>(getpagesize()); }

// Zeroed private memory; null when there is none, or when the budget does not allow it
// (memory_budget.h). Sizes are rounded up to pages. Memory is returned with the `need` and
// `in_child` of its request.
void* MapMemory(std::size_t bytes, Need need = Need::kTable, InChild in_child = InChild::kUnmapped);
void UnmapMemory(void* memory, std::size_t bytes, Need need = Need::kTable,
                 InChild in_child = InChild::kUnmapped);
// As mremap: moves and enlarges. Null when there is no memory; the old block then stays as it is.
void* GrowMemory(void* memory, std::size_t old_bytes, std::size_t new_bytes,
                 Need need = Need::kTable);
// Address space whose pages get memory when they are touched: the caller charges them. Freed by
// plain munmap.
void* MapAddressSpace(std::size_t bytes, InChild in_child = InChild::kUnmapped);

// A range that the recorder has mapped itself; scans of the process's memory leave it out.
struct OwnRange {
  std::uintptr_t begin, end;
};
inline constexpr std::size_t kMaxOwnRanges = 4096;
// For memory that was not mapped by the functions above.
void RememberOwn(void* memory, std::size_t bytes);
void ForgetOwn(void* memory);
// Sorted by address, at most kMaxOwnRanges. False when there are more.
bool CopyOwnRanges(OwnRange* ranges, std::size_t* count);

// Sleeps until *word != expected, a wake-up, or the timeout. May return without a reason. Keeps
// errno.
void FutexWait(const std::atomic<std::uint32_t>* word, std::uint32_t expected,
               std::uint64_t timeout_ns);
void FutexWake(const std::atomic<std::uint32_t>* word, int threads);

// Returns after every other thread of the process has passed a full memory barrier. So a fast path
// needs none: it writes a value, has a LightBarrier, and then reads a flag. A thread that sets the
// flag calls this function; then either it sees the value, or the fast path sees the flag.
void SynchroniseThreads();
// Once in a process, before the first LightBarrier that should be light.
void PrepareToSynchronise();
extern std::atomic<bool> g_barriers_are_light;
// Only for the compiler, as long as SynchroniseThreads has a way to reach all processors.
inline void LightBarrier() {
  if (arch::kInterruptsOnProtect || g_barriers_are_light.load(std::memory_order_relaxed))
    std::atomic_signal_fence(std::memory_order_seq_cst);
  else
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

// The calling thread cannot be cancelled (pthread_cancel) while one of these lives: a thread that
// ends while it holds a lock of ours would block all others. The thread's own setting holds again
// afterwards; a cancellation that arrived meanwhile is acted on then. Costs two atomic operations
// where the C library needs them. So the work for every event does without: it holds no lock,
// reaches no cancellation point, and changes nothing that another thread depends on.
class CancellationOff {
 public:
  CancellationOff();
  ~CancellationOff();
  CancellationOff(const CancellationOff&) = delete;
  CancellationOff& operator=(const CancellationOff&) = delete;

 private:
  int before_;
};

// After a handler of the program left a CancellationOff by siglongjmp, without its destructor.
void RestoreCancellation();

// While one of these lives, no handler of the program runs on the calling thread: it may leave by
// siglongjmp, or call exit, and a lock that the thread holds would stay held for ever. Signals that
// the thread's own instructions and system calls raise are let through, because they cannot wait.
// The outermost one costs two system calls.
class SignalsOff {
 public:
  SignalsOff();
  ~SignalsOff();
  SignalsOff(const SignalsOff&) = delete;
  SignalsOff& operator=(const SignalsOff&) = delete;
  // The calling thread's, as the program has set it.
  static void MaskOfProgram(sigset_t* mask);

 private:
  sigset_t before_;
};

// Around our writes to files: the program may have limited their size (RLIMIT_FSIZE), and a write
// beyond that raises SIGXFSZ, which would end it. The write then only fails, with EFBIG.
class FileSizeSignalOff {
 public:
  FileSizeSignalOff();
  ~FileSizeSignalOff();
  FileSizeSignalOff(const FileSizeSignalOff&) = delete;
  FileSizeSignalOff& operator=(const FileSizeSignalOff&) = delete;

 private:
  bool was_blocked_, was_pending_;
};

// For everything beyond putting an event into the ring: system calls, tables, calls of the loader
// or the driver that the recorder makes for itself. Keeps errno, and the thread cannot be
// cancelled. The program's own calls stay outside, so that cancellation works there as without the
// recorder.
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

// Whether the main thread has ended without the process: by pthread_exit or the bare system call,
// or killed by a filter of system calls. `status` gets how, as of waitpid.
bool MainThreadHasEnded(int* status);
// Once it has (a status other than 0 is not that of pthread_exit): the threads that are left of the
// program, besides `ours` of the recorder, if that is one or none; the program is over without one.
// -1 otherwise.
int LastThreadsLeft(int ours, int* status_of_main);
// Ends the calling thread, the last one, and so the process with this status.
[[noreturn]] void EndLike(int status);

}  // namespace memprof::recorder
