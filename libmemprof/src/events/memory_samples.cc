// Queries the driver, and records the answers.
#include "libmemprof/src/events/memory_samples.h"

#include "libmemprof/src/driver/api.h"
#include "libmemprof/src/driver/other_processes.h"
#include "libmemprof/src/driver/system_memory.h"
#include "libmemprof/src/log/vocabulary.h"
#include "libmemprof/src/recording/record_event.h"

namespace memprof::recorder {

void SampleMemory(ThreadSlot* slot, bool failed) {
  if (!DriverIsLoaded()) return;
  SystemSection section;
  ThreadState* state = BoundState(slot);
  if (state == nullptr) return;
  DriverState* driver = TheRecorder()->driver();
  if (driver->calls_held()) return;
  const CallContext context = driver->Current(&state->context);
  SamplePools(slot);  // first, so that the totals already include what a pool gave back
  ring::RingEvent event{};
  if (context.device >= 0 && DriverState::MemoryInfo(&event.bytes, &event.aux0)) {
    event.aux1 = OtherProcesses(context.device, event.aux0, NowNs(), failed);
    event.address = FileCache(context.device);
    event.op = kOpMemoryInfo;
    event.context = context.id;
    event.SetDevice(context.device);
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
  event.SetDevice(device);
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
