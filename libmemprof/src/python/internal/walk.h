// Reads the calling thread's Python frames out of the interpreter's memory, without the GIL and
// without changing anything.
//
// Only a thread itself pushes and pops its frames, and it is inside a hook: they hold still, and
// keep alive the code objects that they run. What is read is plain memory; a layout is checked
// (python_stacks.h) before this is used with it. Still, no pointer is followed that cannot be one,
// and the number of frames is bounded.
#pragma once

#include <cstdint>

#include "libmemprof/src/python/internal/layout.h"

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
  bool sound = true;         // false: something was no pointer where one must be
  std::uint64_t hash = 0;    // of all that the frames depend on
  Frame frames[kMaxFrames];  // innermost first
};

// `thread_state` is the calling thread's PyThreadState, not null. Cost: some 3 ns a frame.
void WalkPython(const PythonLayout& layout, std::uint64_t thread_state, PythonStack* stack);
// The same, where nothing is known to be as the layout says: memory that is not there makes the
// stack not sound. Some 100 times slower.
void WalkPythonChecked(const PythonLayout& layout, std::uint64_t thread_state, PythonStack* stack);

// Tells code objects and positions in them apart. A code object may be freed and another come to
// lie in its place: so it depends on what tells the two apart, not just on the address. From
// 3.12 on that is a number which no other has; before, names' and tables' addresses and lengths,
// and bytes of the table: all of them for code that is from no file.
std::uint64_t FingerprintOf(const PythonLayout& layout, std::uint64_t code,
                            std::uint64_t instruction);

// A user-space address at which an object may lie.
constexpr bool MayBeObject(std::uint64_t address) {
  return address - 4096 < (std::uint64_t{1} << 47) - 8192 && (address & 7) == 0;
}

}  // namespace memprof::recorder
