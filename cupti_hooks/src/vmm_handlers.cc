// Events of virtual memory management, with the recorder's count of references.
#include "cupti_hooks/src/vmm_handlers.h"

#include <new>

#include "cupti_hooks/src/allocation_handlers.h"
#include "libmemprof/src/driver/export_table.h"
#include "libmemprof/src/driver/vmm_ledger.h"

namespace memprof::cupti {
namespace {

using recorder::ExportTable;
using recorder::VmmLedger;

constexpr int kFabricHandle = 8;  // CU_MEM_HANDLE_TYPE_FABRIC, from CUDA 12.3

// Never destroyed: callbacks may come in while the process ends.
alignas(VmmLedger) unsigned char g_memory[sizeof(VmmLedger)];
VmmLedger* g_ledger = nullptr;  // set before anything listens

alignas(ExportTable) unsigned char g_exports_memory[sizeof(ExportTable)];
ExportTable* g_exports = nullptr;  // as the ledger

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

// False, and no event, when the handle is there: the driver may answer an import with one, and it
// is one more reference to it.
bool ReportHandle(const Call& call, std::uint64_t handle, std::uint64_t bytes, std::int32_t device,
                  std::uint32_t layer) {
  if (!Ledger().Create(handle, bytes, device, static_cast<std::uint8_t>(layer))) return false;
  ReportVmm(call, kOpAlloc, layer, device, handle, bytes, 0,
            layer == kLayerImported ? kImportPhysical : 0);
  return true;
}

// Memory that has lost its last reference.
void ReportGone(const Call& call, const VmmLedger::Physical& gone) {
  if (!gone.last) return;
  g_exports->End(gone.handle);
  ReportVmm(call, kOpFree, gone.layer, gone.device, gone.handle, gone.bytes);
}

// Ends what the multicast object holds within the range; `device` -1 = on all devices.
void ReportUnbound(const Call& call, std::uint64_t multicast, std::uint64_t offset,
                   std::uint64_t bytes, std::int32_t device) {
  VmmLedger::Physical bound;
  while (Ledger().Unbind(multicast, offset, bytes, device, &bound)) ReportGone(call, bound);
}

// One more handle of memory that this process has, or memory that only an export of it has kept.
// False when it is somebody else's.
bool ImportedOwn(const Call& call, std::uint64_t handle, void* shared, int type) {
  const bool is_file = type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  const int descriptor = static_cast<int>(reinterpret_cast<std::intptr_t>(shared));
  ExportTable::Memory memory;
  if (is_file ? !g_exports->FindDescriptor(descriptor, &memory)
              : type != kFabricHandle || shared == nullptr ||
                    !g_exports->FindContent(ExportTable::Kind::kPhysical, shared, &memory)) {
    return false;
  }
  if (memory.handle != 0 && Ledger().Alias(handle, memory.handle)) return true;
  if (!ReportHandle(call, handle, memory.bytes, memory.device, memory.layer)) return true;
  if (is_file) {
    g_exports->ReviveDescriptor(descriptor, handle);
  } else {
    g_exports->ReviveContent(ExportTable::Kind::kPhysical, shared, handle);
  }
  return true;
}

}  // namespace

void OpenVmmLedger() {
  if (g_ledger == nullptr) g_ledger = new (g_memory) VmmLedger;
  if (g_exports == nullptr) g_exports = new (g_exports_memory) ExportTable;
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
      ReportVmm(call, kOpFree, t_released.layer, t_released.device, t_released.handle,
                t_released.bytes);
    }
    return;
  }
  const VmmLedger::Physical gone = t_released;
  t_released = {};
  if (call.result == 0 && gone.last) {
    g_exports->End(gone.handle);
    if (gone.layer == kLayerMulticast) {
      ReportUnbound(call, gone.handle, 0, ~std::uint64_t{0}, kNoDevice);
    }
  }
  if (call.result == 0 || gone.handle == 0) return;
  if (!gone.last) return Ledger().Retain(handle);
  Ledger().Create(gone.handle, gone.bytes, gone.device, gone.layer);
  if (handle != gone.handle) {  // it was the last of several handles
    Ledger().Alias(handle, gone.handle);
    Ledger().Release(gone.handle);
  }
  ReportVmm(call, kOpFreeFailed, gone.layer, gone.device, gone.handle, 0);
}

void RetainPhysical(const Call& call) {
  if (!Happened(call)) return;
  Ledger().Retain(Output(call, call.As<cuMemRetainAllocationHandle_params>().handle));
}

// What is imported again later, from the same process, is no memory of somebody else's.
void ExportPhysical(const Call& call) {
  if (!Happened(call)) return;
  const auto& params = call.As<cuMemExportToShareableHandle_params>();
  const VmmLedger::Physical known = Ledger().Known(params.handle);
  if (known.handle == 0 || params.shareableHandle == nullptr) return;
  const ExportTable::Memory memory{known.handle, known.bytes, known.device, known.layer};
  if (params.handleType == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    g_exports->AddDescriptor(*static_cast<const int*>(params.shareableHandle), memory);
  } else if (static_cast<int>(params.handleType) == kFabricHandle) {
    g_exports->AddContent(ExportTable::Kind::kPhysical, params.shareableHandle, memory);
  }
}

// Unless this process exported it, another one owns the memory, and only that one knows the size.
void ImportPhysical(const Call& call) {
  if (!Happened(call)) return;
  const auto& params = call.As<cuMemImportFromShareableHandle_params>();
  const std::uint64_t handle = Output(call, params.handle);
  if (ImportedOwn(call, handle, params.osHandle, static_cast<int>(params.shHandleType))) return;
  ReportHandle(call, handle, 0, CurrentDevice(), kLayerImported);
}

// A multicast object has a handle but no memory of its own.
void CreateMulticast(const Call& call) {
  if (!Happened(call)) return;
  const auto& params = call.As<MulticastCreateParams>();
  ReportHandle(call, Output(call, params.handle), 0, kNoDevice, kLayerMulticast);
}

void AddMulticastDevice(const Call& call) {
  if (!Happened(call)) return;
  const auto& params = call.As<MulticastAddDeviceParams>();
  ReportVmm(call, kOpMap, kLayerMulticast, params.device, params.multicast, 0);
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
    ReportGone(call, physical);
  }
  ReportVmm(call, kOpUnmap, kLayerVmmAddress, device, params.ptr, params.size);
}

}  // namespace memprof::cupti
