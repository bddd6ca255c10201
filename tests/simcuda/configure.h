// What the stand-in is like in the tests of a file.
#pragma once

namespace memprof::simcuda {

// As an object of a test's file: its tests run with SIMCUDA set to `text`, which must stay. The
// driver reads it once in a process, so main() wants the tests of one such file at a time.
struct Configure {
  explicit Configure(const char* text, const char* file = __builtin_FILE());
};

}  // namespace memprof::simcuda
