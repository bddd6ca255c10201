// A flag per thread on one side, a gate on the other, and membarrier between them.
#include "libmemprof/src/base/loader_gate.h"

namespace memprof::recorder {
namespace {

constexpr std::uint64_t kMaxCloseNs = 50'000'000;
// A fork of a large process takes long; a thread waits at most this time for it.
constexpr std::uint64_t kMaxEnterNs = 500'000'000;
constexpr std::uint64_t kPollNs = 100'000;

std::atomic<std::uint32_t> g_closed{0};
std::atomic<LoaderFlag*> g_flags{nullptr};

}  // namespace

void RegisterLoaderFlag(LoaderFlag* flag) {
  flag->next = g_flags.load(std::memory_order_relaxed);
  while (!g_flags.compare_exchange_weak(flag->next, flag, std::memory_order_release)) continue;
}

// A thread that has waited for the gate sets its flag again and checks again: the gate may have
// closed in between.
LoaderSection::LoaderSection(LoaderFlag* flag) : flag_(flag) {
  std::uint64_t deadline = 0;
  while (flag_ != nullptr) {
    flag_->inside.store(1, std::memory_order_relaxed);
    LightBarrier();  // beside SynchroniseThreads
    if (g_closed.load(std::memory_order_acquire) == 0) return;
    const std::uint64_t now = NowNs();
    if (deadline == 0) deadline = now + kMaxEnterNs;
    if (now >= deadline) return;
    flag_->inside.store(0, std::memory_order_release);
    FutexWait(&g_closed, 1, 10'000'000);
  }
}

void CloseLoaderGate() {
  SystemSection section;
  g_closed.store(1, std::memory_order_seq_cst);
  // Afterwards every thread has either seen g_closed, or its flag is visible here.
  SynchroniseThreads();
  const std::uint64_t deadline = NowNs() + kMaxCloseNs;
  for (LoaderFlag* flag = g_flags.load(std::memory_order_acquire); flag != nullptr;
       flag = flag->next) {
    while (flag->inside.load(std::memory_order_acquire) != 0 && NowNs() < deadline)
      FutexWait(&flag->inside, 1, kPollNs);  // no thread wakes it: a short sleep
  }
}

void OpenLoaderGate() {
  g_closed.store(0, std::memory_order_release);
  FutexWake(&g_closed, 1 << 20);
}

void ResetLoaderGate() {
  g_flags.store(nullptr, std::memory_order_relaxed);
  g_closed.store(0, std::memory_order_relaxed);
}

}  // namespace memprof::recorder
