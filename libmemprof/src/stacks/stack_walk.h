// Walks the calling thread's stack by cached frame rules, without system calls, locks or checks
// by the kernel: every read lies between the stack pointer at the start and the top of the stack
// that the thread was created with. A stack that is elsewhere (a coroutine, a signal's alternate
// stack) or that needs what FrameRule cannot say is refused; another unwinder may try it.
#pragma once

#include <cstdint>

#include "libmemprof/src/stacks/frame_rules.h"

namespace memprof::recorder {

// Of a function, at one of its instructions: what call-frame tables start from.
struct Registers {
  std::uint64_t pc;
  std::uint64_t sp;
  std::uint64_t bp;
};
// Of the function it stands in, which must be alive as long as they are used.
__attribute__((always_inline)) inline Registers CaptureRegisters() {
  Registers here;
  asm volatile(
      "leaq 0f(%%rip), %0\n\t"
      "movq %%rsp, %1\n\t"
      "movq %%rbp, %2\n"
      "0:"
      : "=&r"(here.pc), "=&r"(here.sp), "=r"(here.bp));
  return here;
}

// The memory of the calling thread's stack; empty when it is not known.
struct StackBounds {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool Contains(std::uint64_t sp) const { return sp >= low && sp < high; }
};
// Asks the C library, which may allocate for threads other than the main one.
StackBounds FindStackBounds();

// A word on the stack that decided where the walk went: while all of them, and the registers at
// the start, are the same, a walk would give the same frames.
struct StackWord {
  std::uint32_t offset;  // in bytes above the stack pointer at the start
  std::uint64_t value;
};

struct StackWalk {
  static constexpr int kMaxFrames = 600;
  static constexpr int kMaxWords = 2 * kMaxFrames;
  int frame_count = 0;
  int word_count = 0;
  bool uses_frame_pointer = false;  // rbp at the start mattered
  bool truncated = false;           // there were more frames than asked for
  void* frames[kMaxFrames];
  std::uint32_t offsets[kMaxFrames];  // of each frame's beginning above the start's stack pointer
  StackWord words[kMaxWords];
};

// Addresses of code, half open; empty by default.
struct CodeRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool Contains(std::uint64_t pc) const { return pc >= begin && pc < end; }
};

// Fills `walk` with at most `depth` return addresses, innermost first, beginning with `start.pc`
// but without the innermost ones that lie in `own`. False when this stack cannot be walked this
// way. Cost: 2 to 3 ns a frame.
bool WalkStack(FrameRules* rules, const StackBounds& bounds, const CodeRange& own,
               const Registers& start, int depth, StackWalk* walk);

}  // namespace memprof::recorder
