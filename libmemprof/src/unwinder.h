// Takes the calling thread's native call stack.
//
// libunwind's unw_backtrace is several times faster than anything else that needs no frame
// pointers, but the library also exports the C++ exception unwinder under its standard names, so
// it is loaded privately (RTLD_LOCAL) and only once recording begins. Where it is missing, the
// compiler's own unwinder does.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof::recorder {

inline constexpr int kMaxStackDepth = 512;

// Loads an unwinder; false when there is none. Calls dlopen: not to be called with a lock held.
bool LoadUnwinder();

// Fills `frames` with return addresses, innermost first, without the frames of this library.
// `*truncated` tells that the stack was deeper than `depth`. Returns the number of frames.
// Thread-safe; takes no lock of ours.
int CaptureStack(void** frames, int depth, bool* truncated);

// For the writer thread, after libraries were unloaded: forgets what the unwinder remembers.
void ForgetUnloadedCode();

}  // namespace memprof::recorder
