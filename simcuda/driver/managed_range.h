// A range of addresses as pages of managed memory.
#ifndef SIMCUDA_DRIVER_MANAGED_RANGE_H
#define SIMCUDA_DRIVER_MANAGED_RANGE_H

#include <memory>

#include "simcuda/driver/allocation.h"
#include "simcuda/driver/managed.h"

namespace memprof::simcuda {

// The pages of managed memory that a range of addresses touches.
struct ManagedRange {
  std::shared_ptr<Allocation> allocation;
  size_t first = 0;
  size_t last = 0;  // the page after the last one
};

// CUDA_ERROR_INVALID_VALUE if the range is not managed memory of one allocation.
CUresult FindManagedRange(uint64_t address, uint64_t bytes, ManagedRange* range);

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_MANAGED_RANGE_H
