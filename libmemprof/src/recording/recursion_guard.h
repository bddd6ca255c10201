// Keeps recorder code from recording itself, and tells the outermost call.
#pragma once

#include "libmemprof/src/recording/thread.h"

namespace memprof::recorder {

// The program's own calls run within it, and may leave it without its end: by an exception, by
// longjmp, by the thread's cancellation, after which its destructors run. The next guard notices
// (Abandoned), or the thread would be silent for good.
class RecursionGuard {
 public:
  __attribute__((always_inline)) RecursionGuard()
      : slot_(&CurrentThread()),
        frame_(FrameHere()),
        caller_(__builtin_return_address(0)),
        depth_(static_cast<std::uint16_t>(slot_->depth + 1)) {
    if (__builtin_expect(depth_ > 1, 0) && Abandoned(*this)) depth_ = 1;
    if (depth_ == 1) slot_->outermost = this;
    slot_->depth = depth_;
  }
  ~RecursionGuard() { slot_->depth = static_cast<std::uint16_t>(depth_ - 1); }
  RecursionGuard(const RecursionGuard&) = delete;
  RecursionGuard& operator=(const RecursionGuard&) = delete;
  bool outermost() const { return depth_ == 1; }
  ThreadSlot* slot() { return slot_; }

 private:
  // The end of the frame of the function that the guard is in, whatever was inlined there.
  __attribute__((always_inline)) static const void* FrameHere() {
#if defined(__clang__)
    return __builtin_frame_address(0);
#else
    return __builtin_dwarf_cfa();
#endif
  }
  // Whether the thread's outermost guard is no more, as seen from one that begins.
  static bool Abandoned(const RecursionGuard& here);

  ThreadSlot* slot_;
  const void* frame_;
  const void* caller_;
  std::uint16_t depth_;
};

}  // namespace memprof::recorder
