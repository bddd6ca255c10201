// Events of memory that belongs to somebody else, and of what happens to memory without its being
// allocated.
#include "cupti_hooks/src/import_handlers.h"

#include "cupti_hooks/src/allocation_handlers.h"

namespace memprof::cupti {
namespace {

bool Happened(const Call& call) { return call.exit && call.result == 0 && call.allocations; }

// Before CUDA 12.2 a place was an ordinal, or CU_DEVICE_CPU.
CUmemLocation PlaceOf(CUdevice device) {
  CUmemLocation place{};
  place.type = device >= 0 ? CU_MEM_LOCATION_TYPE_DEVICE : static_cast<CUmemLocationType>(2);
  if (device >= 0) place.id = device;
  return place;
}

void ReportAdvice(const Call& call, std::uint32_t op, std::uint64_t address, std::uint64_t bytes,
                  const CUmemLocation& place, std::uint64_t advice, CUstream stream) {
  SourceEvent event = NewEvent(call, op, kLayerManaged);
  event.device = place.type == CU_MEM_LOCATION_TYPE_DEVICE ? place.id : kNoDevice;
  event.address = address;
  event.bytes = bytes;
  event.aux0 = advice;
  event.aux1 = static_cast<std::uint64_t>(place.type);
  event.stream = Number(stream);
  event.with_stack = 1;
  Record(event);
}

}  // namespace

void ImportExternal(const Call& call) {
  if (!call.exit) return;
  const auto& params = call.As<cuImportExternalMemory_params>();
  const std::uint64_t bytes = params.memHandleDesc == nullptr ? 0 : params.memHandleDesc->size;
  ReportAllocation(call, {kLayerImported, kCurrentDevice, Output(call, params.extMem_out), bytes, 0,
                          kImportExternal});
}

void MapExternalBuffer(const Call& call) {
  if (!call.exit) return;
  const auto& params = call.As<cuExternalMemoryGetMappedBuffer_params>();
  ReportAllocation(call, {kLayerImported, kCurrentDevice, Output(call, params.devPtr),
                          params.bufferDesc == nullptr ? 0 : params.bufferDesc->size,
                          Number(params.extMem), kImportExternalView});
}

void DestroyExternal(const Call& call) {
  ReportFree(call, kLayerImported, kCurrentDevice,
             Number(call.As<cuDestroyExternalMemory_params>().extMem));
}

void ImportPoolPointer(const Call& call) {
  if (!call.exit) return;
  const auto& params = call.As<cuMemPoolImportPointer_params>();
  const std::uint64_t address = Output(call, params.ptr_out);
  ReportAllocation(call, {kLayerImported, kCurrentDevice, address, BytesAt(address),
                          Number(params.pool), kImportPoolPointer});
}

void Prefetch(const Call& call) {
  if (!Happened(call)) return;
  const auto& params = call.As<cuMemPrefetchAsync_params>();
  ReportAdvice(call, kOpPrefetch, params.devPtr, params.count, PlaceOf(params.dstDevice), 0,
               params.hStream);
}

void PrefetchTo(const Call& call) {
  if (!Happened(call)) return;
  const auto& params = call.As<PrefetchToParams>();
  ReportAdvice(call, kOpPrefetch, params.address, params.bytes, params.place, 0, params.stream);
}

void Advise(const Call& call) {
  if (!Happened(call)) return;
  const auto& params = call.As<cuMemAdvise_params>();
  ReportAdvice(call, kOpAdvise, params.devPtr, params.count, PlaceOf(params.device),
               static_cast<std::uint64_t>(params.advice), nullptr);
}

void AdviseAbout(const Call& call) {
  if (!Happened(call)) return;
  const auto& params = call.As<AdviseAboutParams>();
  ReportAdvice(call, kOpAdvise, params.address, params.bytes, params.place,
               static_cast<std::uint64_t>(params.advice), nullptr);
}

// While the process is locked, calls of the driver wait: the mark carries no context.
void ReportCheckpoint(const Call& call, int stage) {
  if (!Happened(call)) return;
  SourceEvent event = NewEvent(call, kOpCheckpoint, kLayerNone);
  event.context = 0;
  event.device = kNoDevice;
  event.aux0 = static_cast<std::uint64_t>(stage);
  event.aux1 = static_cast<std::uint64_t>(call.As<CheckpointParams>().pid);
  event.with_stack = 1;
  Record(event);
}

}  // namespace memprof::cupti
