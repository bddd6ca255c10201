// The SIMCUDA setting for the tests of one file.
#pragma once

namespace memprof::simcuda {

// Defined as an object in a test file: the tests of that file run with SIMCUDA set to `text`, which
// must outlive them. The driver reads SIMCUDA once per process, so main() accepts only the tests of
// one such file in a run.
struct Configure {
  explicit Configure(const char* text, const char* file = __builtin_FILE());
};

}  // namespace memprof::simcuda
