// The recorder's state of a thread, and guards that were left without their destructor.
#include "libmemprof/src/recording/thread.h"

#include "libmemprof/src/recording/control.h"
#include "libmemprof/src/recording/entry_guard.h"

namespace memprof::recorder {

thread_local constinit ThreadSlot t_thread_slot
    __attribute__((tls_model("initial-exec"))) = {0, nullptr, 0, 0, 0, nullptr};

// Stacks grow downwards: a frame no longer exists when another function's frame begins at its place
// or above it. A guard further down may have been overwritten; it counts as alive if its content is
// intact. Only on the thread's own stack: the stack of a signal handler or a coroutine may lie
// anywhere.
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
