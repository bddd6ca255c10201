// The figures of an allocator, per device. All figures are bytes or numbers of live objects.
#ifndef DEMO_TRAINER_ALLOCATOR_STATS_H_
#define DEMO_TRAINER_ALLOCATOR_STATS_H_

#include <algorithm>
#include <cstdint>
#include <string>

namespace memprof::demo {

// A figure with its largest value so far.
struct Gauge {
  uint64_t current = 0;
  uint64_t peak = 0;

  void Add(uint64_t amount) {
    current += amount;
    peak = std::max(peak, current);
  }
  void Subtract(uint64_t amount) { current -= amount; }
};

struct AllocatorStats {
  Gauge allocated;  // bytes of live blocks, as rounded
  Gauge requested;  // bytes of live blocks, as requested
  Gauge reserved;   // bytes of segments taken from the driver
  Gauge blocks;     // number of live blocks
  Gauge segments;
  uint64_t allocations = 0;  // successful calls so far
  uint64_t frees = 0;
  uint64_t retries = 0;  // allocations that had to release cached segments first
  uint64_t ooms = 0;
};

// One line of key=value pairs, e.g. "allocated=… peak_allocated=… reserved=…".
std::string FormatStats(const AllocatorStats& stats);

// "1.50 GiB", "20.00 MiB", "512 bytes": the form of an out-of-memory message.
std::string FormatBytes(uint64_t bytes);

}  // namespace memprof::demo

#endif  // DEMO_TRAINER_ALLOCATOR_STATS_H_
