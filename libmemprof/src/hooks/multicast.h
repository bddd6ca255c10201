// Hooks of multicast objects: handles without memory of their own, to which memory of several
// devices is bound.
#pragma once

#include "libmemprof/src/hooks/vmm.h"

namespace memprof::recorder {

// A multicast object has a handle but no memory of its own.
template <typename Real>
CUresult CreateMulticast(FunctionId id, Real real, CUmemGenericAllocationHandle* handle,
                         const void* properties) {
  Hook hook(id);
  const CUresult result = real(handle, properties);
  if (!RecordsAllocations(hook)) return result;
  hook.Failed(result, kLayerMulticast);
  if (result != CUDA_SUCCESS) return result;
  hook.driver()->vmm()->Create(*handle, 0, -1, kLayerMulticast);
  RecordVmm(&hook, kOpAlloc, kLayerMulticast, -1, *handle, 0);
  return result;
}

// For as long as the object lives: a bind of no bytes.
template <typename Real>
CUresult AddMulticastDevice(FunctionId id, Real real, CUmemGenericAllocationHandle multicast,
                            CUdevice device) {
  Hook hook(id);
  const CUresult result = real(multicast, device);
  if (!RecordsAllocations(hook)) return result;
  hook.Failed(result, kLayerMulticast);
  if (result == CUDA_SUCCESS) RecordVmm(&hook, kOpMap, kLayerMulticast, device, multicast, 0);
  return result;
}

template <typename Real>
CUresult BindMemory(FunctionId id, Real real, CUmemGenericAllocationHandle multicast,
                    std::size_t offset, CUmemGenericAllocationHandle memory,
                    std::size_t memory_offset, std::size_t bytes, unsigned long long flags) {
  Hook hook(id);
  const CUresult result = real(multicast, offset, memory, memory_offset, bytes, flags);
  if (!RecordsAllocations(hook)) return result;
  hook.Failed(result, kLayerMulticast, bytes);
  if (result != CUDA_SUCCESS) return result;
  VmmLedger* vmm = hook.driver()->vmm();
  const VmmLedger::Physical bound = vmm->Known(memory);
  const std::uint64_t known = bound.handle != 0 ? bound.handle : memory;
  vmm->Bind(multicast, offset, bytes, known);
  RecordVmm(&hook, kOpMap, kLayerMulticast, bound.device, multicast, bytes, known, offset);
  return result;
}

template <typename Real>
CUresult BindAddress(FunctionId id, Real real, CUmemGenericAllocationHandle multicast,
                     std::size_t offset, CUdeviceptr address, std::size_t bytes,
                     unsigned long long flags) {
  Hook hook(id);
  const CUresult result = real(multicast, offset, address, bytes, flags);
  if (!RecordsAllocations(hook)) return result;
  hook.Failed(result, kLayerMulticast, bytes);
  if (result != CUDA_SUCCESS) return result;
  hook.driver()->vmm()->BindMapped(multicast, offset, bytes, address);
  RecordVmm(&hook, kOpMap, kLayerMulticast, hook.Context().device, multicast, bytes, address,
            offset);
  return result;
}

template <typename Real>
CUresult UnbindMemory(FunctionId id, Real real, CUmemGenericAllocationHandle multicast,
                      CUdevice device, std::size_t offset, std::size_t bytes) {
  Hook hook(id);
  const std::uint64_t before_ns = RecordsAllocations(hook) ? NowNs() : 0;
  const CUresult result = real(multicast, device, offset, bytes);
  if (!RecordsAllocations(hook) || result != CUDA_SUCCESS) return result;
  VmmLedger::Physical bound;
  while (hook.driver()->vmm()->Unbind(multicast, offset, bytes, device, &bound, before_ns))
    RecordGone(&hook, bound, before_ns);
  ring::RingEvent event = hook.Event(kOpUnmap, kLayerMulticast);
  event.time_ns = before_ns;
  event.SetDevice(device);
  event.address = multicast;
  event.bytes = bytes;
  event.aux1 = offset;
  hook.Emit(&event);
  return result;
}

}  // namespace memprof::recorder
