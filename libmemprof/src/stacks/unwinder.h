// Takes the calling thread's native call stack, in one of three ways:
//
// 1. StackMemo: the stack is one that this thread took before; nothing is walked.
// 2. WalkStack: our own walk by cached frame rules, on the stacks that threads are created with.
// 3. CaptureStack, for what these refuse (coroutines, signal stacks, rare frame tables):
//    libunwind's unw_backtrace. That library also exports the C++ exception unwinder under its
//    standard names, so it is loaded privately (RTLD_LOCAL) and only once recording begins. Where
//    it is missing, the compiler's own unwinder does.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libmemprof/src/stacks/stack_walk.h"

namespace memprof::recorder {

inline constexpr int kMaxStackDepth = 512;

// Loads an unwinder; false when there is none. Calls dlopen: must not be called with a lock held.
bool LoadUnwinder();

// One for the process; null before LoadUnwinder, and when there is no memory for it.
FrameRules* TheFrameRules();
// The code of this library; empty when it is part of the executable (unit tests), where all frames
// count.
CodeRange OwnCode();

// Writes return addresses to `frames`, innermost first, without the frames of this library. Sets
// `*truncated` when the stack was deeper than `depth`. Returns the number of frames. Thread-safe;
// takes no lock of ours.
int CaptureStack(void** frames, int depth, bool* truncated);

// After libraries were unloaded, on the writer thread: clears the unwinder's caches.
void ForgetUnloadedCode();

}  // namespace memprof::recorder
