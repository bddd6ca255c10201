// The only entry to the recorder: every call from outside (an interposed function, the C API, NVTX,
// a capture source, PyTorch, the interpreter, handlers of thread end, fork and exit) holds an
// EntryGuard before it uses the state of a recording, and so does code that may call such a
// function.
//
// While a guard lives:
//   - Depth. Nested calls find `outermost` false and record nothing: calls of CUDA within CUDA are
//     not counted twice, and the recorder does not record itself.
//   - The program's own call (the real function of a hook) may run within the guard, and may leave
//   it
//     without its destructor: by an exception, by longjmp, by cancellation of the thread. The next
//     guard of the thread detects that; otherwise the thread would never record again.
//   - The guard itself has no effect on errno and cancellation, because of the program's own call,
//     and because the work for every event needs neither: it makes no system call, holds no lock
//     and changes nothing that another thread depends on. Code that does more is within a
//     SystemSection or a LockGuard (base/), which handle both.
//   - Calls of the recorder to other people's code (driver, PyTorch, loader, interpreter) are made
//     within a guard, with no lock held; C++ that may throw is called by CallForeign
//     (loader/foreign_call.h).
//
// WorkGuard is for entries in which no call of the program runs: it keeps errno, and cancellation
// is off while it lives.
#pragma once

#include <atomic>

#include "libmemprof/src/base/sys.h"
#include "libmemprof/src/recording/thread.h"

namespace memprof::recorder {

class EntryGuard {
 public:
  __attribute__((always_inline)) EntryGuard()
      : slot_(&CurrentThread()),
        frame_(FrameHere()),
        caller_(__builtin_return_address(0)),
        depth_(static_cast<std::uint16_t>(slot_->depth + 1)) {
    if (__builtin_expect(depth_ > 1, 0) && Abandoned(*this)) {
      depth_ = 1;
      RestoreCancellation();
    }
    if (depth_ == 1) slot_->outermost = this;
    // ThreadsAreInside reads it: where it is 0, all that the thread did within has been done.
    __atomic_store_n(&slot_->depth, depth_, __ATOMIC_RELAXED);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~EntryGuard() {
    const std::uint16_t depth = static_cast<std::uint16_t>(depth_ - 1);
    __atomic_store_n(&slot_->depth, depth, __ATOMIC_RELEASE);
  }
  EntryGuard(const EntryGuard&) = delete;
  EntryGuard& operator=(const EntryGuard&) = delete;
  bool outermost() const { return depth_ == 1; }
  ThreadSlot* slot() { return slot_; }

 private:
  // The end of the stack frame in which the guard lies, also if the function that holds the guard
  // was inlined into another one.
  __attribute__((always_inline)) static const void* FrameHere() {
#if defined(__clang__)
    return __builtin_frame_address(0);
#else
    return __builtin_dwarf_cfa();
#endif
  }
  // Whether the thread's outermost guard no longer exists, judged from a new one.
  static bool Abandoned(const EntryGuard& here);

  ThreadSlot* slot_;
  const void* frame_;
  const void* caller_;
  std::uint16_t depth_;
};

class WorkGuard {
 public:
  __attribute__((always_inline)) WorkGuard() {}
  bool outermost() const { return entry_.outermost(); }
  ThreadSlot* slot() { return entry_.slot(); }

 private:
  EntryGuard entry_;  // may restore what a jump out of an earlier one left behind
  SystemSection section_;
};

}  // namespace memprof::recorder
