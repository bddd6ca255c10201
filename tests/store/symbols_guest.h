// A library with known functions, lines and inlining, to symbolise.
#pragma once

namespace guest {

// Where each function calls the next, for comparison with what DWARF says.
struct Lines {
  int outer = 0, middle = 0, inlined = 0, innermost = 0;
};

// Outer calls Middle, into which Inlined is inlined, which calls Innermost. Innermost stores
// addresses inside the call instructions of itself's caller, Middle's caller, … innermost first.
struct Capture {
  const void* address[8] = {};
  int count = 0;
};
Capture Outer();
extern const Lines kLines;

}  // namespace guest
