// Allocates device memory for tensors: the interface of the three allocators.
#ifndef DEMO_TRAINER_ALLOCATOR_ALLOCATOR_H_
#define DEMO_TRAINER_ALLOCATOR_ALLOCATOR_H_

#include <cstddef>
#include <string>

#include "demo_trainer/allocator/stats.h"

namespace memprof::demo {

// A CUDA stream for allocators: an opaque handle, null for the default stream.
using StreamHandle = void*;

// One device's allocator. Used by one thread.
class Allocator {
 public:
  virtual ~Allocator() = default;

  // At least `bytes` bytes for use on `stream`; null for 0 bytes. Throws OutOfMemory with a line
  // that has the bytes requested, reserved and free.
  virtual void* Allocate(size_t bytes, StreamHandle stream) = 0;

  // Frees memory, in the order of the stream that it was allocated for. Null is ignored.
  virtual void Free(void* ptr) = 0;

  // Records that `ptr` is also used on another stream: it is reused only after the work that is
  // on that stream when it is freed.
  virtual void RecordStream(void* ptr, StreamHandle stream) = 0;

  // Returns cached memory without blocks in use to the driver.
  virtual void EmptyCache() = 0;

  virtual const AllocatorStats& stats() const = 0;
};

// The line of an out-of-memory error.
std::string OutOfMemoryLine(int device, size_t requested, size_t free_bytes, size_t total_bytes,
                            const AllocatorStats& stats);

}  // namespace memprof::demo

#endif  // DEMO_TRAINER_ALLOCATOR_ALLOCATOR_H_
