// Clocks, memory, futexes and messages on Linux.
#include "libmemprof/src/base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "libmemprof/src/base/locks.h"

namespace memprof::recorder {
namespace {

std::uint64_t ReadClock(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

std::size_t RoundToPages(std::size_t bytes) {
  return (bytes + PageBytes() - 1) & ~(PageBytes() - 1);
}

}  // namespace

std::uint64_t UnixNs() { return ReadClock(CLOCK_REALTIME); }
std::uint64_t ThreadCpuNs() { return ReadClock(CLOCK_THREAD_CPUTIME_ID); }
std::uint32_t CurrentTid() { return static_cast<std::uint32_t>(syscall(SYS_gettid)); }

void Message(const char* format, ...) {
  char text[512] = "memprof: ";
  constexpr int kPrefix = 9;
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text + kPrefix, sizeof text - kPrefix - 1, format, arguments);
  va_end(arguments);
  if (length < 0) return;
  if (length > static_cast<int>(sizeof text) - kPrefix - 2)
    length = static_cast<int>(sizeof text) - kPrefix - 2;
  // Parts of the text come from the environment: removes newlines and control characters.
  for (char* at = text + kPrefix; at < text + kPrefix + length; ++at)
    if (static_cast<unsigned char>(*at) < ' ' || *at == 0x7f) *at = '?';
  text[kPrefix + length] = '\n';
  SystemSection section;
  const FileSizeSignalOff signal_off;  // it may be a file
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, text, kPrefix + length + 1);
}

namespace {

// A slot is claimed by its first field; without locks, because a fork may happen at any time.
struct OwnSlot {
  std::atomic<std::uintptr_t> begin, end;
};
OwnSlot g_own[kMaxOwnRanges];
std::atomic<std::size_t> g_own_used{0};  // slots from here on were never used
std::atomic<bool> g_own_overflow{false};

}  // namespace

void RememberOwn(void* memory, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  for (std::size_t i = 0; i < kMaxOwnRanges; ++i) {
    std::uintptr_t free = 0;
    if (g_own[i].begin.load(std::memory_order_relaxed) != 0 ||
        !g_own[i].begin.compare_exchange_strong(free, begin))
      continue;
    g_own[i].end.store(begin + RoundToPages(bytes), std::memory_order_release);
    std::size_t used = g_own_used.load(std::memory_order_relaxed);
    while (used <= i && !g_own_used.compare_exchange_weak(used, i + 1)) {
    }
    return;
  }
  g_own_overflow.store(true, std::memory_order_relaxed);
}

void ForgetOwn(void* memory) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::size_t used = g_own_used.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < used; ++i) {
    if (g_own[i].begin.load(std::memory_order_relaxed) != begin) continue;
    g_own[i].end.store(0, std::memory_order_relaxed);
    g_own[i].begin.store(0, std::memory_order_release);
    return;
  }
}

bool CopyOwnRanges(OwnRange* ranges, std::size_t* count) {
  *count = 0;
  const std::size_t used = g_own_used.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < used; ++i) {
    const OwnRange range{g_own[i].begin.load(std::memory_order_acquire),
                         g_own[i].end.load(std::memory_order_acquire)};
    if (range.begin < range.end && range.begin != 0) ranges[(*count)++] = range;
  }
  std::sort(ranges, ranges + *count,
            [](const OwnRange& a, const OwnRange& b) { return a.begin < b.begin; });
  return !g_own_overflow.load(std::memory_order_relaxed);
}

