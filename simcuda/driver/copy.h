// Copies and fills of every shape, as work for a stream.
#ifndef SIMCUDA_DRIVER_COPY_H
#define SIMCUDA_DRIVER_COPY_H

#include <cstdint>
#include <functional>
#include <memory>

#include "simcuda/driver/cuda_headers.h"

namespace memprof::simcuda {

class Array;

// One side of a copy: rows of memory.
struct CopySide {
  uint8_t* base = nullptr;
  uint64_t row_bytes = 0;        // from one row to the next
  uint64_t slice_bytes = 0;      // from one slice to the next
  bool pageable = false;         // plain host memory
  std::shared_ptr<Array> array;  // kept alive until the copy ran
};

// width bytes x height rows x depth slices.
struct CopyShape {
  uint64_t width = 0;
  uint64_t height = 1;
  uint64_t depth = 1;
};

enum class CopyWhen { kSynchronous, kAsynchronous };

// Checks that the device memory of a side is within allocations. Positions in arrays are checked
// when the side is made.
bool CheckSide(const CopySide& side, const CopyShape& shape);
// The copy as a piece of work.
std::function<void()> CopyWork(const CopySide& destination, const CopySide& source,
                               const CopyShape& shape);
// Runs or enqueues a copy; pageable memory is read or written before the call returns.
CUresult EnqueueCopy(const CopySide& destination, const CopySide& source, const CopyShape& shape,
                     CopyWhen when, CUstream stream);

// Describes memory by its address; the first function is for device or managed pointers, the last
// for any pointer.
CUresult DeviceSide(CUdeviceptr address, uint64_t bytes, CopySide* side);
CopySide HostSide(const void* address);
CUresult UnifiedSide(CUdeviceptr address, uint64_t bytes, CopySide* side);

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_COPY_H
