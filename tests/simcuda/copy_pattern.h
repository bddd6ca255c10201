// Byte patterns that make copies distinguishable.
#pragma once

#include <random>
#include <vector>

#include "driver_fixture.h"

namespace memprof::simcuda {

using CopyTest = DriverTest;

inline std::vector<unsigned char> Pattern(size_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<unsigned char> pattern(bytes);
  for (unsigned char& byte : pattern) byte = static_cast<unsigned char>(random());
  return pattern;
}

}  // namespace memprof::simcuda
