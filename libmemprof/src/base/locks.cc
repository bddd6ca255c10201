// Futexes, and a bit for each lock that the thread holds.
#include "libmemprof/src/base/locks.h"

#include <stdlib.h>
#include <sys/mman.h>

#include <new>

#include "libmemprof/src/arch/arch.h"

namespace memprof::recorder {
namespace {

static_assert(static_cast<int>(LockRank::kCount) <= 32);

thread_local constinit std::uint32_t t_held __attribute__((tls_model("initial-exec"))) = 0;
std::atomic<std::uint64_t> g_out_of_order{0};

__attribute__((noinline, cold)) void NoteOutOfOrder(int rank) {
  g_out_of_order.fetch_add(1, std::memory_order_relaxed);
#if defined(MEMPROF_ABORT_ON_LOCK_ORDER)
  Message("lock %d is taken while locks %x are held", rank, t_held);
  abort();
#else
  static_cast<void>(rank);
#endif
}

}  // namespace

ProcessLocks g_process_locks;

void ResetProcessLocks() { new (&g_process_locks) ProcessLocks; }

void KeepProcessLocksFromChildren() {
  madvise(&g_process_locks, sizeof g_process_locks, MADV_WIPEONFORK);
}

std::uint64_t LocksOutOfOrder() { return g_out_of_order.load(std::memory_order_relaxed); }

void BasicMutex::Lock(LockRank rank) {
  if (t_held >> static_cast<int>(rank) != 0) NoteOutOfOrder(static_cast<int>(rank));
  t_held |= 1u << static_cast<int>(rank);
  std::uint32_t seen = 0;
  if (word_.compare_exchange_strong(seen, 1, std::memory_order_acquire)) return;
  for (int spin = 0; spin < 100; ++spin) {
    seen = 0;
    if (word_.compare_exchange_weak(seen, 1, std::memory_order_acquire)) return;
    arch::SpinHint();
  }
  while (word_.exchange(2, std::memory_order_acquire) != 0) FutexWait(&word_, 2, 100'000'000);
}

void BasicMutex::Unlock(LockRank rank) {
  t_held &= ~(1u << static_cast<int>(rank));
  if (word_.exchange(0, std::memory_order_release) == 2) FutexWake(&word_, 1);
}

}  // namespace memprof::recorder
