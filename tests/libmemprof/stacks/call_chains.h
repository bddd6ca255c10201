// Chains of calls through every shape of frame that compilers make, for tests of unwinding.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <vector>

namespace memprof::recorder {

using Frames = std::vector<void*>;

// Plain, with many registers, big, of variable size, realigned, both, called back by the C library,
// by a function object, in a catch block.
inline constexpr int kShapeCount = 9;

// Calls `bottom` at the end of a chain of one frame a shape (and helpers between them). `seed`
// decides what the frames hold, and how large those of variable size are.
void RunChain(const std::vector<int>& shapes, std::uint64_t seed,
              const std::function<void()>& bottom);

// The stack of the caller by the compiler's own unwinder, innermost first. (Not backtrace(), which
// sanitizers replace.)
Frames UnwindByCompiler();

// Fewer than `most` shapes.
std::vector<int> RandomShapes(std::mt19937_64* random, int most);

}  // namespace memprof::recorder
