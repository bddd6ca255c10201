// Hooks of virtual memory management: physical memory, address ranges, and the maps between them.
//
// Physical memory is recorded once, from cuMemCreate to the call that drops the last reference
// (VmmLedger); addresses and maps are events of their own.
#pragma once

#include "libmemprof/src/hooks/hooks.h"

namespace memprof::recorder {

inline void RecordVmm(Hook* hook, Op op, Layer layer, std::int32_t device, std::uint64_t address,
                      std::uint64_t bytes, std::uint64_t aux0 = 0, std::uint64_t aux1 = 0) {
  ring::RingEvent event = hook->Event(op, layer);
  event.SetDevice(device);
  event.address = address;
  event.bytes = bytes;
  event.aux0 = aux0;
  event.aux1 = aux1;
  hook->Emit(&event, op == kOpAlloc);
}

template <typename Real>
CUresult CreatePhysical(FunctionId id, Real real, CUmemGenericAllocationHandle* handle,
                        std::size_t bytes, const CUmemAllocationProp* properties,
                        unsigned long long flags) {
  Hook hook(id);
  const CUresult result = real(handle, bytes, properties, flags);
  if (!RecordsAllocations(hook)) return result;
  if (result != CUDA_SUCCESS) {
    hook.Allocated(result, kLayerVmmPhysical, 0, bytes);
    return result;
  }
  const bool on_device = properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  const std::int32_t device = on_device ? properties->location.id : -1;
  const Layer layer = on_device ? kLayerVmmPhysical : kLayerPinned;
  hook.driver()->vmm()->Create(*handle, bytes, device, layer);
  RecordVmm(&hook, kOpAlloc, layer, device, *handle, bytes);
  return result;
}

// Memory that has lost its last reference.
inline void RecordGone(Hook* hook, const VmmLedger::Physical& physical, std::uint64_t time_ns) {
  if (!physical.last) return;
  hook->driver()->exports()->End(physical.handle);
  ring::RingEvent event = hook->Event(kOpFree, static_cast<Layer>(physical.layer));
  event.time_ns = time_ns;
  event.SetDevice(physical.device);
  event.address = physical.handle;
  event.bytes = physical.bytes;
  hook->Emit(&event);
}

template <typename Real>
CUresult ReleasePhysical(FunctionId id, Real real, CUmemGenericAllocationHandle handle) {
  Hook hook(id);
  const bool records = RecordsAllocations(hook);
  VmmLedger* vmm = records ? hook.driver()->vmm() : nullptr;
  VmmLedger::Physical gone;
  if (records) gone = vmm->Release(handle);
  if (gone.last)
    RecordVmm(&hook, kOpFree, static_cast<Layer>(gone.layer), gone.device, gone.handle, gone.bytes);
  const std::uint64_t before_ns = records ? NowNs() : 0;
  const CUresult result = real(handle);
  if (result == CUDA_SUCCESS && gone.last) {
    hook.driver()->exports()->End(gone.handle);
    VmmLedger::Physical bound;  // a multicast object held it
    while (gone.layer == kLayerMulticast &&
           vmm->Unbind(gone.handle, 0, ~std::uint64_t{0}, -1, &bound, before_ns))
      RecordGone(&hook, bound, before_ns);
  }
  if (result == CUDA_SUCCESS || gone.handle == 0) return result;
  if (!gone.last) {
    vmm->Retain(handle);
    return result;
  }
  vmm->Create(gone.handle, gone.bytes, gone.device, gone.layer);
  if (handle != gone.handle) {  // it was the last of several handles
    vmm->Alias(handle, gone.handle);
    vmm->Release(gone.handle);
  }
  hook.Freed(result, static_cast<Layer>(gone.layer), gone.handle);
  return result;
}

template <typename Real>
CUresult RetainPhysical(FunctionId id, Real real, CUmemGenericAllocationHandle* handle,
                        void* address) {
  Hook hook(id);
  const CUresult result = real(handle, address);
  if (RecordsAllocations(hook) && result == CUDA_SUCCESS) hook.driver()->vmm()->Retain(*handle);
  return result;
}

template <typename Real>
CUresult MapPhysical(FunctionId id, Real real, CUdeviceptr address, std::size_t bytes,
                     std::size_t offset, CUmemGenericAllocationHandle handle,
                     unsigned long long flags) {
  Hook hook(id);
  const CUresult result = real(address, bytes, offset, handle, flags);
  if (!RecordsAllocations(hook)) return result;
  hook.Failed(result, kLayerVmmAddress, bytes);
  if (result != CUDA_SUCCESS) return result;
  const VmmLedger::Physical memory = hook.driver()->vmm()->Known(handle);
  const std::uint64_t known = memory.handle != 0 ? memory.handle : handle;
  hook.driver()->vmm()->Map(address, bytes, known);
  RecordVmm(&hook, kOpMap, kLayerVmmAddress, memory.device, address, bytes, known, offset);
  return result;
}

// A range may cover several maps; one event for the range, one free for each memory that goes.
template <typename Real>
CUresult UnmapPhysical(FunctionId id, Real real, CUdeviceptr address, std::size_t bytes) {
  Hook hook(id);
  const bool records = RecordsAllocations(hook);
  const std::uint64_t before_ns = records ? NowNs() : 0;
  const CUresult result = real(address, bytes);
  if (!records || result != CUDA_SUCCESS) return result;
  TheTorchLayer()->Unmapped(hook.slot(), address, bytes, before_ns);
  VmmLedger::Mapping mapping;
  VmmLedger::Physical physical;
  std::int32_t device = -1;
  while (hook.driver()->vmm()->Unmap(address, bytes, &mapping, &physical, before_ns)) {
    if (physical.handle != 0) device = physical.device;
    RecordGone(&hook, physical, before_ns);
  }
  ring::RingEvent event = hook.Event(kOpUnmap, kLayerVmmAddress);
  event.time_ns = before_ns;
  event.SetDevice(device);
  event.address = address;
  event.bytes = bytes;
  hook.Emit(&event);
  return result;
}

template <typename Real>
CUresult ReserveAddress(FunctionId id, Real real, CUdeviceptr* address, std::size_t bytes,
                        std::size_t alignment, CUdeviceptr hint, unsigned long long flags) {
  Hook hook(id);
  const CUresult result = real(address, bytes, alignment, hint, flags);
  if (!RecordsAllocations(hook)) return result;
  hook.Failed(result, kLayerVmmAddress, bytes);
  if (result == CUDA_SUCCESS)
    RecordVmm(&hook, kOpAlloc, kLayerVmmAddress, hook.Context().device, *address, bytes);
  return result;
}

template <typename Real>
CUresult FreeAddress(FunctionId id, Real real, CUdeviceptr address, std::size_t bytes) {
  Hook hook(id);
  const bool records = RecordsAllocations(hook);
  const std::int32_t device = records ? hook.Context().device : -1;
  if (records) RecordVmm(&hook, kOpFree, kLayerVmmAddress, device, address, bytes);
  const CUresult result = real(address, bytes);
  if (records) hook.Freed(result, kLayerVmmAddress, address);
  return result;
}

}  // namespace memprof::recorder
