// Multicast objects: handles without memory of their own, to which memory of several devices is
// bound.
#pragma once

#include "libmemprof/src/events/call.h"

namespace memprof::recorder {

struct CreateMulticast : MemoryEvent {
  void After(Call* call, CUresult result, CUmemGenericAllocationHandle* handle,
             const void* properties) const;
};

// Adds a device to the object: recorded as a bind of no bytes.
struct AddMulticastDevice : MemoryEvent {
  void After(Call* call, CUresult result, CUmemGenericAllocationHandle multicast,
             CUdevice device) const;
};

struct BindMemory : MemoryEvent {
  void After(Call* call, CUresult result, CUmemGenericAllocationHandle multicast,
             std::size_t offset, CUmemGenericAllocationHandle memory, std::size_t memory_offset,
             std::size_t bytes, unsigned long long flags) const;
  // Since CUDA 13.1 the device is named.
  void After(Call* call, CUresult result, CUmemGenericAllocationHandle multicast, CUdevice,
             std::size_t offset, CUmemGenericAllocationHandle memory, std::size_t memory_offset,
             std::size_t bytes, unsigned long long flags) const {
    After(call, result, multicast, offset, memory, memory_offset, bytes, flags);
  }
};

struct BindAddress : MemoryEvent {
  void After(Call* call, CUresult result, CUmemGenericAllocationHandle multicast,
             std::size_t offset, CUdeviceptr address, std::size_t bytes,
             unsigned long long flags) const;
  void After(Call* call, CUresult result, CUmemGenericAllocationHandle multicast, CUdevice device,
             std::size_t offset, CUdeviceptr address, std::size_t bytes,
             unsigned long long flags) const;
};

struct UnbindMemory : MemoryEvent {
  std::uint64_t before_ns = 0;
  void Before(Call*, CUmemGenericAllocationHandle, CUdevice, std::size_t, std::size_t) {
    before_ns = NowNs();
  }
  void After(Call* call, CUresult result, CUmemGenericAllocationHandle multicast, CUdevice device,
             std::size_t offset, std::size_t bytes) const;
};

}  // namespace memprof::recorder
