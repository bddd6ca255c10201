// Chains of calls with every shape of frame that compilers generate, for tests of unwinding.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <vector>

namespace memprof::recorder {

using Frames = std::vector<void*>;

// The shapes: plain, with many registers, big, of variable size, realigned, of variable size and
// realigned, called back by the C library, called by a function object, in a catch block.
inline constexpr int kShapeCount = 9;

// Calls `bottom` at the end of a chain with one frame for each shape (and helpers between them).
// `seed` determines the contents of the frames, and the size of those of variable size.
void RunChain(const std::vector<int>& shapes, std::uint64_t seed,
              const std::function<void()>& bottom);

// The stack of the caller by the compiler's own unwinder, innermost first. (Not backtrace(), which
// sanitizers replace.)
Frames UnwindByCompiler();

// Random shapes, fewer than `most`.
std::vector<int> RandomShapes(std::mt19937_64* random, int most);

}  // namespace memprof::recorder
