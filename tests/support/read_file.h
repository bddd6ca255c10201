// Files for tests to compare.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <utility>

namespace memprof::testing {

// The bytes of a file, none if there is no such file. Not by iterators: those of streams go byte by byte, and of the ring
// of a log, in code that is not optimised, that takes seconds.
inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return std::move(bytes).str();
}

}  // namespace memprof::testing
