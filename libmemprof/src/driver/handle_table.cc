// A linear array of handles.
#include "libmemprof/src/driver/handle_table.h"

namespace memprof::recorder {

HandleTable::Entry* HandleTable::Find(std::uint64_t handle, HandleKind kind) {
  return entries_.Find(
      [=](const Entry& entry) { return entry.handle == handle && entry.kind == kind; });
}

bool HandleTable::Add(const Entry& entry) {
  LockGuard lock(mutex_);
  if (Entry* known = Find(entry.handle, entry.kind)) {
    ++known->references;
    return false;
  }
  entries_.Append(entry);
  Count();
  return true;
}

HandleTable::Dropped HandleTable::Drop(std::uint64_t handle, HandleKind kind, Entry* entry) {
  if (known_.load(std::memory_order_relaxed) == 0) return Dropped::kUnknown;
  LockGuard lock(mutex_);
  Entry* known = Find(handle, kind);
  if (known == nullptr) return Dropped::kUnknown;
  if (entry != nullptr) *entry = *known;
  if (--known->references > 0) return Dropped::kStays;
  entries_.Erase(known);
  Count();
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
  const Entry* known = entries_.Find(
      [=](const Entry& candidate) { return candidate.owner == owner && candidate.kind == kind; });
  if (known == nullptr) return false;
  *entry = *known;
  entries_.Erase(known);
  Count();
  return true;
}

void HandleTable::EndContext(std::uint32_t context) {
  if (context == 0 || known_.load(std::memory_order_relaxed) == 0) return;
  LockGuard lock(mutex_);
  entries_.EraseIf([context](const Entry& entry) { return entry.context == context; });
  Count();
}

}  // namespace memprof::recorder
