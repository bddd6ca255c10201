// Fills in and emits the events of intercepted calls.
#include "libmemprof/src/hooks/hooks.h"

#include "libmemprof/src/driver/other_processes.h"

namespace memprof::recorder {
namespace {

// What an allocation and a free need, in place: nothing is called as often.

__attribute__((always_inline)) inline CallContext ContextHere(ThreadSlot* slot) {
  ThreadState* state = BoundState(slot);
  return state == nullptr ? CallContext{} : TheRecorder()->driver()->Current(state);
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

void Hook::Activate(StartCause cause) {
  if (guard_.outermost()) active_ = WantEvents(cause);
}

CallContext Hook::Context() { return ContextHere(slot()); }

bool Hook::IsCurrent(CUcontext context) const {
  CUcontext current = nullptr;
  const CalledFunctions& driver = Driver();
  return driver.cuCtxGetCurrent != nullptr && driver.cuCtxGetCurrent(&current) == CUDA_SUCCESS &&
         current == context;
}

ring::RingEvent Hook::Event(Op op, Layer layer) { return EventHere(op, layer, id_, NowNs()); }

// The ledger closes from time to time, on the thread that allocates: it has a context, and pays
// only while it allocates.
void Hook::Emit(ring::RingEvent* event, bool with_stack) {
  RecordEvent(guard_.slot(), event, with_stack);
  if (event->op == kOpAlloc && event->device_plus_1 != 0 &&
      driver()->TimeForMemorySample(event->device_plus_1 - 1, event->time_ns))
    SampleMemory(guard_.slot());
}

std::uint32_t Hook::Stack() {
  ThreadState* state = BoundState(guard_.slot());
  return state == nullptr ? 0 : TheRecorder()->InternStack(state);
}

void Hook::AllocationFailed(ring::RingEvent event, CUresult result) {
  event.op = kOpAllocFailed;
  event.result = static_cast<std::uint32_t>(result);
  DriverState::MemoryInfo(&event.aux0, &event.aux1);
  Emit(&event, true);
  const std::int32_t device = Context().device;
  if (device >= 0 && driver()->TimeForMemorySample(device, event.time_ns))
    SampleMemory(guard_.slot(), true);
}

void Hook::Allocated(CUresult result, Layer layer, std::uint64_t address, std::uint64_t bytes,
                     std::uint64_t aux0, std::uint64_t aux1, CUstream stream) {
  ring::RingEvent event = EventHere(kOpAlloc, layer, id_, NowNs());
  const CallContext context = ContextHere(slot());
  event.context = context.id;
  event.device_plus_1 = static_cast<std::uint16_t>(context.device + 1);
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

void Hook::AllocatedHost(CUresult result, Layer layer, const void* address, std::uint64_t bytes) {
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

void Hook::Freeing(Layer layer, std::uint64_t address, CUstream stream) {
  if (address == 0) return;  // frees nothing, and succeeds
  if (TheRecorder()->torch()->has_segments()) TheRecorder()->torch()->Freeing(slot(), address);
  const CallContext context = ContextHere(slot());
  ring::RingEvent event = EventHere(kOpFree, layer, id_, NowNs());
  event.context = context.id;
  event.device_plus_1 = static_cast<std::uint16_t>(driver()->DeviceOf(address, context.device) + 1);
  event.address = address;
  event.stream = reinterpret_cast<std::uint64_t>(stream);
  RecordEventHere(slot(), &event, false);
  freeing_of_graph_ = driver()->graphs()->Freeing(address);
}

void Hook::FreeingHost(Layer layer, const void* address) {
  if (address == nullptr) return;
  ring::RingEvent event = EventHere(kOpFree, layer, id_, NowNs());
  event.context = ContextHere(slot()).id;
  event.address = reinterpret_cast<std::uint64_t>(address);
  RecordEventHere(slot(), &event, false);
}

void Hook::Freed(CUresult result, Layer layer, std::uint64_t address) {
  driver()->graphs()->Freed(freeing_of_graph_, result == CUDA_SUCCESS);
  if (result == CUDA_SUCCESS || address == 0) return;
  ring::RingEvent event = Event(kOpFreeFailed, layer);
  const CallContext context = Context();
  event.context = context.id;
  const bool on_host = layer == kLayerPinned || layer == kLayerRegistered;
  if (!on_host)
    event.device_plus_1 =
        static_cast<std::uint16_t>(driver()->DeviceOf(address, context.device) + 1);
  event.address = address;
  event.result = static_cast<std::uint32_t>(result);
  Emit(&event);
  TheRecorder()->torch()->FreeFailed(slot(), address);
}

void SampleMemory(ThreadSlot* slot, bool failed) {
  if (!DriverIsLoaded()) return;
  SystemSection section;
  ThreadState* state = BoundState(slot);
  if (state == nullptr) return;
  DriverState* driver = TheRecorder()->driver();
  if (driver->calls_held()) return;
  const CallContext context = driver->Current(state);
  SamplePools(slot);  // first, so that the ledger knows of what a pool gave back when it closes
  ring::RingEvent event{};
  if (context.device >= 0 && DriverState::MemoryInfo(&event.bytes, &event.aux0)) {
    event.aux1 = OtherProcesses(context.device, event.aux0, NowNs(), failed);
    event.op = kOpMemoryInfo;
    event.context = context.id;
    event.device_plus_1 = static_cast<std::uint16_t>(context.device + 1);
    RecordEvent(slot, &event, false);
  }
}

void SamplePools(ThreadSlot* slot) {
  TheRecorder()->driver()->ForEachPool(
      [slot](std::uint64_t pool, std::int32_t device) { SamplePool(slot, pool, device); });
  const std::uint64_t devices = TheRecorder()->driver()->graphs()->devices();
  for (std::int32_t device = 0; device < 64; ++device)
    if ((devices >> device & 1) != 0) SampleGraphPool(slot, device);
}

namespace {

void EmitPoolSample(ThreadSlot* slot, Layer layer, std::uint64_t pool, std::int32_t device,
                    std::uint64_t reserved, std::uint64_t used) {
  ring::RingEvent event{};
  event.op = kOpPoolSample;
  event.layer = layer;
  event.address = pool;
  event.device_plus_1 = static_cast<std::uint16_t>(device + 1);
  event.bytes = reserved;
  event.aux0 = used;
  RecordEvent(slot, &event, false);
}

}  // namespace

void SampleGraphPool(ThreadSlot* slot, std::int32_t device) {
  const CalledFunctions& driver = Driver();
  cuuint64_t reserved = 0, used = 0;
  if (driver.cuDeviceGetGraphMemAttribute == nullptr ||
      driver.cuDeviceGetGraphMemAttribute(device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT,
                                          &reserved) != CUDA_SUCCESS ||
      driver.cuDeviceGetGraphMemAttribute(device, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used) !=
          CUDA_SUCCESS)
    return;
  EmitPoolSample(slot, kLayerGraph, 0, device, reserved, used);
}

bool Capturing(FunctionId id, CUstream stream, CUgraph* graph) {
  const CalledFunctions& driver = Driver();
  // Without a stream, half of the functions mean the thread's own.
  if (stream == nullptr && UsesThreadStream(id)) stream = CU_STREAM_PER_THREAD;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (driver.cuStreamIsCapturing == nullptr ||
      driver.cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS ||
      status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
    return false;
  if (graph == nullptr) return true;
  if (driver.cuStreamGetCaptureInfo_v2 != nullptr &&
      driver.cuStreamGetCaptureInfo_v2(stream, &status, nullptr, graph, nullptr, nullptr) ==
          CUDA_SUCCESS)
    return true;
  if (driver.cuStreamGetCaptureInfo_v3 != nullptr)
    driver.cuStreamGetCaptureInfo_v3(stream, &status, nullptr, graph, nullptr, nullptr, nullptr);
  return true;
}

std::uint64_t CaptureId(CUstream stream) {
  const CalledFunctions& driver = Driver();
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  CUresult result = CUDA_ERROR_NOT_SUPPORTED;
  if (driver.cuStreamGetCaptureInfo_v2 != nullptr)
    result = driver.cuStreamGetCaptureInfo_v2(stream, &status, &id, nullptr, nullptr, nullptr);
  else if (driver.cuStreamGetCaptureInfo_v3 != nullptr)
    result =
        driver.cuStreamGetCaptureInfo_v3(stream, &status, &id, nullptr, nullptr, nullptr, nullptr);
  return result == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? id : 0;
}

void SamplePool(ThreadSlot* slot, std::uint64_t pool, std::int32_t device) {
  const CalledFunctions& driver = Driver();
  if (device == DriverState::kHost || driver.cuMemPoolGetAttribute == nullptr) return;
  cuuint64_t reserved = 0, used = 0;
  const auto handle = reinterpret_cast<CUmemoryPool>(pool);
  if (driver.cuMemPoolGetAttribute(handle, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved) !=
          CUDA_SUCCESS ||
      driver.cuMemPoolGetAttribute(handle, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used) != CUDA_SUCCESS)
    return;
  EmitPoolSample(slot, kLayerStreamOrdered, pool, device, reserved, used);
}

}  // namespace memprof::recorder
