// Where the pages of a device's allocations lie: in the order in which NVIDIA's driver on Linux
// gives addresses.
#ifndef SIMCUDA_DRIVER_ADDRESS_SPACE_H
#define SIMCUDA_DRIVER_ADDRESS_SPACE_H

#include <cstdint>
#include <map>

#include "simcuda/driver/range_allocator.h"

namespace memprof::simcuda {

// The order matters: PyTorch takes the lowest of equally large blocks, so it decides which segments
// a few small blocks keep alive, and with that how much stays reserved. The rules are what the
// addresses in public recordings have in common (docs/fit.md, "Recordings"): a request goes to the
// lowest hole that is large enough, in ranges that are in use already; else to a new range, of a
// multiple of 32 MiB, below the others. A range without allocations is given back.
//
// Not thread-safe. Addresses and sizes in bytes, of one granularity.
class AddressSpace {
 public:
  static constexpr uint64_t kRangeBytes = uint64_t{32} << 20;

  // Adds free addresses.
  void Add(uint64_t address, uint64_t bytes) { gaps_.Add(address, bytes); }
  // Adds them as one range that is in use: it is filled upwards, as recordings of Windows and of
  // its subsystem for Linux show it.
  void AddUpward(uint64_t address, uint64_t bytes) { holes_.Add(address, bytes); }
  // False if there is no room. If no whole multiple of 32 MiB is left, a range is as small as the
  // request.
  bool Take(uint64_t bytes, uint64_t* address);
  // Frees what Take gave.
  void Free(uint64_t address, uint64_t bytes);

 private:
  bool TakeRange(uint64_t bytes, uint64_t* address);

  RangeAllocator gaps_;                // between the ranges
  RangeAllocator holes_;               // free within ranges, which are not merged with each other
  std::map<uint64_t, uint64_t> used_;  // ranges: address -> bytes
};

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_ADDRESS_SPACE_H
