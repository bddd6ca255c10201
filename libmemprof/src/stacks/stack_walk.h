// Walks the calling thread's stack by cached frame rules, without system calls, locks or checks by
// the kernel: every read lies between the stack pointer at the start and the top of the stack that
// the thread was created with. A stack elsewhere (a coroutine's, a signal's alternate stack), or
// one that needs more than FrameRule can express, is refused; another unwinder may walk it.
#pragma once

#include <cstdint>

#include "libmemprof/src/arch/arch.h"
#include "libmemprof/src/stacks/frame_rules.h"

namespace memprof::recorder {

// Where a walk starts.
using arch::CaptureRegisters;
using arch::Registers;

// Bounds of the calling thread's stack; empty when they are not known.
struct StackBounds {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool Contains(std::uint64_t sp) const { return sp >= low && sp < high; }
};
// Calls the C library, which may allocate memory for threads other than the main one.
StackBounds FindStackBounds();

// A word on the stack that the walk depended on: while all of these words, and the registers at the
// start, are the same, a walk gives the same frames.
struct StackWord {
  std::uint32_t offset;  // in bytes above the stack pointer at the start
  std::uint64_t value;
};

struct StackWalk {
  static constexpr int kMaxFrames = 600;
  static constexpr int kMaxWords = 2 * kMaxFrames;
  int frame_count = 0;
  int word_count = 0;
  bool uses_frame_pointer = false;  // the frame pointer at the start mattered
  bool truncated = false;           // there were more frames than requested
  void* frames[kMaxFrames];
  std::uint32_t offsets[kMaxFrames];  // of each frame's beginning above the start's stack pointer
  StackWord words[kMaxWords];
};

// A half-open range of code addresses; empty by default.
struct CodeRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool Contains(std::uint64_t pc) const { return pc >= begin && pc < end; }
};

// Writes at most `depth` return addresses to `walk`, innermost first, beginning with `start.pc`,
// but without the innermost ones that lie in `own`. False when this stack cannot be walked this
// way. Costs 2 to 3 ns a frame.
bool WalkStack(FrameRules* rules, const StackBounds& bounds, const CodeRange& own,
               const Registers& start, int depth, StackWalk* walk);

}  // namespace memprof::recorder
