// Allocators without a cache of their own: every tensor is one allocation of the driver.
#ifndef DEMO_TRAINER_ALLOCATOR_DIRECT_ALLOCATOR_H_
#define DEMO_TRAINER_ALLOCATOR_DIRECT_ALLOCATOR_H_

#include <cuda_runtime_api.h>

#include <unordered_map>
#include <vector>

#include "demo_trainer/allocator/allocator.h"

namespace memprof::demo {

class DirectAllocator : public Allocator {
 public:
  enum class Kind {
    kCuda,   // cudaMalloc, cudaFree
    kAsync,  // cudaMallocAsync, cudaFreeAsync on the tensor's stream
  };
  DirectAllocator(Kind kind, int device) : kind_(kind), device_(device) {}

  void* Allocate(size_t bytes, StreamHandle stream) override;
  void Free(void* ptr) override;
  // cudaFree waits for the device. With stream-ordered memory, the tensor's stream waits for the
  // other one.
  void RecordStream(void* ptr, StreamHandle stream) override;
  // Trims the device's memory pool (kAsync).
  void EmptyCache() override;
  const AllocatorStats& stats() const override { return stats_; }

 private:
  struct Live {
    size_t bytes;
    cudaStream_t stream;
    std::vector<cudaStream_t> other_streams;
  };
  void WaitForOtherStreams(const Live& live);

  const Kind kind_;
  const int device_;
  std::unordered_map<void*, Live> live_;
  AllocatorStats stats_;
};

}  // namespace memprof::demo

#endif  // DEMO_TRAINER_ALLOCATOR_DIRECT_ALLOCATOR_H_
