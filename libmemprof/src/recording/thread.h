// The recorder's state of each thread.
#pragma once

#include <cstdint>

#include "libmemprof/src/base/loader_gate.h"
#include "libmemprof/src/driver/state.h"
#include "libmemprof/src/log/id_cache.h"
#include "libmemprof/src/log/ring_buffer.h"
#include "libmemprof/src/recording/chosen_pools.h"
#include "libmemprof/src/stacks/stack_memo.h"
#include "libmemprof/src/stacks/stack_table.h"

namespace memprof::recorder {

struct PythonThread;

// The stream of PyTorch that a thread used last (torch/internal/stream.cc).
struct LastTorchStream {
  std::uint64_t id_and_device;  // 0 = none
  std::uint64_t handle;
};

struct ThreadSlot;

// The state of a thread between events.
struct ThreadState {
  std::uint64_t epoch;  // of the recording whose ids and slab it has
  ThreadSlot* slot;     // of its thread; null while it has none
  ThreadState* next;    // of all states (thread_states.h)
  ThreadState* next_free;
  ring::SlabHeader* slab;
  std::uint32_t used;       // events in `slab`
  std::uint32_t room;       // events that fit into `slab`; 0 without a slab
  std::uint32_t thread_id;  // log.Thread.id
  std::uint32_t tid;
  std::uint32_t ticks;  // events so far, for sampling the recorder's own time
  ContextCache context;
  PythonThread* python;  // null until it is needed, or without memory for it
  ChosenPools chosen_pools;
  LastTorchStream torch_stream;
  LoaderFlag loader;
  bool loader_registered;
  StackCache stacks;
  StackBounds stack_bounds;
  StackWalk walk;
  IdCache names;
  IdCache tensors;
  StackMemo memo;  // last: most of it is never touched
};

// In initial-exec thread-local storage: no call, no allocation, and no destructor that could run
// too early.
struct ThreadSlot {
  std::uint64_t epoch;  // of the recording that `state` belongs to
  ThreadState* state;
  std::uint16_t depth;        // of nested recorder code
  std::int16_t cancel_state;  // of the thread, while it forks
  std::uint32_t thread_id;
  const class EntryGuard* outermost;  // while depth is not 0
};
extern thread_local constinit ThreadSlot t_thread_slot __attribute__((tls_model("initial-exec")));
inline ThreadSlot& CurrentThread() { return t_thread_slot; }

// For the loader's lists, if the calling thread is already bound.
inline LoaderFlag* LoaderFlagHere() {
  ThreadState* state = CurrentThread().state;
  return state == nullptr ? nullptr : &state->loader;
}

}  // namespace memprof::recorder
