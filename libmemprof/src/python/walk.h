// Reads the calling thread's Python frames from the interpreter's memory, without the GIL and
// without changing anything.
//
// Only the thread itself pushes and pops its frames, and it is inside a hook: so they do not
// change, and they keep their code objects alive. All reads are from plain memory, with a layout
// that was checked (python/stacks.h). In addition, no value is followed that cannot be the address
// of an object, and the number of frames is bounded.
#pragma once

#include <cstdint>

#include "libmemprof/src/arch/arch.h"
#include "libmemprof/src/python_layout/layout.h"
#include "libmemprof/src/stacks/stack_walk.h"

namespace memprof::recorder {

struct PythonStack {
  static constexpr int kMaxFrames = 512;
  struct Frame {
    std::uint64_t code;         // the code object
    std::uint64_t instruction;  // address, or bytes from the first one in kObjects
    // An address within the C frame of the evaluation loop that runs it; 0 = not known.
    std::uint64_t loop;
  };
  int count = 0;
  bool cut = false;          // there were more
  bool sound = true;         // false: a pointer had a value that cannot be an address
  std::uint64_t hash = 0;    // of what the frames depend on, but see FingerprintOf
  Frame frames[kMaxFrames];  // innermost first
};

struct InterpreterCode {
  CodeRange evaluation;  // the function of the loops
  CodeRange all;         // empty where it is part of a program that may have its own there
};

// `thread_state` is the calling thread's PyThreadState, not null. Costs about 3 ns a frame.
void WalkPython(const PythonLayout& layout, std::uint64_t thread_state, PythonStack* stack);
// The same, if the layout was not checked yet: unmapped memory makes the stack not sound. About 100
// times slower.
void WalkPythonChecked(const PythonLayout& layout, std::uint64_t thread_state, PythonStack* stack);

// A hash of a code object and a position in it. A code object may be freed, and another allocated
// at its address; so the hash includes more than the address. From 3.12 on that is a number that no
// other code object has; before, the addresses and lengths of names and tables, and bytes of the
// table: all of them for code that is from no file.
std::uint64_t FingerprintOf(const PythonLayout& layout, std::uint64_t code,
                            std::uint64_t instruction);
// Of all frames. A stack's own hash leaves out the bytes of the tables of code that is from a file,
// which differ where a module was loaded again and all else is at the same addresses.
std::uint64_t FingerprintOf(const PythonLayout& layout, const PythonStack& stack);

// A user-space address at which an object may lie.
constexpr bool MayBeObject(std::uint64_t address) {
  return address - 4096 < (std::uint64_t{1} << arch::kAddressBits) - 8192 && (address & 7) == 0;
}

}  // namespace memprof::recorder
