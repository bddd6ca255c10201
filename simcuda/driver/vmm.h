// Virtual memory management: physical allocations, reserved addresses, and mappings between them.
#ifndef SIMCUDA_DRIVER_VMM_H
#define SIMCUDA_DRIVER_VMM_H

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "simcuda/driver/cuda_headers.h"

namespace memprof::simcuda {

class Device;
class Multicast;

// Physical memory behind a generic allocation handle: a memory file, so that it can be mapped at
// several addresses. It lives as long as a reference to the handle or a mapping.
class Physical {
 public:
  // Null when the device's memory does not suffice.
  static std::shared_ptr<Physical> Create(Device* device, uint64_t bytes,
                                          const CUmemAllocationProp& properties);
  // Memory of another handle or process, which is charged there. Takes ownership of the descriptor.
  static std::shared_ptr<Physical> Import(Device* device, int descriptor, uint64_t bytes);
  // The addresses of a multicast object: no memory of a device, so nothing is charged.
  static std::shared_ptr<Physical> CreateMulticast(Device* device, uint64_t bytes,
                                                   CUmemAllocationHandleType handle_types,
                                                   std::shared_ptr<Multicast> multicast);
  ~Physical();
  Physical(const Physical&) = delete;
  Physical& operator=(const Physical&) = delete;

  Device& device() const { return *device_; }
  uint64_t bytes() const { return bytes_; }
  int descriptor() const { return descriptor_; }
  const CUmemAllocationProp& properties() const { return properties_; }
  // Null for plain memory.
  const std::shared_ptr<Multicast>& multicast() const { return multicast_; }

 private:
  Physical() = default;
  Device* device_ = nullptr;
  uint64_t bytes_ = 0;
  uint64_t charged_ = 0;
  int descriptor_ = -1;
  CUmemAllocationProp properties_{};
  std::shared_ptr<Multicast> multicast_;
};

// All handles, reservations and mappings. Thread-safe.
class Vmm {
 public:
  static Vmm& Get();

  CUmemGenericAllocationHandle Add(std::shared_ptr<Physical> physical);
  std::shared_ptr<Physical> Find(CUmemGenericAllocationHandle handle);
  CUresult Release(CUmemGenericAllocationHandle handle);
  // The memory mapped at the range, which must be within one mapping, and the offset of the range
  // in it; null if it is not.
  std::shared_ptr<Physical> FindMapped(uint64_t address, uint64_t bytes, uint64_t* offset);
  // Adds a reference to the handle behind a mapped address.
  CUresult Retain(uint64_t address, CUmemGenericAllocationHandle* handle);

  CUresult Reserve(uint64_t bytes, uint64_t alignment, uint64_t hint, uint64_t* address);
  CUresult Unreserve(uint64_t address, uint64_t bytes);
  CUresult Map(uint64_t address, uint64_t bytes, uint64_t offset,
               CUmemGenericAllocationHandle handle);
  CUresult Unmap(uint64_t address, uint64_t bytes);
  CUresult SetAccess(uint64_t address, uint64_t bytes, const CUmemAccessDesc* descriptors,
                     size_t count);
  CUresult GetAccess(uint64_t address, int device, unsigned long long* flags);

 private:
  struct Handle {
    std::shared_ptr<Physical> physical;
    int references = 0;
  };
  struct Mapping {
    uint64_t bytes = 0;
    uint64_t offset = 0;
    std::shared_ptr<Physical> physical;
    std::map<int, CUmemAccess_flags> access;
  };
  bool Reserved(uint64_t address, uint64_t bytes) const;
  // The mappings that together are exactly the range; empty if there are none.
  std::vector<std::map<uint64_t, Mapping>::iterator> Cover(uint64_t address, uint64_t bytes);

  std::mutex mutex_;
  std::map<CUmemGenericAllocationHandle, Handle> handles_;
  std::map<uint64_t, uint64_t> reservations_;
  std::map<uint64_t, Mapping> mappings_;
};

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_VMM_H
