// The SIMCUDA setting for the tests of one file.
#pragma once

#include <string>

namespace memprof::simcuda {

struct Configure {
  explicit Configure(std::string text, const char* file = __builtin_FILE());
};

}  // namespace memprof::simcuda

// At the head of a test file: its tests run with SIMCUDA set to `text`. The driver reads SIMCUDA
// once per process, so main() accepts only the tests of one such file in a run.
#define SIMCUDA_CONFIGURE(text) SIMCUDA_CONFIGURE_AS(__COUNTER__, text)
#define SIMCUDA_CONFIGURE_AS(number, text) SIMCUDA_CONFIGURE_NAMED(number, text)
#define SIMCUDA_CONFIGURE_NAMED(number, text) \
  const ::memprof::simcuda::Configure configure_##number(text)
