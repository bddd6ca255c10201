// A linear array of handles.
#include "libmemprof/src/driver/handle_table.h"

namespace memprof::recorder {

HandleTable::Counted* HandleTable::Find(std::uint64_t handle, HandleKind kind) {
  return entries_.Find([=](const Counted& counted) {
    return counted.entry.handle == handle && counted.entry.kind == kind;
  });
}

bool HandleTable::Add(const Entry& entry) {
  LockGuard lock(mutex_);
  if (Counted* found = Find(entry.handle, entry.kind)) {
    ++found->references;
    return false;
  }
  entries_.Append({entry, 1});
  UpdateSize();
  return true;
}

HandleTable::Dropped HandleTable::Drop(std::uint64_t handle, HandleKind kind, Entry* entry) {
  if (size_.load(std::memory_order_relaxed) == 0) return Dropped::kUnknown;
  LockGuard lock(mutex_);
  Counted* found = Find(handle, kind);
  if (found == nullptr) return Dropped::kUnknown;
  if (entry != nullptr) *entry = found->entry;
  if (--found->references > 0) return Dropped::kReferenced;
  entries_.Erase(found);
  UpdateSize();
  return Dropped::kRemoved;
}

bool HandleTable::Get(std::uint64_t handle, HandleKind kind, Entry* entry) {
  if (size_.load(std::memory_order_relaxed) == 0) return false;
  LockGuard lock(mutex_);
  const Counted* found = Find(handle, kind);
  if (found != nullptr && entry != nullptr) *entry = found->entry;
  return found != nullptr;
}

void HandleTable::Update(const Entry& entry) {
  LockGuard lock(mutex_);
  if (Counted* found = Find(entry.handle, entry.kind)) found->entry = entry;
}

bool HandleTable::TakeOwned(std::uint64_t owner, HandleKind kind, Entry* entry) {
  if (size_.load(std::memory_order_relaxed) == 0) return false;
  LockGuard lock(mutex_);
  const Counted* found = entries_.Find([=](const Counted& candidate) {
    return candidate.entry.owner == owner && candidate.entry.kind == kind;
  });
  if (found == nullptr) return false;
  *entry = found->entry;
  entries_.Erase(found);
  UpdateSize();
  return true;
}

void HandleTable::EndContext(std::uint32_t context) {
  if (context == 0 || size_.load(std::memory_order_relaxed) == 0) return;
  LockGuard lock(mutex_);
  entries_.EraseIf([context](const Counted& counted) { return counted.entry.context == context; });
  UpdateSize();
}

}  // namespace memprof::recorder
