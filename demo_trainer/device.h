// One GPU of the trainer: its streams and its allocator.
#ifndef DEMO_TRAINER_DEVICE_H_
#define DEMO_TRAINER_DEVICE_H_

#include <cuda_runtime_api.h>

#include <memory>
#include <string>

#include "demo_trainer/allocator/allocator.h"
#include "demo_trainer/allocator/driver.h"

namespace memprof::demo {

enum class AllocatorKind { kCaching, kCuda, kAsync };

class Device {
 public:
  // Creates the context and the copy stream. Throws Error when there is no such device.
  Device(int id, AllocatorKind kind, size_t max_split_bytes);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // Makes this the calling thread's current device.
  void Select() const;
  void Synchronize() const;

  int id() const { return id_; }
  cudaStream_t compute_stream() const { return nullptr; }  // the default stream, as in PyTorch
  cudaStream_t copy_stream() const { return copy_stream_; }
  Allocator& allocator() const { return *allocator_; }
  AllocatorKind allocator_kind() const { return kind_; }

 private:
  const int id_;
  const AllocatorKind kind_;
  cudaStream_t copy_stream_ = nullptr;
  std::unique_ptr<DeviceDriver> driver_;
  std::unique_ptr<AllocatorObserver> observer_;
  std::unique_ptr<Allocator> allocator_;
};

}  // namespace memprof::demo

#endif  // DEMO_TRAINER_DEVICE_H_
