// How a thread's event reaches the ring.
#pragma once

#include "libmemprof/src/recording/control.h"
#include "libmemprof/src/recording/entry_guard.h"
#include "libmemprof/src/recording/recorder.h"
#include "libmemprof/src/recording/thread.h"

namespace memprof::recorder {

// The calling thread's state in the current recording; null when nothing is recorded.
inline ThreadState* BoundState(ThreadSlot* slot) {
  const std::uint64_t epoch = g_control.epoch.load(std::memory_order_acquire);
  if (epoch == 0) return nullptr;
  if (slot->epoch == epoch && slot->state != nullptr) return slot->state;
  return TheRecorder()->BindThread(slot);
}

// Publishes one event of the calling thread; the caller holds a EntryGuard and has filled in
// everything but time, which is set here where it is 0. False when it was not recorded.
bool RecordEvent(ThreadSlot* slot, ring::RingEvent* event, bool with_stack);

// One event in so many is timed for SelfAccounting.hook_time_ns; no multiple of what programs do in
// turn, as allocating and freeing.
inline constexpr std::uint32_t kTimedEvery = 61;

// RecordEvent in place, for those who are called most: what takes few calls leaves the processor's
// memory of returns to the program, whose stack may be deep.
__attribute__((always_inline)) inline bool RecordEventHere(ThreadSlot* slot, ring::RingEvent* event,
                                                           bool with_stack) {
  ThreadState* state = BoundState(slot);
  if (state == nullptr) return false;
  Recorder* recorder = TheRecorder();
  if (event->time_ns == 0) event->time_ns = NowNs();
  if (with_stack) event->stack = recorder->InternStack(state);
  const bool recorded = recorder->Append(state, *event);
  if (++state->ticks == kTimedEvery) {
    state->ticks = 0;
    recorder->ring()->header()->hook_time_ns.fetch_add((NowNs() - event->time_ns) * kTimedEvery,
                                                       std::memory_order_relaxed);
  }
  // In this order, also for the compiler; for the processor the exit handler sees to it.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (g_control.ending.load(std::memory_order_relaxed) != 0) recorder->Finish();
  return recorded;
}

}  // namespace memprof::recorder
