// Counts references to physical memory.
#include "libmemprof/src/driver/vmm_ledger.h"

namespace memprof::recorder {

VmmLedger::Handle* VmmLedger::Find(std::uint64_t handle) {
  for (std::size_t i = 0; i < handle_count(); ++i)
    if (handle_at(i)->physical.handle == handle) return handle_at(i);
  const auto* names = reinterpret_cast<const OtherName*>(aliases_.data());
  for (std::size_t i = 0; i < aliases_.size() / sizeof(OtherName); ++i)
    if (names[i].alias == handle) return Find(names[i].handle);
  return nullptr;
}

void VmmLedger::ForgetAliasesOf(std::uint64_t handle) {
  const auto* names = reinterpret_cast<const OtherName*>(aliases_.data());
  for (std::size_t i = aliases_.size() / sizeof(OtherName); i-- > 0;)
    if (names[i].handle == handle)
      aliases_.Erase(i * sizeof(OtherName), (i + 1) * sizeof(OtherName));
}

bool VmmLedger::Create(std::uint64_t handle, std::uint64_t bytes, std::int32_t device,
                       std::uint8_t layer) {
  LockGuard lock(mutex_);
  if (Handle* known = Find(handle)) {
    ++known->references;
    return false;
  }
  const Handle created{{handle, bytes, device, layer, false}, 1, 0};
  handles_.Append(&created, sizeof created);
  return true;
}

bool VmmLedger::Alias(std::uint64_t alias, std::uint64_t handle) {
  LockGuard lock(mutex_);
  Handle* known = Find(handle);
  if (known == nullptr) return false;
  ++known->references;
  if (Find(alias) == known) return true;
  const OtherName name{alias, known->physical.handle};
  aliases_.Append(&name, sizeof name);
  return true;
}

VmmLedger::Physical VmmLedger::Known(std::uint64_t handle) {
  LockGuard lock(mutex_);
  const Handle* known = Find(handle);
  return known == nullptr ? Physical{} : known->physical;
}

bool VmmLedger::Hold(std::uint64_t handle) {
  LockGuard lock(mutex_);
  Handle* known = Find(handle);
  if (known != nullptr) ++known->mappings;
  return known != nullptr;
}

VmmLedger::Physical VmmLedger::Drop(std::uint64_t handle) {
  LockGuard lock(mutex_);
  Handle* known = Find(handle);
  if (known == nullptr) return {};
  if (known->mappings > 0) --known->mappings;
  return DropIfLast(known);
}

void VmmLedger::Retain(std::uint64_t handle) {
  LockGuard lock(mutex_);
  if (Handle* known = Find(handle)) ++known->references;
}

VmmLedger::Physical VmmLedger::DropIfLast(Handle* handle) {
  Physical physical = handle->physical;
  physical.last = handle->references == 0 && handle->mappings == 0;
  if (physical.last) {
    const std::size_t at =
        static_cast<std::size_t>(reinterpret_cast<char*>(handle) - handles_.data());
    handles_.Erase(at, at + sizeof(Handle));
    ForgetAliasesOf(physical.handle);
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
  const Mapping mapping{address, bytes, handle, NowNs()};
  mappings_.Append(&mapping, sizeof mapping);
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
  const auto* mappings = reinterpret_cast<const Mapping*>(mappings_.data());
  std::size_t copied = 0;
  for (std::size_t i = mappings_.size() / sizeof(Mapping); i-- > 0 && copied < most;) {
    const Mapping& mapping = mappings[i];
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
  auto* mappings = reinterpret_cast<Mapping*>(mappings_.data());
  const std::size_t count = mappings_.size() / sizeof(Mapping);
  for (std::size_t i = 0; i < count; ++i) {
    if (mappings[i].address < address ||
        mappings[i].address - address + mappings[i].bytes > bytes ||
        mappings[i].time_ns > before_ns)
      continue;
    *mapping = mappings[i];
    mappings_.Erase(i * sizeof(Mapping), (i + 1) * sizeof(Mapping));
    *physical = {};
    Handle* known = Find(mapping->handle);
    if (known == nullptr) return true;
    if (known->mappings > 0) --known->mappings;
    *physical = DropIfLast(known);
    return true;
  }
  return false;
}

void VmmLedger::BindLocked(const Binding& binding) {
  Handle* known = Find(binding.handle);
  if (known == nullptr) return;
  ++known->mappings;
  bindings_.Append(&binding, sizeof binding);
}

void VmmLedger::Bind(std::uint64_t multicast, std::uint64_t offset, std::uint64_t bytes,
                     std::uint64_t handle) {
  LockGuard lock(mutex_);
  BindLocked({multicast, offset, bytes, handle, NowNs()});
}

void VmmLedger::BindMapped(std::uint64_t multicast, std::uint64_t offset, std::uint64_t bytes,
                           std::uint64_t address) {
  LockGuard lock(mutex_);
  const auto* mappings = reinterpret_cast<const Mapping*>(mappings_.data());
  for (std::size_t i = 0; i < mappings_.size() / sizeof(Mapping); ++i) {
    if (address < mappings[i].address || address - mappings[i].address >= mappings[i].bytes)
      continue;
    BindLocked({multicast, offset, bytes, mappings[i].handle, NowNs()});
    return;
  }
}

bool VmmLedger::Unbind(std::uint64_t multicast, std::uint64_t offset, std::uint64_t bytes,
                       std::int32_t device, Physical* physical, std::uint64_t before_ns) {
  LockGuard lock(mutex_);
  auto* bindings = reinterpret_cast<Binding*>(bindings_.data());
  for (std::size_t i = 0; i < bindings_.size() / sizeof(Binding); ++i) {
    const Binding binding = bindings[i];
    if (binding.multicast != multicast || binding.offset < offset ||
        binding.offset - offset + binding.bytes > bytes || binding.time_ns > before_ns)
      continue;
    Handle* known = Find(binding.handle);
    if (known != nullptr && device >= 0 && known->physical.device != device) continue;
    bindings_.Erase(i * sizeof(Binding), (i + 1) * sizeof(Binding));
    *physical = {};
    if (known == nullptr) return true;
    if (known->mappings > 0) --known->mappings;
    *physical = DropIfLast(known);
    return true;
  }
  return false;
}

}  // namespace memprof::recorder
