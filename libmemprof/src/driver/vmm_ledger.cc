// Counts references to physical memory.
#include "libmemprof/src/driver/vmm_ledger.h"

namespace memprof::recorder {

VmmLedger::Handle* VmmLedger::Find(std::uint64_t handle) {
  if (Handle* known = handles_.Find(
          [handle](const Handle& candidate) { return candidate.physical.handle == handle; }))
    return known;
  const OtherName* name =
      aliases_.Find([handle](const OtherName& candidate) { return candidate.alias == handle; });
  return name == nullptr ? nullptr : Find(name->handle);
}

bool VmmLedger::Create(std::uint64_t handle, std::uint64_t bytes, std::int32_t device,
                       std::uint8_t layer) {
  LockGuard lock(mutex_);
  if (Handle* known = Find(handle)) {
    ++known->references;
    return false;
  }
  handles_.Append({{handle, bytes, device, layer, false}, 1, 0});
  return true;
}

bool VmmLedger::Alias(std::uint64_t alias, std::uint64_t handle) {
  LockGuard lock(mutex_);
  Handle* known = Find(handle);
  if (known == nullptr) return false;
  ++known->references;
  if (Find(alias) == known) return true;
  aliases_.Append({alias, known->physical.handle});
  return true;
}

VmmLedger::Physical VmmLedger::PhysicalOf(std::uint64_t handle) {
  LockGuard lock(mutex_);
  const Handle* known = Find(handle);
  return known == nullptr ? Physical{} : known->physical;
}

VmmLedger::Physical VmmLedger::PhysicalOrHandle(std::uint64_t handle) {
  Physical physical = PhysicalOf(handle);
  if (physical.handle == 0) physical.handle = handle;
  return physical;
}

bool VmmLedger::Hold(std::uint64_t handle) {
  LockGuard lock(mutex_);
  Handle* known = Find(handle);
  if (known != nullptr) ++known->mappings;
  return known != nullptr;
}

VmmLedger::Physical VmmLedger::DropMapping(std::uint64_t handle) {
  Handle* known = Find(handle);
  if (known == nullptr) return {};
  if (known->mappings > 0) --known->mappings;
  return DropIfLast(known);
}

VmmLedger::Physical VmmLedger::Drop(std::uint64_t handle) {
  LockGuard lock(mutex_);
  return DropMapping(handle);
}

void VmmLedger::Retain(std::uint64_t handle) {
  LockGuard lock(mutex_);
  if (Handle* known = Find(handle)) ++known->references;
}

VmmLedger::Physical VmmLedger::DropIfLast(Handle* handle) {
  Physical physical = handle->physical;
  physical.last = handle->references == 0 && handle->mappings == 0;
  if (physical.last) {
    handles_.Erase(handle);
    aliases_.EraseIf([&physical](const OtherName& name) { return name.handle == physical.handle; });
  }
  return physical;
}

VmmLedger::Physical VmmLedger::Release(std::uint64_t handle) {
  LockGuard lock(mutex_);
  Handle* known = Find(handle);
  if (known == nullptr) return {};
  if (known->references > 0) --known->references;
  return DropIfLast(known);
}

void VmmLedger::Map(std::uint64_t address, std::uint64_t bytes, std::uint64_t handle) {
  LockGuard lock(mutex_);
  mappings_.Append({address, bytes, handle, NowNs()});
  if (Handle* known = Find(handle)) ++known->mappings;
}

std::int32_t VmmLedger::DeviceOf(std::uint64_t handle) {
  LockGuard lock(mutex_);
  const Handle* known = Find(handle);
  return known == nullptr ? -1 : known->physical.device;
}

std::size_t VmmLedger::CopyMappings(std::uint64_t from, std::uint64_t end, std::size_t skip,
                                    Mapping* out, std::size_t most) {
  LockGuard lock(mutex_);
  std::size_t copied = 0;
  for (std::size_t i = mappings_.size(); i-- > 0 && copied < most;) {
    const Mapping& mapping = mappings_[i];
    if (mapping.address >= end || mapping.address + mapping.bytes <= from) continue;
    if (skip > 0)
      --skip;
    else
      out[copied++] = mapping;
  }
  return copied;
}

bool VmmLedger::Unmap(std::uint64_t address, std::uint64_t bytes, Mapping* mapping,
                      Physical* physical, std::uint64_t before_ns) {
  LockGuard lock(mutex_);
  const Mapping* found = mappings_.Find([=](const Mapping& candidate) {
    return candidate.address >= address && candidate.address - address + candidate.bytes <= bytes &&
           candidate.time_ns <= before_ns;
  });
  if (found == nullptr) return false;
  *mapping = *found;
  mappings_.Erase(found);
  *physical = DropMapping(mapping->handle);
  return true;
}

void VmmLedger::BindLocked(const Binding& binding) {
  Handle* known = Find(binding.handle);
  if (known == nullptr) return;
  ++known->mappings;
  bindings_.Append(binding);
}

void VmmLedger::Bind(std::uint64_t multicast, std::uint64_t offset, std::uint64_t bytes,
                     std::uint64_t handle) {
  LockGuard lock(mutex_);
  BindLocked({multicast, offset, bytes, handle, NowNs()});
}

void VmmLedger::BindMapped(std::uint64_t multicast, std::uint64_t offset, std::uint64_t bytes,
                           std::uint64_t address) {
  LockGuard lock(mutex_);
  const Mapping* mapping = mappings_.Find([address](const Mapping& candidate) {
    return address >= candidate.address && address - candidate.address < candidate.bytes;
  });
  if (mapping != nullptr) BindLocked({multicast, offset, bytes, mapping->handle, NowNs()});
}

bool VmmLedger::Unbind(std::uint64_t multicast, std::uint64_t offset, std::uint64_t bytes,
                       std::int32_t device, Physical* physical, std::uint64_t before_ns) {
  LockGuard lock(mutex_);
  const Binding* binding = bindings_.Find([&](const Binding& candidate) {
    if (candidate.multicast != multicast || candidate.offset < offset ||
        candidate.offset - offset + candidate.bytes > bytes || candidate.time_ns > before_ns)
      return false;
    const Handle* known = device < 0 ? nullptr : Find(candidate.handle);
    return known == nullptr || known->physical.device == device;
  });
  if (binding == nullptr) return false;
  const std::uint64_t handle = binding->handle;
  bindings_.Erase(binding);
  *physical = DropMapping(handle);
  return true;
}

}  // namespace memprof::recorder
