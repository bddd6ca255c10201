// Counts the words of host memory that point to given ranges of device memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof::recorder {

struct ScanTarget {
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint32_t references;
  std::uint16_t device_plus_1;
  std::uint8_t layer;
  std::uint8_t is_probe;
};

struct ScanResult {
  std::uint64_t bytes;  // of host memory read
  bool complete;        // whether all memory was read; else no conclusion is possible
};

// Counts the words that point into each of `targets`, which are sorted by address and do not
// overlap. Gives up at `deadline_ns` (NowNs).
ScanResult CountReferences(ScanTarget* targets, std::size_t count, std::uint64_t deadline_ns);

}  // namespace memprof::recorder
