// Records an event of a thread in the ring.
#pragma once

#include "libmemprof/src/recording/control.h"
#include "libmemprof/src/recording/entry_guard.h"
#include "libmemprof/src/recording/recorder.h"
#include "libmemprof/src/recording/thread.h"

namespace memprof::recorder {

// For a thread that is not bound to the current recording yet.
ThreadState* BindHere(ThreadSlot* slot);

// The calling thread's state in the current recording; null when nothing is recorded. The recording
// is not taken down before the caller's guard has ended (thread_states.h).
inline ThreadState* BoundState(ThreadSlot* slot) {
  const std::uint64_t epoch = g_control.epoch.load(std::memory_order_acquire);
  if (epoch == 0) return nullptr;
  if (slot->epoch == epoch && slot->state != nullptr) return slot->state;
  return BindHere(slot);
}

// Publishes one event of the calling thread. The caller holds an EntryGuard and has set all fields
// but the time, which is set here where it is 0. False when it was not recorded.
bool RecordEvent(ThreadSlot* slot, ring::RingEvent* event, bool with_stack);

// One event in so many is timed for SelfAccounting.hook_time_ns. A prime, so that it does not
// always hit the same call of a program that allocates and frees in a pattern.
inline constexpr std::uint32_t kTimedEvery = 61;

// RecordEvent, inlined for the functions that are called most: fewer nested calls leave the
// processor's return-address predictor to the program, whose stack may be deep.
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
  LightBarrier();  // beside SynchroniseThreads of the exit handler
  if (g_control.ending.load(std::memory_order_relaxed) != 0) recorder->Finish();
  return recorded;
}

}  // namespace memprof::recorder
