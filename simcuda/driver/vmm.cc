// The model of virtual memory management.
#include "simcuda/driver/vmm.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "simcuda/driver/allocation.h"
#include "simcuda/driver/device.h"
#include "simcuda/driver/multicast.h"

namespace memprof::simcuda {
namespace {

bool Whole(uint64_t bytes) { return bytes != 0 && bytes % kPageBytes == 0; }

// Makes a range of reserved addresses inaccessible, without memory.
bool Blank(uint64_t address, uint64_t bytes, bool fixed) {
  return mmap(Ptr(address), bytes, PROT_NONE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (fixed ? MAP_FIXED : 0), -1,
              0) != MAP_FAILED;
}

}  // namespace

std::shared_ptr<Physical> Physical::Create(Device* device, uint64_t bytes,
                                           const CUmemAllocationProp& properties) {
  std::shared_ptr<Physical> physical(new Physical);
  physical->device_ = device;
  if (!device->memory().Charge(Use::kVmm, bytes)) return nullptr;
  physical->charged_ = bytes;
  physical->bytes_ = bytes;
  physical->properties_ = properties;
  physical->descriptor_ = memfd_create("simcuda", MFD_CLOEXEC);
  if (physical->descriptor_ < 0 ||
      ftruncate(physical->descriptor_, static_cast<off_t>(bytes)) != 0) {
    return nullptr;
  }
  return physical;
}

std::shared_ptr<Physical> Physical::Import(Device* device, int descriptor, uint64_t bytes) {
  std::shared_ptr<Physical> physical(new Physical);
  physical->device_ = device;
  physical->bytes_ = bytes;
  physical->descriptor_ = descriptor;
  physical->properties_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  physical->properties_.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  physical->properties_.location = {CU_MEM_LOCATION_TYPE_DEVICE, {device->id()}};
  return physical;
}

std::shared_ptr<Physical> Physical::CreateMulticast(Device* device, uint64_t bytes,
                                                    CUmemAllocationHandleType handle_types,
                                                    std::shared_ptr<Multicast> multicast) {
  const int descriptor = memfd_create("simcuda multicast", MFD_CLOEXEC);
  if (descriptor < 0) return nullptr;
  auto physical = Import(device, descriptor, bytes);
  physical->properties_.requestedHandleTypes = handle_types;
  physical->multicast_ = std::move(multicast);
  return ftruncate(descriptor, static_cast<off_t>(bytes)) == 0 ? physical : nullptr;
}

Physical::~Physical() {
  if (descriptor_ >= 0) close(descriptor_);
  if (charged_ != 0) device_->memory().Refund(Use::kVmm, charged_);
}

Vmm& Vmm::Get() {
  static auto* vmm = new Vmm;
  return *vmm;
}

CUmemGenericAllocationHandle Vmm::Add(std::shared_ptr<Physical> physical) {
  const std::lock_guard lock(mutex_);
  const auto handle = reinterpret_cast<CUmemGenericAllocationHandle>(physical.get());
  handles_[handle] = {std::move(physical), 1};
  return handle;
}

std::shared_ptr<Physical> Vmm::Find(CUmemGenericAllocationHandle handle) {
  const std::lock_guard lock(mutex_);
  const auto found = handles_.find(handle);
  return found == handles_.end() ? nullptr : found->second.physical;
}

CUresult Vmm::Release(CUmemGenericAllocationHandle handle) {
  std::shared_ptr<Physical> last;
  const std::lock_guard lock(mutex_);
  const auto found = handles_.find(handle);
  if (found == handles_.end()) return CUDA_ERROR_INVALID_VALUE;
  if (--found->second.references == 0) {
    last = std::move(found->second.physical);
    handles_.erase(found);
  }
  return CUDA_SUCCESS;
}

std::shared_ptr<Physical> Vmm::FindMapped(uint64_t address, uint64_t bytes, uint64_t* offset) {
  const std::lock_guard lock(mutex_);
  auto mapping = mappings_.upper_bound(address);
  if (mapping == mappings_.begin()) return nullptr;
  mapping = std::prev(mapping);
  const uint64_t inside = address - mapping->first;
  if (inside >= mapping->second.bytes || bytes > mapping->second.bytes - inside) return nullptr;
  *offset = mapping->second.offset + inside;
  return mapping->second.physical;
}

CUresult Vmm::Retain(uint64_t address, CUmemGenericAllocationHandle* handle) {
  const std::lock_guard lock(mutex_);
  auto mapping = mappings_.upper_bound(address);
  if (mapping == mappings_.begin()) return CUDA_ERROR_INVALID_VALUE;
  mapping = std::prev(mapping);
  if (address >= mapping->first + mapping->second.bytes) return CUDA_ERROR_INVALID_VALUE;
  const auto& physical = mapping->second.physical;
  *handle = reinterpret_cast<CUmemGenericAllocationHandle>(physical.get());
  Handle& entry = handles_[*handle];
  entry.physical = physical;
  ++entry.references;
  return CUDA_SUCCESS;
}

CUresult Vmm::Reserve(uint64_t bytes, uint64_t alignment, uint64_t hint, uint64_t* address) {
  alignment = std::max(alignment, kPageBytes);
  if (!Whole(bytes) || (alignment & (alignment - 1)) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (bytes > (uint64_t{1} << 47) || alignment > (uint64_t{1} << 40)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  const uint64_t mapped = bytes + alignment;
  void* mapping =
      mmap(Ptr(hint), mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  madvise(mapping, mapped, MADV_DONTFORK);
  const auto start = reinterpret_cast<uint64_t>(mapping);
  *address = RoundUp(start, alignment);
  if (*address > start) munmap(mapping, *address - start);
  const uint64_t end = start + mapped;
  if (end > *address + bytes) munmap(Ptr(*address + bytes), end - *address - bytes);
  const std::lock_guard lock(mutex_);
  reservations_.emplace(*address, bytes);
  return CUDA_SUCCESS;
}

CUresult Vmm::Unreserve(uint64_t address, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = reservations_.find(address);
  if (found == reservations_.end() || found->second != bytes) return CUDA_ERROR_INVALID_VALUE;
  const auto inside = mappings_.lower_bound(address);
  if (inside != mappings_.end() && inside->first < address + bytes) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  reservations_.erase(found);
  munmap(Ptr(address), bytes);
  return CUDA_SUCCESS;
}

bool Vmm::Reserved(uint64_t address, uint64_t bytes) const {
  auto found = reservations_.upper_bound(address);
  if (found == reservations_.begin()) return false;
  found = std::prev(found);
  const uint64_t offset = address - found->first;
  return offset <= found->second && bytes <= found->second - offset;
}

CUresult Vmm::Map(uint64_t address, uint64_t bytes, uint64_t offset,
                  CUmemGenericAllocationHandle handle) {
  const std::lock_guard lock(mutex_);
  const auto found = handles_.find(handle);
  if (found == handles_.end()) return CUDA_ERROR_INVALID_VALUE;
  const auto& physical = found->second.physical;
  if (!Whole(bytes) || address % kPageBytes != 0 || offset % kPageBytes != 0 ||
      offset > physical->bytes() || bytes > physical->bytes() - offset ||
      !Reserved(address, bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (physical->multicast() != nullptr && !physical->multicast()->complete()) {
    return CUDA_ERROR_NOT_READY;
  }
  auto record = std::make_shared<Allocation>();
  record->kind = AllocationKind::kMapped;
  record->device = physical->device().id();
  record->address = address;
  record->requested = record->granted = bytes;
  record->readable = false;
  record->writable = false;
  record->handle = handle;
  record->offset = offset;
  if (!Allocations().Add(record)) return CUDA_ERROR_INVALID_VALUE;
  if (mmap(Ptr(address), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
           physical->descriptor(), static_cast<off_t>(offset)) == MAP_FAILED) {
    Allocations().Remove(address, [](const Allocation&) { return true; });
    Blank(address, bytes, true);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  madvise(Ptr(address), bytes, MADV_DONTFORK);
  mappings_[address] = {bytes, offset, physical, {}};
  return CUDA_SUCCESS;
}

std::vector<std::map<uint64_t, Vmm::Mapping>::iterator> Vmm::Cover(uint64_t address,
                                                                   uint64_t bytes) {
  std::vector<std::map<uint64_t, Mapping>::iterator> covering;
  const uint64_t end = address + bytes;
  if (bytes == 0 || end < address) return {};
  while (address < end) {
    const auto mapping = mappings_.find(address);
    if (mapping == mappings_.end()) return {};
    covering.push_back(mapping);
    address += mapping->second.bytes;
  }
  if (address != end) covering.clear();
  return covering;
}

CUresult Vmm::Unmap(uint64_t address, uint64_t bytes) {
  std::vector<std::shared_ptr<Physical>> last;
  const std::lock_guard lock(mutex_);
  const auto covering = Cover(address, bytes);
  if (covering.empty()) return CUDA_ERROR_INVALID_VALUE;
  for (const auto& mapping : covering) {
    Allocations().Remove(mapping->first, [](const Allocation&) { return true; });
    Blank(mapping->first, mapping->second.bytes, true);
    madvise(Ptr(mapping->first), mapping->second.bytes, MADV_DONTFORK);
    last.push_back(std::move(mapping->second.physical));
    mappings_.erase(mapping);
  }
  return CUDA_SUCCESS;
}

CUresult Vmm::SetAccess(uint64_t address, uint64_t bytes, const CUmemAccessDesc* descriptors,
                        size_t count) {
  const std::lock_guard lock(mutex_);
  const auto covering = Cover(address, bytes);
  if (covering.empty()) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) {
    if (descriptors[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        FindDevice(descriptors[i].location.id) == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  for (const auto& mapping : covering) {
    auto& access = mapping->second.access;
    for (size_t i = 0; i < count; ++i) {
      access[descriptors[i].location.id] = descriptors[i].flags;
    }
    // All devices are the same CPU: access of one is access of all.
    bool readable = false;
    bool writable = false;
    for (const auto& [device, flags] : access) {
      readable = readable || flags != CU_MEM_ACCESS_FLAGS_PROT_NONE;
      writable = writable || flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    }
    mprotect(Ptr(mapping->first), mapping->second.bytes,
             (readable ? PROT_READ : 0) | (writable ? PROT_WRITE : 0));
    const auto record = Allocations().Find(mapping->first);
    if (record != nullptr) {
      record->readable = readable;
      record->writable = writable;
    }
  }
  return CUDA_SUCCESS;
}

CUresult Vmm::GetAccess(uint64_t address, int device, unsigned long long* flags) {
  const std::lock_guard lock(mutex_);
  auto mapping = mappings_.upper_bound(address);
  if (mapping == mappings_.begin()) return CUDA_ERROR_INVALID_VALUE;
  mapping = std::prev(mapping);
  if (address >= mapping->first + mapping->second.bytes) return CUDA_ERROR_INVALID_VALUE;
  const auto found = mapping->second.access.find(device);
  *flags = found == mapping->second.access.end() ? CU_MEM_ACCESS_FLAGS_PROT_NONE : found->second;
  return CUDA_SUCCESS;
}

}  // namespace memprof::simcuda
