// A list that only grows; a state without a slot is free, and in a second list.
#include "libmemprof/src/recording/thread_states.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>

#include "libmemprof/src/base/checked_memory.h"
#include "libmemprof/src/base/locks.h"
#include "libmemprof/src/base/sys.h"
#include "libmemprof/src/python/stacks.h"

namespace memprof::recorder {
namespace {

// The stack that hooks may use beyond the program's own use; counted as the recorder's memory.
constexpr std::size_t kStackOfHooks = 16384;

ThreadState* g_states = nullptr;  // g_process_locks.threads
ThreadState* g_free = nullptr;    // the same
std::atomic<bool> g_refused{false};
std::atomic<std::uint32_t> g_visits{0};

// The memo charges its own memory as it grows, and is not copied to children; the rest of the state
// is.
ThreadState* NewThreadState() {
  const std::size_t charged = offsetof(ThreadState, memo) + PageBytes() + kStackOfHooks;
  if (!ChargeMemory(charged, Need::kThread, InChild::kKept)) return nullptr;
  void* memory = MapAddressSpace(sizeof(ThreadState), InChild::kKept);
  if (memory == nullptr) ReturnMemory(charged, Need::kThread, InChild::kKept);
  return static_cast<ThreadState*>(memory);
}

ThreadState* Reuse(ThreadSlot* slot) {
  LockGuard lock(g_process_locks.threads);
  ThreadState* state = slot->state;
  if (state != nullptr && state->slot == slot) return state;
  state = g_free;
  if (state == nullptr) return nullptr;
  g_free = state->next_free;
  state->slot = slot;
  return state;
}

// What depends on the ids, the slabs or the rules of one recording.
void Forget(ThreadState* state) {
  state->memo.Release();
  if (state->python != nullptr)
    UnmapMemory(state->python, sizeof(PythonThread), Need::kThread, InChild::kKept);
  state->python = nullptr;
  state->slab = nullptr;
  state->used = state->room = 0;
  memset(static_cast<void*>(&state->stacks), 0, sizeof state->stacks);
  memset(static_cast<void*>(&state->names), 0, sizeof state->names);
  memset(static_cast<void*>(&state->tensors), 0, sizeof state->tensors);
  state->epoch = 0;
}

// A thread that ended by the bare system call has left its slot in the list. That memory may be
// unmapped at any moment, or be used by others: the system reads it, and tells who still lives.
bool IsInside(const ThreadState& state) {
  SystemSection section;
  if (syscall(SYS_tgkill, getpid(), state.tid, 0) != 0 && errno == ESRCH) return false;
  std::uint16_t depth = 0;
  const iovec here{&depth, sizeof depth}, there{&state.slot->depth, sizeof depth};
  if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) < 0 && errno != EFAULT)
    ReadChecked(reinterpret_cast<std::uint64_t>(&state.slot->depth), &depth);  // it is forbidden
  std::atomic_thread_fence(std::memory_order_acquire);
  return depth != 0;
}

}  // namespace

ThreadState* TakeThreadState(ThreadSlot* slot, std::uint64_t epoch) {
  if (slot->state == nullptr && g_refused.load(std::memory_order_relaxed)) return nullptr;
  ThreadState* state = Reuse(slot);
  if (state == nullptr) {
    state = NewThreadState();
    if (state == nullptr) g_refused.store(true, std::memory_order_relaxed);
    if (state == nullptr) return nullptr;
    state->slot = slot;
    LockGuard lock(g_process_locks.threads);
    state->next = g_states;
    g_states = state;
  }
  if (state->epoch != 0 && state->epoch != epoch) Forget(state);
  state->epoch = epoch;
  return state;
}

void ReturnThreadState(ThreadState* state) {
  LockGuard lock(g_process_locks.threads);
  if (state->slot == nullptr) return;
  state->slot = nullptr;
  state->next_free = g_free;
  g_free = state;
  g_refused.store(false, std::memory_order_relaxed);
}

Visit::Visit() { g_visits.fetch_add(1); }
Visit::~Visit() { g_visits.fetch_sub(1); }

// Visits first: who has bound a thread meanwhile is in the list.
bool ThreadsAreInside() {
  if (g_visits.load() != 0) return true;
  const ThreadSlot* const here = &CurrentThread();
  LockGuard lock(g_process_locks.threads);
  for (const ThreadState* state = g_states; state != nullptr; state = state->next)
    if (state->slot != nullptr && state->slot != here && IsInside(*state)) return true;
  return false;
}

void ForgetRecording() {
  LockGuard lock(g_process_locks.threads);
  for (ThreadState* state = g_states; state != nullptr; state = state->next) Forget(state);
  g_refused.store(false, std::memory_order_relaxed);
}

void ForgetParentsThreads() {
  g_states = g_free = nullptr;
  g_refused.store(false);
  g_visits.store(0);
}

}  // namespace memprof::recorder
