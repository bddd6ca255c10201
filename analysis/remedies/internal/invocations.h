// Calls of modules' forward() in a forward pass, from the lines of Python on the stacks of what
// they allocate. Nothing marks where a call ends and the next one begins: a call has ended when the
// next allocation is made elsewhere, or when the function is back at its first line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/remedies/internal/finders.h"

namespace memprof::analysis::remedies {

struct Invocation {
  std::uint32_t function = 0;         // row of names
  std::uint32_t pass = 0;             // of the training
  std::size_t first = 0, last = 0;    // of the training's blocks
  std::vector<std::uint32_t> blocks;  // of the training's, in order: made during the call
};

struct Invocations {
  std::vector<std::string> names;  // "Bottleneck.forward", with its file: see Input
  std::vector<Invocation> list;    // in order of their first blocks
};

// Of functions called "forward" in the forward passes of `input`; O(blocks · depth).
Invocations FindInvocations(const Input& input);

}  // namespace memprof::analysis::remedies
