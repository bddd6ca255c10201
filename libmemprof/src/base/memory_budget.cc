// Counters and thresholds.
#include "libmemprof/src/base/memory_budget.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>

#include "libmemprof/src/arch/arch.h"
#include "libmemprof/src/base/sys.h"

namespace memprof::recorder {
namespace {

constexpr std::uint64_t kMib = std::uint64_t{1} << 20;
// Data of the library, the writer's stack, and what libunwind and the CUPTI source allocate.
constexpr std::uint64_t kUncounted = 8 * kMib;
// The chunks of a commit, raw and compressed, and the columns of one chunk. The largest that was
// measured is half of this.
constexpr std::uint64_t kMinForWriter = 6 * kMib;
constexpr std::uint64_t kMaxForWriter = 16 * kMib;
constexpr std::uint64_t kMaxForMemos = 26 * kMib;

// Of this recording. A page of its own, which the kernel clears in forked children.
struct alignas(arch::kMaxPageBytes) Account {
  std::atomic<std::uint64_t> charged;
  std::atomic<std::uint64_t> memos;  // part of `charged`
  std::atomic<std::uint64_t> refused;
};
Account g_account;
std::atomic<std::uint64_t> g_kept{0};  // charged, and copied to children

struct Limits {
  std::atomic<std::uint64_t> writer;
  std::atomic<std::uint64_t> thread;
  std::atomic<std::uint64_t> table;
  std::atomic<std::uint64_t> memos;
};
// Until a recording begins; and in the library of the CUPTI source, which has its own account.
Limits g_limits{6 * kMib, 6 * kMib, 6 * kMib, 2 * kMib};

std::uint64_t LimitFor(Need need) {
  switch (need) {
    case Need::kWriter:
      return g_limits.writer.load(std::memory_order_relaxed);
    case Need::kThread:
      return g_limits.thread.load(std::memory_order_relaxed);
    case Need::kTable:
    case Need::kMemo:
      break;
  }
  return g_limits.table.load(std::memory_order_relaxed);
}

// Adds unless the sum would pass `limit`; `beside` counts towards it.
bool AddBelow(std::atomic<std::uint64_t>* sum, std::uint64_t add, std::uint64_t beside,
              std::uint64_t limit) {
  std::uint64_t now = sum->load(std::memory_order_relaxed);
  do {
    if (add > limit || now + beside > limit - add) return false;
  } while (!sum->compare_exchange_weak(now, now + add, std::memory_order_relaxed));
  return true;
}

// Stops at 0: a forked child may release what its parent had charged.
void Subtract(std::atomic<std::uint64_t>* sum, std::uint64_t bytes) {
  std::uint64_t now = sum->load(std::memory_order_relaxed);
  while (!sum->compare_exchange_weak(now, now - std::min(now, bytes), std::memory_order_relaxed))
    continue;
}

}  // namespace

std::uint64_t RingShare(std::uint64_t memory_bytes) { return memory_bytes * 3 / 8; }

void SetMemoryLimit(std::uint64_t memory_bytes, std::uint64_t ring_bytes) {
  SystemSection section;
  madvise(&g_account, sizeof g_account, MADV_WIPEONFORK);
  const std::uint64_t taken = ring_bytes + kUncounted;
  const std::uint64_t all = memory_bytes > taken ? memory_bytes - taken : 0;
  const std::uint64_t for_writer = std::clamp(all / 8, kMinForWriter, kMaxForWriter);
  const std::uint64_t threads = all > for_writer ? all - for_writer : 0;
  g_limits.writer.store(all, std::memory_order_relaxed);
  g_limits.thread.store(threads, std::memory_order_relaxed);
  g_limits.table.store(threads - threads / 6, std::memory_order_relaxed);
  g_limits.memos.store(std::min(threads / 6, kMaxForMemos), std::memory_order_relaxed);
}

bool ChargeMemory(std::uint64_t bytes, Need need, InChild in_child) {
  const bool memo = need == Need::kMemo;
  if (memo && !AddBelow(&g_account.memos, bytes, 0, g_limits.memos.load(std::memory_order_relaxed)))
    return false;
  auto& mine = in_child == InChild::kKept ? g_kept : g_account.charged;
  auto& other = in_child == InChild::kKept ? g_account.charged : g_kept;
  if (AddBelow(&mine, bytes, other.load(std::memory_order_relaxed), LimitFor(need))) return true;
  if (memo)
    Subtract(&g_account.memos, bytes);
  else
    g_account.refused.fetch_add(1, std::memory_order_relaxed);
  return false;
}

void ReturnMemory(std::uint64_t bytes, Need need, InChild in_child) {
  Subtract(in_child == InChild::kKept ? &g_kept : &g_account.charged, bytes);
  if (need == Need::kMemo) Subtract(&g_account.memos, bytes);
}

std::uint64_t ChargedMemory() {
  return g_account.charged.load(std::memory_order_relaxed) + g_kept.load(std::memory_order_relaxed);
}

std::uint64_t RefusedRequests() { return g_account.refused.load(std::memory_order_relaxed); }

void ForgetParentsMemory() {
  g_account.charged.store(0, std::memory_order_relaxed);
  g_account.memos.store(0, std::memory_order_relaxed);
  g_account.refused.store(0, std::memory_order_relaxed);
}

}  // namespace memprof::recorder