void* MapAddressSpace(std::size_t bytes, InChild in_child) {
  SystemSection section;
  void* memory = mmap(nullptr, RoundToPages(bytes), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  RememberOwn(memory, bytes);
  if (in_child == InChild::kUnmapped) madvise(memory, RoundToPages(bytes), MADV_DONTFORK);
  return memory;
}

void* MapMemory(std::size_t bytes, Need need, InChild in_child) {
  bytes = RoundToPages(bytes);
  if (!ChargeMemory(bytes, need, in_child)) return nullptr;
  void* memory = MapAddressSpace(bytes, in_child);
  if (memory == nullptr) ReturnMemory(bytes, need, in_child);
  return memory;
}

void UnmapMemory(void* memory, std::size_t bytes, Need need, InChild in_child) {
  if (memory == nullptr) return;
  bytes = RoundToPages(bytes);
  SystemSection section;
  ForgetOwn(memory);
  munmap(memory, bytes);
  ReturnMemory(bytes, need, in_child);
}

void* GrowMemory(void* memory, std::size_t old_bytes, std::size_t new_bytes, Need need) {
  if (memory == nullptr) return MapMemory(new_bytes, need);
  old_bytes = RoundToPages(old_bytes);
  new_bytes = RoundToPages(new_bytes);
  SystemSection section;
  if (!ChargeMemory(new_bytes - old_bytes, need)) return nullptr;
  void* moved = mremap(memory, old_bytes, new_bytes, MREMAP_MAYMOVE);
  if (moved != MAP_FAILED) {
    ForgetOwn(memory);
    RememberOwn(moved, new_bytes);
    return moved;
  }
  ReturnMemory(new_bytes - old_bytes, need);
  return nullptr;
}

void FutexWait(const std::atomic<std::uint32_t>* word, std::uint32_t expected,
               std::uint64_t timeout_ns) {
  timespec timeout{static_cast<time_t>(timeout_ns / 1'000'000'000u),
                   static_cast<long>(timeout_ns % 1'000'000'000u)};
  SystemSection section;
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, &timeout, nullptr, 0);
}

void FutexWake(const std::atomic<std::uint32_t>* word, int threads) {
  SystemSection section;
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, threads, nullptr, nullptr, 0);
}

namespace {

// Used where membarrier is forbidden. When a page in use loses a permission, the kernel interrupts
// every processor that runs a thread of this process, which acts as a barrier there. On aarch64 the
// kernel needs no interrupts for that, so there every LightBarrier is then a full one.
void InterruptAllThreads() {
  static std::atomic<char>* page = nullptr;
  LockGuard lock(g_process_locks.thread_barrier);
  if (page == nullptr)
    page = static_cast<std::atomic<char>*>(MapMemory(1, Need::kWriter, InChild::kKept));
  if (page == nullptr || mprotect(page, PageBytes(), PROT_READ | PROT_WRITE) != 0) return;
  page->store(1);  // so that the page is mapped and writable on this processor
  mprotect(page, PageBytes(), PROT_READ);
}

}  // namespace

std::atomic<bool> g_barriers_are_light{false};

void PrepareToSynchronise() {
  static std::atomic<bool> done{false};
  if (done.exchange(true, std::memory_order_relaxed)) return;
  SystemSection section;
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0)
    g_barriers_are_light.store(true, std::memory_order_relaxed);
}

void SynchroniseThreads() {
  PrepareToSynchronise();
  SystemSection section;
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0) {
    g_barriers_are_light.store(false, std::memory_order_relaxed);
    if constexpr (arch::kInterruptsOnProtect) InterruptAllThreads();
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

namespace {
// By the outermost CancellationOff of the thread.
thread_local constinit bool t_cancellation_is_off __attribute__((tls_model("initial-exec"))) =
    false;
}  // namespace

CancellationOff::CancellationOff() {
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_);
  if (before_ == PTHREAD_CANCEL_ENABLE) t_cancellation_is_off = true;
}
CancellationOff::~CancellationOff() {
  if (before_ == PTHREAD_CANCEL_ENABLE) RestoreCancellation();
}

void RestoreCancellation() {
  if (!t_cancellation_is_off) return;
  t_cancellation_is_off = false;
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, nullptr);
}

namespace {

thread_local constinit const SignalsOff* t_outermost __attribute__((tls_model("initial-exec"))) =
    nullptr;

}  // namespace

// The pointer is only ever changed while signals are off.
SignalsOff::SignalsOff() {
  if (t_outermost != nullptr) return;
  sigset_t set;
  sigfillset(&set);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT})
    sigdelset(&set, own);
  pthread_sigmask(SIG_BLOCK, &set, &before_);
  t_outermost = this;
}

SignalsOff::~SignalsOff() {
  if (t_outermost != this) return;
  t_outermost = nullptr;
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void SignalsOff::MaskOfProgram(sigset_t* mask) {
  if (t_outermost != nullptr)
    *mask = t_outermost->before_;
  else
    pthread_sigmask(SIG_SETMASK, nullptr, mask);
}

namespace {

bool FileSizeSignalIsPending() {
  sigset_t pending;
  return sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
}

sigset_t FileSizeSignal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGXFSZ);
  return set;
}

}  // namespace

FileSizeSignalOff::FileSizeSignalOff() {
  const sigset_t set = FileSizeSignal();
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &set, &before);
  was_blocked_ = sigismember(&before, SIGXFSZ) == 1;
  was_pending_ = FileSizeSignalIsPending();
}

// What our write raised waits for this thread: it is taken away. What waited before stays.
FileSizeSignalOff::~FileSizeSignalOff() {
  const SystemSection section;
  const sigset_t set = FileSizeSignal();
  const timespec now{};
  if (!was_pending_ && FileSizeSignalIsPending()) sigtimedwait(&set, nullptr, &now);
  if (!was_blocked_) pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

SystemSection::SystemSection() : errno_(errno) {}
SystemSection::~SystemSection() { errno = errno_; }

// The main thread stays in the list of threads until all others have ended.
bool MainThreadHasEnded(int* status) {
  SystemSection section;
  char path[64], text[1024];
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", static_cast<int>(getpid()));
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  if (length <= 0) return false;
  text[length] = '\0';
  const char* name_end = strrchr(text, ')');  // the name may contain any character
  if (name_end == nullptr || strncmp(name_end, ") Z", 3) != 0) return false;
  const char* field = name_end;  // the 52nd, counted from the name as the second
  for (int skip = 0; field != nullptr && skip < 50; ++skip) field = strchr(field + 1, ' ');
  *status = field == nullptr ? 0 : atoi(field);
  return true;
}

int LastThreadsLeft(int ours, int* status_of_main) {
  SystemSection section;
  struct stat tasks;
  // One link for each thread, one for the directory, one for its parent.
  if (stat("/proc/self/task", &tasks) != 0) return -1;
  const int left = static_cast<int>(tasks.st_nlink) - 2 - 1 - ours;
  return left <= 1 && MainThreadHasEnded(status_of_main) ? left : -1;
}

void EndLike(int status) {
  if (const int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0) {
    struct sigaction action {};
    action.sa_handler = SIG_DFL;
    sigaction(number, &action, nullptr);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
    syscall(SYS_tgkill, getpid(), CurrentTid(), number);
    status = (128 + number) << 8;  // no signal may be sent
  }
  for (;;) syscall(SYS_exit, WEXITSTATUS(status));
}

}  // namespace memprof::recorder
