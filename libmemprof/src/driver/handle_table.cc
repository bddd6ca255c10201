// A linear array of handles.
#include "libmemprof/src/driver/handle_table.h"

namespace memprof::recorder {

HandleTable::Entry* HandleTable::Find(std::uint64_t handle, HandleKind kind) {
  for (std::size_t i = 0; i < count(); ++i)
    if (at(i)->handle == handle && at(i)->kind == kind) return at(i);
  return nullptr;
}

void HandleTable::Erase(Entry* entry) {
  const std::size_t from =
      static_cast<std::size_t>(reinterpret_cast<char*>(entry) - entries_.data());
  entries_.Erase(from, from + sizeof(Entry));
  known_.store(static_cast<std::uint32_t>(count()), std::memory_order_relaxed);
}

bool HandleTable::Add(const Entry& entry) {
  LockGuard lock(mutex_);
  if (Entry* known = Find(entry.handle, entry.kind)) {
    ++known->references;
    return false;
  }
  entries_.Append(&entry, sizeof entry);
  known_.store(static_cast<std::uint32_t>(count()), std::memory_order_relaxed);
  return true;
}

HandleTable::Dropped HandleTable::Drop(std::uint64_t handle, HandleKind kind, Entry* entry) {
  if (known_.load(std::memory_order_relaxed) == 0) return Dropped::kUnknown;
  LockGuard lock(mutex_);
  Entry* known = Find(handle, kind);
  if (known == nullptr) return Dropped::kUnknown;
  if (entry != nullptr) *entry = *known;
  if (--known->references > 0) return Dropped::kStays;
  Erase(known);
  return Dropped::kGone;
}

bool HandleTable::Get(std::uint64_t handle, HandleKind kind, Entry* entry) {
  if (known_.load(std::memory_order_relaxed) == 0) return false;
  LockGuard lock(mutex_);
  const Entry* known = Find(handle, kind);
  if (known != nullptr && entry != nullptr) *entry = *known;
  return known != nullptr;
}

bool HandleTable::TakeOwned(std::uint64_t owner, HandleKind kind, Entry* entry) {
  if (known_.load(std::memory_order_relaxed) == 0) return false;
  LockGuard lock(mutex_);
  for (std::size_t i = 0; i < count(); ++i) {
    if (at(i)->owner != owner || at(i)->kind != kind) continue;
    *entry = *at(i);
    Erase(at(i));
    return true;
  }
  return false;
}

void HandleTable::EndContext(std::uint32_t context) {
  if (context == 0 || known_.load(std::memory_order_relaxed) == 0) return;
  LockGuard lock(mutex_);
  for (std::size_t i = count(); i-- > 0;)
    if (at(i)->context == context) Erase(at(i));
}

}  // namespace memprof::recorder
