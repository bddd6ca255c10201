// The limits of a context, and the memory that some of them take from the device.
#ifndef SIMCUDA_DRIVER_CONTEXT_LIMITS_H
#define SIMCUDA_DRIVER_CONTEXT_LIMITS_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "simcuda/driver/cuda_headers.h"

namespace memprof::simcuda {

class DeviceMemory;

// Thread-safe. A context's own memory includes stacks and a heap of the default sizes. Larger
// stacks are taken for every thread that the multiprocessors hold at once, when the limit is set. A
// heap of another size is taken when the first module is loaded, since any may use it; from then on
// its size is fixed.
class ContextLimits {
 public:
  explicit ContextLimits(DeviceMemory* memory) : memory_(memory) {}

  CUresult Get(CUlimit limit, size_t* value);
  CUresult Set(CUlimit limit, size_t value);
  // Before a module is loaded; false if the device has too little memory for the heap.
  bool TakeHeap();
  // Gives all memory back.
  void Clear();

 private:
  size_t GetLocked(CUlimit limit) const;
  CUresult ResizeLocked(uint64_t* taken, uint64_t bytes);

  DeviceMemory* const memory_;
  std::mutex mutex_;
  std::map<CUlimit, size_t> set_;
  bool modules_loaded_ = false;
  uint64_t heap_ = 0;    // bytes taken
  uint64_t stacks_ = 0;  // beyond the default
};

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_CONTEXT_LIMITS_H
