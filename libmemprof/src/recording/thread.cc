// A thread's place in the recorder, and guards that were left without their end.
#include "libmemprof/src/recording/thread.h"

#include "libmemprof/src/recording/control.h"
#include "libmemprof/src/recording/entry_guard.h"

namespace memprof::recorder {

thread_local constinit ThreadSlot t_thread_slot
    __attribute__((tls_model("initial-exec"))) = {0, nullptr, 0, 0, 0, nullptr};

// Stacks grow downwards: a frame lives no more when another function's begins at its place or above
// it. One that was left further down may have been written over; if it is whole it is believed.
// Only on the thread's own stack: a signal handler's, or a coroutine's, lies anywhere.
__attribute__((noinline, cold, no_sanitize("address"))) bool EntryGuard::Abandoned(
    const EntryGuard& here) {
  const ThreadSlot& slot = CurrentThread();
  if (!Recording()) return false;
  const EntryGuard* outermost = slot.outermost;
  const StackBounds bounds = slot.state != nullptr ? slot.state->stack_bounds : FindStackBounds();
  const auto address = [](const void* at) { return reinterpret_cast<std::uint64_t>(at); };
  if (!bounds.Contains(address(&here)) || !bounds.Contains(address(outermost))) return false;
  if (&here == outermost || outermost->slot_ != &slot || outermost->depth_ != 1) return true;
  return address(here.frame_) > address(outermost->frame_) ||
         (here.frame_ == outermost->frame_ && here.caller_ != outermost->caller_);
}

}  // namespace memprof::recorder
