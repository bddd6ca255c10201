// Events of multicast objects.
#include "libmemprof/src/events/multicast.h"

#include "libmemprof/src/events/vmm.h"

namespace memprof::recorder {

void CreateMulticast::After(Call* call, CUresult result, CUmemGenericAllocationHandle* handle,
                            const void*) const {
  call->Failed(result, kLayerMulticast);
  if (result != CUDA_SUCCESS) return;
  call->driver()->vmm()->Create(*handle, 0, -1, kLayerMulticast);
  RecordVmm(call, kOpAlloc, kLayerMulticast, -1, *handle, 0);
}

void AddMulticastDevice::After(Call* call, CUresult result, CUmemGenericAllocationHandle multicast,
                               CUdevice device) const {
  call->Failed(result, kLayerMulticast);
  if (result == CUDA_SUCCESS) RecordVmm(call, kOpMap, kLayerMulticast, device, multicast, 0);
}

void BindMemory::After(Call* call, CUresult result, CUmemGenericAllocationHandle multicast,
                       std::size_t offset, CUmemGenericAllocationHandle memory, std::size_t,
                       std::size_t bytes, unsigned long long) const {
  call->Failed(result, kLayerMulticast, bytes);
  if (result != CUDA_SUCCESS) return;
  VmmLedger* vmm = call->driver()->vmm();
  const VmmLedger::Physical bound = vmm->PhysicalOrHandle(memory);
  vmm->Bind(multicast, offset, bytes, bound.handle);
  RecordVmm(call, kOpMap, kLayerMulticast, bound.device, multicast, bytes, bound.handle, offset);
}

void BindAddress::After(Call* call, CUresult result, CUmemGenericAllocationHandle multicast,
                        std::size_t offset, CUdeviceptr address, std::size_t bytes,
                        unsigned long long flags) const {
  After(call, result, multicast, call->Context().device, offset, address, bytes, flags);
}

void BindAddress::After(Call* call, CUresult result, CUmemGenericAllocationHandle multicast,
                        CUdevice device, std::size_t offset, CUdeviceptr address, std::size_t bytes,
                        unsigned long long) const {
  call->Failed(result, kLayerMulticast, bytes);
  if (result != CUDA_SUCCESS) return;
  call->driver()->vmm()->BindMapped(multicast, offset, bytes, address);
  RecordVmm(call, kOpMap, kLayerMulticast, device, multicast, bytes, address, offset);
}

void UnbindMemory::After(Call* call, CUresult result, CUmemGenericAllocationHandle multicast,
                         CUdevice device, std::size_t offset, std::size_t bytes) const {
  if (result != CUDA_SUCCESS) return;
  VmmLedger::Physical bound;
  while (call->driver()->vmm()->Unbind(multicast, offset, bytes, device, &bound, before_ns))
    RecordPhysicalFree(call, bound, before_ns);
  ring::RingEvent event = call->Event(kOpUnmap, kLayerMulticast);
  event.time_ns = before_ns;
  event.SetDevice(device);
  event.address = multicast;
  event.bytes = bytes;
  event.aux1 = offset;
  call->Emit(&event);
}

}  // namespace memprof::recorder
