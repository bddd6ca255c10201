// Clocks, memory, futexes and messages on Linux.
#include "libmemprof/src/sys.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

namespace memprof::recorder {
namespace {

std::uint64_t ReadClock(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

std::size_t RoundToPages(std::size_t bytes) { return (bytes + 4095) & ~std::size_t{4095}; }

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
  // Parts of it come from the environment: no second line, nothing that moves a terminal's cursor.
  for (char* at = text + kPrefix; at < text + kPrefix + length; ++at)
    if (static_cast<unsigned char>(*at) < ' ' || *at == 0x7f) *at = '?';
  text[kPrefix + length] = '\n';
  ErrnoKeeper keeper;
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, text, kPrefix + length + 1);
}

namespace {

// A slot is taken by its beginning; without locks, because a fork may come at any time.
struct OwnSlot {
  std::atomic<std::uintptr_t> begin, end;
};
OwnSlot g_own[kMostOwnRanges];
std::atomic<std::size_t> g_own_used{0};  // slots from here on were never taken
std::atomic<bool> g_own_overflow{false};

}  // namespace

void RememberOwn(void* memory, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  for (std::size_t i = 0; i < kMostOwnRanges; ++i) {
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
  ErrnoKeeper keeper;
  void* memory = mmap(nullptr, RoundToPages(bytes), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  RememberOwn(memory, bytes);
  if (in_child == InChild::kGone) madvise(memory, RoundToPages(bytes), MADV_DONTFORK);
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
  ErrnoKeeper keeper;
  ForgetOwn(memory);
  munmap(memory, bytes);
  ReturnMemory(bytes, need, in_child);
}

void* GrowMemory(void* memory, std::size_t old_bytes, std::size_t new_bytes, Need need) {
  if (memory == nullptr) return MapMemory(new_bytes, need);
  old_bytes = RoundToPages(old_bytes);
  new_bytes = RoundToPages(new_bytes);
  ErrnoKeeper keeper;
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
  ErrnoKeeper keeper;
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, &timeout, nullptr, 0);
}

void FutexWake(const std::atomic<std::uint32_t>* word, int threads) {
  ErrnoKeeper keeper;
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, threads, nullptr, nullptr, 0);
}

namespace {

// Where membarrier is forbidden: taking a right away from a page that is in use makes the kernel
// interrupt every processor that runs a thread of this process, which is a barrier there.
void InterruptAllThreads() {
  static Mutex mutex;
  static std::atomic<char>* page = nullptr;
  LockGuard lock(mutex);
  if (page == nullptr)
    page = static_cast<std::atomic<char>*>(MapMemory(4096, Need::kWriter, InChild::kKept));
  if (page == nullptr || mprotect(page, 4096, PROT_READ | PROT_WRITE) != 0) return;
  page->store(1);  // so that the page is there and writable for this processor
  mprotect(page, 4096, PROT_READ);
}

}  // namespace

void SynchroniseThreads() {
  static std::atomic<bool> registered{false};
  ErrnoKeeper keeper;
  if (!registered.exchange(true, std::memory_order_relaxed))
    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0) InterruptAllThreads();
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void Mutex::Lock() {
  std::uint32_t seen = 0;
  if (word_.compare_exchange_strong(seen, 1, std::memory_order_acquire)) return;
  for (int spin = 0; spin < 100; ++spin) {
    seen = 0;
    if (word_.compare_exchange_weak(seen, 1, std::memory_order_acquire)) return;
    __builtin_ia32_pause();
  }
  while (word_.exchange(2, std::memory_order_acquire) != 0) FutexWait(&word_, 2, 100'000'000);
}

void Mutex::Unlock() {
  if (word_.exchange(0, std::memory_order_release) == 2) FutexWake(&word_, 1);
}

ErrnoKeeper::ErrnoKeeper() : saved_(errno) {}
ErrnoKeeper::~ErrnoKeeper() { errno = saved_; }

}  // namespace memprof::recorder
