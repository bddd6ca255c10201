// The one way into the recorder: every call that comes from outside (an interposed function, the C
// API, NVTX, a capture source, PyTorch, the interpreter, handlers of thread end, fork and exit)
// holds an EntryGuard before it touches the state of a recording, and so does what may call such a
// function in turn.
//
// What holds while one lives:
//   - Depth. What is called from within finds `outermost` false and records nothing: CUDA calling
//     itself is not counted twice, and the recorder does not record itself.
//   - The program's own call (the real function of a hook) may run within it, and may leave it
//     without its end: by an exception, by longjmp, by the thread's cancellation. The next guard
//     of the thread notices, or the thread would be silent for good.
//   - It has no effect on errno and on cancellation by itself, because of the program's own call,
//     and because what is done for every event needs neither: it makes no system call, holds no
//     lock and changes nothing that another thread depends on. Whatever does more is within a
//     SystemSection or a LockGuard (base/), which see to both.
//   - Calls of ours into other people's code (driver, PyTorch, loader, interpreter) are made within
//     it, with no lock held, and C++ that may throw by CallForeign (loader/foreign_call.h).
//
// WorkGuard is for entries in which no call of the program's runs: errno is kept and cancellation
// is off from the beginning to the end.
#pragma once

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
    if (__builtin_expect(depth_ > 1, 0) && Abandoned(*this)) depth_ = 1;
    if (depth_ == 1) slot_->outermost = this;
    slot_->depth = depth_;
  }
  ~EntryGuard() { slot_->depth = static_cast<std::uint16_t>(depth_ - 1); }
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
  SystemSection section_;
  EntryGuard entry_;
};

}  // namespace memprof::recorder
