// The most memory that this process ever had resident.
#pragma once

#include <cstdio>

namespace memprof::benchmarks {

// In bytes, since it was executed: getrusage() begins with what the process had before.
inline long PeakBytes() {
  long kib = 0;
  char line[256];
  std::FILE* status = std::fopen("/proc/self/status", "r");
  while (status != nullptr && std::fgets(line, sizeof line, status) != nullptr)
    std::sscanf(line, "VmHWM: %ld", &kib);
  if (status != nullptr) std::fclose(status);
  return kib * 1024;
}

}  // namespace memprof::benchmarks
