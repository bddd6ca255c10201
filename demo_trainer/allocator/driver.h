// The functions of a device that an allocator needs: an interface, which tests can implement.
#ifndef DEMO_TRAINER_ALLOCATOR_DRIVER_H_
#define DEMO_TRAINER_ALLOCATOR_DRIVER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "demo_trainer/allocator/allocator.h"

namespace memprof::demo {

class DeviceDriver {
 public:
  using Event = uint64_t;

  virtual ~DeviceDriver() = default;

  // Device memory, or null when there is not enough. Other failures throw Error.
  virtual void* Allocate(size_t bytes) = 0;
  // Memory may still be in use by enqueued work: waits for it as cudaFree does.
  virtual void Free(void* ptr) = 0;
  virtual void MemoryInfo(size_t* free_bytes, size_t* total_bytes) = 0;

  // Marks the end of the work that is on the stream now.
  virtual Event RecordEvent(StreamHandle stream) = 0;
  // True once the marked work is done; the event is then destroyed.
  virtual bool TakeIfDone(Event event) = 0;
  // Waits for the marked work; the event is then destroyed.
  virtual void WaitFor(Event event) = 0;
};

// The CUDA device `device`, by cudaMalloc and cudaFree.
std::unique_ptr<DeviceDriver> MakeCudaDriver(int device);

// Called for what an allocator does, in memprof's order: creations afterwards, ends beforehand.
class AllocatorObserver {
 public:
  virtual ~AllocatorObserver() = default;
  virtual void SegmentCreated(const void*, size_t, StreamHandle) {}
  virtual void SegmentEnding(const void*) {}
  virtual void BlockCreated(const void*, size_t /*bytes*/, size_t /*requested*/, StreamHandle) {}
  virtual void BlockEnding(const void*) {}
  virtual void OutOfMemory(size_t /*requested*/, size_t /*allocated*/, size_t /*reserved*/) {}
};

// Passes everything on to memprof.
std::unique_ptr<AllocatorObserver> MakeProfilerObserver(int device);

}  // namespace memprof::demo

#endif  // DEMO_TRAINER_ALLOCATOR_DRIVER_H_
