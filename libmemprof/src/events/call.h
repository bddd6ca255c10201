// One call of a driver function, and the events that it leaves. The meaning of each family of
// functions is in the other files of this folder, once for both callers: the wrappers that programs
// call (hooks/), and sources that see the calls otherwise (sources/driver_calls.h).
//
// A free is recorded before the real call, an allocation after it: this order makes reused
// addresses unambiguous.
//
// A function of the driver is described by a type that derives from MemoryEvent or ContextEvent:
//
//   struct AllocateSomething : MemoryEvent {
//     void Before(Call* call, <parameters of the function>);                  // may be left out
//     void After(Call* call, CUresult result, <parameters of the function>);  // may be left out
//   };
//
// There is one object for each call, from Before to After; its members keep the state in between.
// It must be copyable byte by byte. Both are called only if the call is to be recorded.
#pragma once

#include <type_traits>

#include "libmemprof/src/driver/api.h"
#include "libmemprof/src/log/vocabulary.h"
#include "libmemprof/src/recording/record_event.h"
#include "libmemprof/src/torch/layer.h"

namespace memprof::recorder {

// Events of memory, which exactly one source reports: the hooks, or CUPTI where it is the only
// source.
struct MemoryEvent {
  static constexpr bool kIsMemory = true;
};
// Events of contexts and device code. Hooks report them, whichever source reports memory.
struct ContextEvent {
  static constexpr bool kIsMemory = false;
};

class Call {
 public:
  __attribute__((always_inline)) explicit Call(FunctionId id) : id_(id) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  FunctionId id() const { return id_; }
  // Whether this is the outermost call into the recorder on this thread.
  bool outermost() const { return guard_.outermost(); }
  CallContext Context();
  bool IsCurrent(CUcontext context) const;
  ThreadSlot* slot() { return guard_.slot(); }
  DriverState* driver() { return TheRecorder()->driver(); }

  // An event of this call with time and label filled in.
  ring::RingEvent Event(Op op, Layer layer);
  void Emit(ring::RingEvent* event, bool with_stack = false);
  // The calling thread's stack, for an event that is recorded later.
  std::uint32_t Stack();

  // After the real call: records an allocation or a failed one, with the stack.
  void Allocated(CUresult result, Layer layer, std::uint64_t address, std::uint64_t bytes,
                 std::uint64_t aux0 = 0, std::uint64_t aux1 = 0, CUstream stream = nullptr);
  // Records the failure of a call that would have taken, moved or shared memory.
  void Failed(CUresult result, Layer layer, std::uint64_t bytes = 0) {
    if (result != CUDA_SUCCESS) Allocated(result, layer, 0, bytes);
  }
  // As Allocated, for host memory: no device.
  void AllocatedHost(CUresult result, Layer layer, const void* address, std::uint64_t bytes);
  // Before the real call: records the free.
  void Freeing(Layer layer, std::uint64_t address, CUstream stream = nullptr);
  void FreeingHost(Layer layer, const void* address);
  // After the real call: cancels the recorded free if the call failed.
  void Freed(CUresult result, Layer layer, std::uint64_t address);

  // What Freeing passes to Freed, for callers that see the two halves of a call separately.
  std::uint32_t freeing() const { return freeing_of_graph_; }
  void set_freeing(std::uint32_t freeing) { freeing_of_graph_ = freeing; }

 private:
  __attribute__((noinline, cold)) void AllocationFailed(ring::RingEvent event, CUresult result);

  EntryGuard guard_;
  FunctionId id_;
  std::uint32_t freeing_of_graph_ = 0;  // GraphLedger::Freeing
};

// The integer value of a handle or pointer.
template <typename Handle>
std::uint64_t Number(Handle handle) {
  return reinterpret_cast<std::uint64_t>(handle);
}

// The value that a successful call wrote to an out-parameter; 0 if the call failed.
template <typename T>
std::uint64_t Output(CUresult result, const T* out) {
  if (result != CUDA_SUCCESS || out == nullptr) return 0;
  if constexpr (std::is_pointer_v<T>)
    return Number(*out);
  else
    return *out;
}

}  // namespace memprof::recorder
