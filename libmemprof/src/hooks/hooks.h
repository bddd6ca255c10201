// What all hooks share: one call of an intercepted function, and the events it leaves.
//
// The order that makes recycled addresses unambiguous: a free is recorded before the real call,
// an allocation after it. Only the outermost intercepted call of a thread records.
#pragma once

#include "libmemprof/src/driver/api.h"
#include "libmemprof/src/driver/stream_capture.h"
#include "libmemprof/src/events/memory_samples.h"
#include "libmemprof/src/lifecycle/start.h"
#include "libmemprof/src/log/vocabulary.h"
#include "libmemprof/src/recording/record_event.h"
#include "libmemprof/src/torch/layer.h"

namespace memprof::recorder {

class Hook {
 public:
  __attribute__((always_inline)) explicit Hook(FunctionId id, StartCause cause = StartCause::kHook)
      : id_(id) {
    if (guard_.outermost()) active_ = WantEvents(cause);
  }
  Hook(const Hook&) = delete;
  Hook& operator=(const Hook&) = delete;

  // Whether this call is to be recorded.
  bool active() const { return active_; }
  FunctionId id() const { return id_; }
  // Asks again, for cuInit: whether the driver is up is known after it.
  void Activate(StartCause cause);

  CallContext Context();
  bool IsCurrent(CUcontext context) const;
  ThreadSlot* slot() { return guard_.slot(); }
  DriverState* driver() { return TheRecorder()->driver(); }

  // An event of this call with context, device and label filled in.
  ring::RingEvent Event(Op op, Layer layer);
  void Emit(ring::RingEvent* event, bool with_stack = false);
  // The calling thread's stack, for an event that comes later.
  std::uint32_t Stack();

  // After the real call: an allocation or a failed one, with the stack.
  void Allocated(CUresult result, Layer layer, std::uint64_t address, std::uint64_t bytes,
                 std::uint64_t aux0 = 0, std::uint64_t aux1 = 0, CUstream stream = nullptr);
  // Something else failed that would have taken, moved or shared memory.
  void Failed(CUresult result, Layer layer, std::uint64_t bytes = 0) {
    if (result != CUDA_SUCCESS) Allocated(result, layer, 0, bytes);
  }
  // As Allocated, for memory of the host: no device.
  void AllocatedHost(CUresult result, Layer layer, const void* address, std::uint64_t bytes);
  // Before the real call.
  void Freeing(Layer layer, std::uint64_t address, CUstream stream = nullptr);
  void FreeingHost(Layer layer, const void* address);
  // After it: takes the free back when it failed.
  void Freed(CUresult result, Layer layer, std::uint64_t address);

 private:
  __attribute__((noinline, cold)) void AllocationFailed(ring::RingEvent event, CUresult result);

  RecursionGuard guard_;
  FunctionId id_;
  bool active_ = false;
  std::uint32_t freeing_of_graph_ = 0;  // GraphLedger::Freeing
};

// Allocations, frees and pools are left to CUPTI when it is the only source.
inline bool RecordsAllocations(const Hook& hook) {
  return hook.active() && TheRecorder()->settings().driver;
}

}  // namespace memprof::recorder
