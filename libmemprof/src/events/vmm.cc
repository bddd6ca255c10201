// Events of virtual memory management.
#include "libmemprof/src/events/vmm.h"

#include "libmemprof/src/driver/pool_place.h"

namespace memprof::recorder {
namespace {

constexpr int kFabricHandle = 8;  // CU_MEM_HANDLE_TYPE_FABRIC, from CUDA 12.3

// Records one more handle of memory that this process has, or that only an export keeps alive.
bool ImportedOwn(Call* call, std::uint64_t handle, void* shared, CUmemAllocationHandleType type) {
  ExportTable* exports = call->driver()->exports();
  const bool is_file = type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  const int descriptor = static_cast<int>(reinterpret_cast<std::intptr_t>(shared));
  ExportTable::Memory memory;
  if (is_file ? !exports->FindDescriptor(descriptor, &memory)
              : static_cast<int>(type) != kFabricHandle || shared == nullptr ||
                    !exports->FindContent(ExportTable::Kind::kPhysical, shared, &memory))
    return false;
  VmmLedger* vmm = call->driver()->vmm();
  if (memory.handle != 0 && vmm->Alias(handle, memory.handle)) return true;
  if (!vmm->Create(handle, memory.bytes, memory.device, memory.layer)) return true;
  if (is_file)
    exports->ReviveDescriptor(descriptor, handle);
  else
    exports->ReviveContent(ExportTable::Kind::kPhysical, shared, handle);
  const auto layer = static_cast<Layer>(memory.layer);
  RecordVmm(call, kOpAlloc, layer, memory.device, handle, memory.bytes, 0,
            layer == kLayerImported ? std::uint64_t{kImportPhysical} : 0);
  return true;
}

}  // namespace

void RecordVmm(Call* call, Op op, Layer layer, std::int32_t device, std::uint64_t address,
               std::uint64_t bytes, std::uint64_t aux0, std::uint64_t aux1) {
  ring::RingEvent event = call->Event(op, layer);
  event.SetDevice(device);
  event.address = address;
  event.bytes = bytes;
  event.aux0 = aux0;
  event.aux1 = aux1;
  call->Emit(&event, op == kOpAlloc);
}

void RecordPhysicalFree(Call* call, const VmmLedger::Physical& physical, std::uint64_t time_ns) {
  if (!physical.last) return;
  call->driver()->exports()->End(physical.handle);
  ring::RingEvent event = call->Event(kOpFree, static_cast<Layer>(physical.layer));
  event.time_ns = time_ns;
  event.SetDevice(physical.device);
  event.address = physical.handle;
  event.bytes = physical.bytes;
  call->Emit(&event);
}

void CreatePhysical::After(Call* call, CUresult result, CUmemGenericAllocationHandle* handle,
                           std::size_t bytes, const CUmemAllocationProp* properties,
                           unsigned long long) const {
  if (result != CUDA_SUCCESS) return call->Allocated(result, kLayerVmmPhysical, 0, bytes);
  const std::int32_t device = LocationDevice(properties->location);
  const Layer layer = device >= 0 ? kLayerVmmPhysical : kLayerPinned;
  call->driver()->vmm()->Create(*handle, bytes, device, layer);
  RecordVmm(call, kOpAlloc, layer, device, *handle, bytes);
}

void ReleasePhysical::Before(Call* call, CUmemGenericAllocationHandle handle) {
  released_memory_ = call->driver()->vmm()->Release(handle);
  if (released_memory_.last)
    RecordVmm(call, kOpFree, static_cast<Layer>(released_memory_.layer), released_memory_.device,
              released_memory_.handle, released_memory_.bytes);
  before_ns_ = NowNs();
}

void ReleasePhysical::After(Call* call, CUresult result,
                            CUmemGenericAllocationHandle handle) const {
  VmmLedger* vmm = call->driver()->vmm();
  if (result == CUDA_SUCCESS && released_memory_.last) {
    call->driver()->exports()->End(released_memory_.handle);
    VmmLedger::Physical bound;  // the multicast object had a reference
    while (released_memory_.layer == kLayerMulticast &&
           vmm->Unbind(released_memory_.handle, 0, ~std::uint64_t{0}, -1, &bound, before_ns_))
      RecordPhysicalFree(call, bound, before_ns_);
  }
  if (result == CUDA_SUCCESS || released_memory_.handle == 0) return;
  if (!released_memory_.last) return vmm->Retain(handle);
  vmm->Create(released_memory_.handle, released_memory_.bytes, released_memory_.device,
              released_memory_.layer);
  if (handle != released_memory_.handle) {  // it was the last of several handles
    vmm->Alias(handle, released_memory_.handle);
    vmm->Release(released_memory_.handle);
  }
  call->Freed(result, static_cast<Layer>(released_memory_.layer), released_memory_.handle);
}

void ExportPhysical::After(Call* call, CUresult result, void* shared,
                           CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
                           unsigned long long) const {
  if (result != CUDA_SUCCESS || shared == nullptr) return;
  const VmmLedger::Physical known = call->driver()->vmm()->PhysicalOf(handle);
  // Nothing is known about memory from before the recording; an import of it belongs to another
  // process.
  if (known.handle == 0) return;
  const ExportTable::Memory memory{known.handle, known.bytes, known.device, known.layer};
  if (type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
    call->driver()->exports()->AddDescriptor(*static_cast<const int*>(shared), memory);
  else if (static_cast<int>(type) == kFabricHandle)
    call->driver()->exports()->AddContent(ExportTable::Kind::kPhysical, shared, memory);
}

void ImportPhysical::After(Call* call, CUresult result, CUmemGenericAllocationHandle* handle,
                           void* shared, CUmemAllocationHandleType type) const {
  call->Failed(result, kLayerImported);
  if (result != CUDA_SUCCESS || ImportedOwn(call, *handle, shared, type)) return;
  const std::int32_t device = call->Context().device;
  // The driver may also return a handle that is already in the table.
  if (call->driver()->vmm()->Create(*handle, 0, device, kLayerImported))
    RecordVmm(call, kOpAlloc, kLayerImported, device, *handle, 0, 0, kImportPhysical);
}

void MapPhysical::After(Call* call, CUresult result, CUdeviceptr address, std::size_t bytes,
                        std::size_t offset, CUmemGenericAllocationHandle handle,
                        unsigned long long) const {
  call->Failed(result, kLayerVmmAddress, bytes);
  if (result != CUDA_SUCCESS) return;
  VmmLedger* vmm = call->driver()->vmm();
  const VmmLedger::Physical mapped = vmm->PhysicalOrHandle(handle);
  vmm->Map(address, bytes, mapped.handle);
  RecordVmm(call, kOpMap, kLayerVmmAddress, mapped.device, address, bytes, mapped.handle, offset);
}

void UnmapPhysical::After(Call* call, CUresult result, CUdeviceptr address,
                          std::size_t bytes) const {
  if (result != CUDA_SUCCESS) return;
  TheTorchLayer()->Unmapped(call->slot(), address, bytes, before_ns);
  VmmLedger::Mapping mapping;
  VmmLedger::Physical physical;
  std::int32_t device = -1;
  while (call->driver()->vmm()->Unmap(address, bytes, &mapping, &physical, before_ns)) {
    if (physical.handle != 0) device = physical.device;
    RecordPhysicalFree(call, physical, before_ns);
  }
  ring::RingEvent event = call->Event(kOpUnmap, kLayerVmmAddress);
  event.time_ns = before_ns;
  event.SetDevice(device);
  event.address = address;
  event.bytes = bytes;
  call->Emit(&event);
}

void ReserveAddress::After(Call* call, CUresult result, CUdeviceptr* address, std::size_t bytes,
                           std::size_t, CUdeviceptr, unsigned long long) const {
  call->Failed(result, kLayerVmmAddress, bytes);
  if (result == CUDA_SUCCESS)
    RecordVmm(call, kOpAlloc, kLayerVmmAddress, call->Context().device, *address, bytes);
}

void FreeAddress::Before(Call* call, CUdeviceptr address, std::size_t bytes) const {
  RecordVmm(call, kOpFree, kLayerVmmAddress, call->Context().device, address, bytes);
}

}  // namespace memprof::recorder
