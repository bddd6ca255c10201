// Events of virtual memory management, with the recorder's count of references.
#include "cupti_hooks/src/vmm_handlers.h"

#include <new>

#include "cupti_hooks/src/allocation_handlers.h"
#include "libmemprof/src/vmm_ledger.h"

namespace memprof::cupti {
namespace {

using recorder::VmmLedger;

// Never destroyed: callbacks may come in while the process ends.
alignas(VmmLedger) unsigned char g_memory[sizeof(VmmLedger)];
VmmLedger* g_ledger = nullptr;  // set before anything listens

VmmLedger& Ledger() { return *g_ledger; }

// What the release that this thread is inside of took from the ledger.
__attribute__((tls_model("initial-exec"))) constinit thread_local VmmLedger::Physical t_released;

void ReportVmm(const Call& call, std::uint32_t op, std::uint32_t layer, std::int32_t device,
               std::uint64_t address, std::uint64_t bytes, std::uint64_t aux0 = 0,
               std::uint64_t aux1 = 0) {
  SourceEvent event = NewEvent(call, op, layer);
  event.context = 0;  // it outlives contexts: the end of one frees none of it
  event.device = device;
  event.address = address;
  event.bytes = bytes;
  event.aux0 = aux0;
  event.aux1 = aux1;
  event.with_stack = op == kOpAlloc ? 1 : 0;
  Record(event);
}

bool Happened(const Call& call) { return call.exit && call.result == 0 && call.allocations; }

void ReportHandle(const Call& call, std::uint64_t handle, std::uint64_t bytes, std::int32_t device,
                  std::uint32_t layer) {
  // The driver may answer an import with a handle that is there: one more reference to it.
  if (!Ledger().Create(handle, bytes, device, static_cast<std::uint8_t>(layer))) return;
  ReportVmm(call, kOpAlloc, layer, device, handle, bytes, 0,
            layer == kLayerImported ? kImportPhysical : 0);
}

// Ends what the multicast object holds within the range; `device` -1 = on all devices.
void ReportUnbound(const Call& call, std::uint64_t multicast, std::uint64_t offset,
                   std::uint64_t bytes, std::int32_t device) {
  VmmLedger::Physical bound;
  while (Ledger().Unbind(multicast, offset, bytes, device, &bound)) {
    if (!bound.last) continue;
    ReportVmm(call, kOpFree, bound.layer, bound.device, bound.handle, bound.bytes);
  }
}

}  // namespace

void OpenVmmLedger() {
  if (g_ledger == nullptr) g_ledger = new (g_memory) VmmLedger;
}

void AddressReserve(const Call& call) {
  if (!Happened(call)) return;
  const auto& params = call.As<cuMemAddressReserve_params>();
  ReportVmm(call, kOpAlloc, kLayerVmmAddress, CurrentDevice(), Output(call, params.ptr),
            params.size);
}

void AddressFree(const Call& call) {
  if (!call.allocations) return;
  const auto& params = call.As<cuMemAddressFree_params>();
  if (!call.exit) {
    ReportVmm(call, kOpFree, kLayerVmmAddress, CurrentDevice(), params.ptr, params.size);
  } else if (call.result != 0) {
    ReportVmm(call, kOpFreeFailed, kLayerVmmAddress, CurrentDevice(), params.ptr, 0);
  }
}

void CreatePhysical(const Call& call) {
  if (!call.exit || !call.allocations) return;
  const auto& params = call.As<cuMemCreate_params>();
  if (call.result != 0 || params.prop == nullptr) {
    return ReportAllocation(call, {kLayerVmmPhysical, kCurrentDevice, 0, params.size});
  }
  const bool on_device = params.prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  ReportHandle(call, Output(call, params.handle), params.size,
               on_device ? params.prop->location.id : kNoDevice,
               on_device ? kLayerVmmPhysical : kLayerPinned);
}

void ReleasePhysical(const Call& call) {
  if (!call.allocations) return;
  const std::uint64_t handle = call.As<cuMemRelease_params>().handle;
  if (!call.exit) {
    t_released = Ledger().Release(handle);
    if (t_released.last) {
      ReportVmm(call, kOpFree, t_released.layer, t_released.device, handle, t_released.bytes);
    }
    return;
  }
  const VmmLedger::Physical gone = t_released;
  t_released = {};
  if (call.result == 0 && gone.last && gone.layer == kLayerMulticast) {
    ReportUnbound(call, handle, 0, ~std::uint64_t{0}, kNoDevice);
  }
  if (call.result == 0 || gone.handle != handle) return;
  if (!gone.last) return Ledger().Retain(handle);
  Ledger().Create(handle, gone.bytes, gone.device, gone.layer);
  ReportVmm(call, kOpFreeFailed, gone.layer, gone.device, handle, 0);
}

void RetainPhysical(const Call& call) {
  if (!Happened(call)) return;
  Ledger().Retain(Output(call, call.As<cuMemRetainAllocationHandle_params>().handle));
}

// Another process owns the memory, and only it knows the size.
void ImportPhysical(const Call& call) {
  if (!Happened(call)) return;
  const auto& params = call.As<cuMemImportFromShareableHandle_params>();
  ReportHandle(call, Output(call, params.handle), 0, CurrentDevice(), kLayerImported);
}

// A multicast object has a handle but no memory of its own.
void CreateMulticast(const Call& call) {
  if (!Happened(call)) return;
  const auto& params = call.As<MulticastCreateParams>();
  ReportHandle(call, Output(call, params.handle), 0, kNoDevice, kLayerMulticast);
}

void BindMemory(const Call& call) {
  if (!Happened(call)) return;
  const auto& params = call.As<MulticastBindMemParams>();
  Ledger().Bind(params.multicast, params.offset, params.bytes, params.memory);
  ReportVmm(call, kOpMap, kLayerMulticast, Ledger().DeviceOf(params.memory), params.multicast,
            params.bytes, params.memory, params.offset);
}

void BindAddress(const Call& call) {
  if (!Happened(call)) return;
  const auto& params = call.As<MulticastBindAddrParams>();
  Ledger().BindMapped(params.multicast, params.offset, params.bytes, params.address);
  ReportVmm(call, kOpMap, kLayerMulticast, CurrentDevice(), params.multicast, params.bytes,
            params.address, params.offset);
}

void UnbindMemory(const Call& call) {
  if (!Happened(call)) return;
  const auto& params = call.As<MulticastUnbindParams>();
  ReportUnbound(call, params.multicast, params.offset, params.bytes, params.device);
  ReportVmm(call, kOpUnmap, kLayerMulticast, params.device, params.multicast, params.bytes, 0,
            params.offset);
}

void MapPhysical(const Call& call) {
  if (!call.exit || call.result != 0) return;
  const auto& params = call.As<cuMemMap_params>();
  MarkAddresses(MemorySide::kDevice, params.ptr, params.size);
  if (!call.allocations) return;
  Ledger().Map(params.ptr, params.size, params.handle);
  ReportVmm(call, kOpMap, kLayerVmmAddress, Ledger().DeviceOf(params.handle), params.ptr,
            params.size, params.handle, params.offset);
}

// A range may cover several maps: one event for the range, one free for each memory that goes.
// Before the call, like every free; one that then fails has no effect that could be told apart.
void UnmapPhysical(const Call& call) {
  if (call.exit || !call.allocations) return;
  const auto& params = call.As<cuMemUnmap_params>();
  VmmLedger::Mapping mapping;
  VmmLedger::Physical physical;
  std::int32_t device = kNoDevice;
  while (Ledger().Unmap(params.ptr, params.size, &mapping, &physical)) {
    if (physical.handle != 0) device = physical.device;
    if (!physical.last) continue;
    ReportVmm(call, kOpFree, physical.layer, physical.device, physical.handle, physical.bytes);
  }
  ReportVmm(call, kOpUnmap, kLayerVmmAddress, device, params.ptr, params.size);
}

}  // namespace memprof::cupti
