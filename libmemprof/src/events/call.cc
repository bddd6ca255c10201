// Fills in and emits the events of calls.
#include "libmemprof/src/events/call.h"

#include "libmemprof/src/events/memory_samples.h"

namespace memprof::recorder {
namespace {

// The events of allocations and frees, inlined: no other function is called as often.

__attribute__((always_inline)) inline CallContext ContextHere(ThreadSlot* slot) {
  ThreadState* state = BoundState(slot);
  return state == nullptr ? CallContext{} : TheRecorder()->driver()->Current(&state->context);
}

__attribute__((always_inline)) inline ring::RingEvent EventHere(Op op, Layer layer, FunctionId id,
                                                                std::uint64_t time_ns) {
  ring::RingEvent event{};
  event.time_ns = time_ns;
  event.op = op;
  event.layer = layer;
  event.api = TheRecorder()->ApiLabel(id);
  return event;
}

}  // namespace

CallContext Call::Context() { return ContextHere(slot()); }

bool Call::IsCurrent(CUcontext context) const {
  CUcontext current = nullptr;
  const CalledFunctions& driver = Driver();
  return driver.cuCtxGetCurrent != nullptr && driver.cuCtxGetCurrent(&current) == CUDA_SUCCESS &&
         current == context;
}

ring::RingEvent Call::Event(Op op, Layer layer) { return EventHere(op, layer, id_, NowNs()); }

// Samples free memory from time to time on the thread that allocates: it has a context, and the
// cost falls only on threads that allocate.
void Call::Emit(ring::RingEvent* event, bool with_stack) {
  RecordEvent(guard_.slot(), event, with_stack);
  if (event->op == kOpAlloc && event->device_plus_1 != 0 &&
      driver()->TimeForMemorySample(event->device_plus_1 - 1, event->time_ns))
    SampleMemory(guard_.slot());
}

std::uint32_t Call::Stack() {
  ThreadState* state = BoundState(guard_.slot());
  return state == nullptr ? 0 : TheRecorder()->InternStack(state);
}

void Call::AllocationFailed(ring::RingEvent event, CUresult result) {
  event.op = kOpAllocFailed;
  event.result = static_cast<std::uint32_t>(result);
  DriverState::MemoryInfo(&event.aux0, &event.aux1);
  Emit(&event, true);
  const std::int32_t device = Context().device;
  if (device >= 0 && driver()->TimeForMemorySample(device, event.time_ns))
    SampleMemory(guard_.slot(), true);
}

void Call::Allocated(CUresult result, Layer layer, std::uint64_t address, std::uint64_t bytes,
                     std::uint64_t aux0, std::uint64_t aux1, CUstream stream) {
  ring::RingEvent event = EventHere(kOpAlloc, layer, id_, NowNs());
  const CallContext context = ContextHere(slot());
  event.context = context.id;
  event.SetDevice(context.device);
  event.bytes = bytes;
  event.stream = reinterpret_cast<std::uint64_t>(stream);
  if (__builtin_expect(result != CUDA_SUCCESS, 0)) {
    AllocationFailed(event, result);
    return;
  }
  event.address = address;
  event.aux0 = aux0;
  event.aux1 = aux1;
  RecordEventHere(slot(), &event, true);
  if (context.device >= 0 && driver()->TimeForMemorySample(context.device, event.time_ns))
    SampleMemory(slot());
}

void Call::AllocatedHost(CUresult result, Layer layer, const void* address, std::uint64_t bytes) {
  ring::RingEvent event = EventHere(kOpAlloc, layer, id_, NowNs());
  event.context = ContextHere(slot()).id;
  event.bytes = bytes;
  if (__builtin_expect(result != CUDA_SUCCESS, 0)) {
    AllocationFailed(event, result);
    return;
  }
  event.address = reinterpret_cast<std::uint64_t>(address);
  RecordEventHere(slot(), &event, true);
}

void Call::Freeing(Layer layer, std::uint64_t address, CUstream stream) {
  if (address == 0) return;  // a free of null succeeds and frees nothing
  if (TheTorchLayer()->has_segments()) TheTorchLayer()->Freeing(slot(), address);
  const CallContext context = ContextHere(slot());
  ring::RingEvent event = EventHere(kOpFree, layer, id_, NowNs());
  event.context = context.id;
  event.SetDevice(driver()->DeviceOf(address, context.device));
  event.address = address;
  event.stream = reinterpret_cast<std::uint64_t>(stream);
  RecordEventHere(slot(), &event, false);
  freeing_of_graph_ = driver()->graphs()->Freeing(address);
}

void Call::FreeingHost(Layer layer, const void* address) {
  if (address == nullptr) return;
  ring::RingEvent event = EventHere(kOpFree, layer, id_, NowNs());
  event.context = ContextHere(slot()).id;
  event.address = reinterpret_cast<std::uint64_t>(address);
  RecordEventHere(slot(), &event, false);
}

void Call::Freed(CUresult result, Layer layer, std::uint64_t address) {
  driver()->graphs()->Freed(freeing_of_graph_, result == CUDA_SUCCESS);
  if (result == CUDA_SUCCESS || address == 0) return;
  ring::RingEvent event = Event(kOpFreeFailed, layer);
  const CallContext context = Context();
  event.context = context.id;
  const bool on_host = layer == kLayerPinned || layer == kLayerRegistered;
  if (!on_host) event.SetDevice(driver()->DeviceOf(address, context.device));
  event.address = address;
  event.result = static_cast<std::uint32_t>(result);
  Emit(&event);
  TheTorchLayer()->FreeFailed(slot(), address);
}

}  // namespace memprof::recorder
