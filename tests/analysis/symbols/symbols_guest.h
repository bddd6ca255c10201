// A library with known functions, lines and inlining, to symbolise.
#pragma once

namespace guest {

// The line in which each function calls the next, for comparison with DWARF.
struct Lines {
  int outer = 0, middle = 0, inlined = 0, innermost = 0;
};

// Outer calls Middle, into which Inlined is inlined, which calls Innermost. Addresses inside the
// call instructions in Innermost, Middle and Outer.
struct Capture {
  const void* address[3] = {};
};
Capture Outer();
extern const Lines kLines;

// 12 bytes into a variable, 8 into a local one, and the begin of a thread-local one.
struct Variables {
  const void *global, *local, *of_thread;
};
Variables VariablesHere();

}  // namespace guest
