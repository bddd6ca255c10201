// Logical endpoints of a fabric (CUDA 13.3): names without memory of their own, to which memory of
// one or several devices is bound. Recorded like multicast objects (multicast.h), which hold what
// is bound to them; NVIDIA's reference does not say when bound memory ends.
#pragma once

#include "libmemprof/src/events/multicast.h"
#include "libmemprof/src/events/vmm.h"

namespace memprof::recorder {

// Endpoints are numbered from 0 by 32 bits. The top byte keeps their numbers apart from handles of
// memory, which are addresses in the driver.
constexpr std::uint64_t EndpointHandle(cuuint32_t endpoint) {
  return std::uint64_t{0x1e} << 56 | endpoint;
}

// Also of an imported one.
struct CreateEndpoint : MemoryEvent {
  template <typename... Properties>
  void After(Call* call, CUresult result, cuuint32_t endpoint, Properties...) const {
    CUmemGenericAllocationHandle handle = EndpointHandle(endpoint);
    CreateMulticast().After(call, result, &handle, nullptr);
  }
};

struct AddEndpointDevice : MemoryEvent {
  void After(Call* call, CUresult result, cuuint32_t endpoint, CUdevice device) const {
    AddMulticastDevice().After(call, result, EndpointHandle(endpoint), device);
  }
};

struct BindEndpointMemory : MemoryEvent {
  void After(Call* call, CUresult result, cuuint32_t endpoint, CUdevice device, cuuint64_t offset,
             CUmemGenericAllocationHandle memory, cuuint64_t memory_offset, cuuint64_t bytes,
             unsigned long long flags) const {
    BindMemory().After(call, result, EndpointHandle(endpoint), device, offset, memory,
                       memory_offset, bytes, flags);
  }
};

struct BindEndpointAddress : MemoryEvent {
  void After(Call* call, CUresult result, cuuint32_t endpoint, CUdevice device, cuuint64_t offset,
             void* address, cuuint64_t bytes, unsigned long long flags) const {
    BindAddress().After(call, result, EndpointHandle(endpoint), device, offset, Number(address),
                        bytes, flags);
  }
};

class UnbindEndpoint : public MemoryEvent {
 public:
  void Before(Call* call, cuuint32_t endpoint, CUdevice device, cuuint64_t offset,
              cuuint64_t bytes) {
    event_.Before(call, EndpointHandle(endpoint), device, offset, bytes);
  }
  void After(Call* call, CUresult result, cuuint32_t endpoint, CUdevice device, cuuint64_t offset,
             cuuint64_t bytes) const {
    event_.After(call, result, EndpointHandle(endpoint), device, offset, bytes);
  }

 private:
  UnbindMemory event_;
};

class DestroyEndpoint : public MemoryEvent {
 public:
  void Before(Call* call, cuuint32_t endpoint) { event_.Before(call, EndpointHandle(endpoint)); }
  void After(Call* call, CUresult result, cuuint32_t endpoint) const {
    event_.After(call, result, EndpointHandle(endpoint));
  }

 private:
  ReleasePhysical event_;
};

}  // namespace memprof::recorder
