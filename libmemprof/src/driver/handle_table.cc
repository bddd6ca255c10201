// A linear array of handles.
#include "libmemprof/src/driver/handle_table.h"

namespace memprof::recorder {

HandleTable::Entry* HandleTable::Find(std::uint64_t handle, HandleKind kind) {
  return entries_.Find(
      [=](const Entry& entry) { return entry.handle == handle && entry.kind == kind; });
}

bool HandleTable::Add(const Entry& entry) {
  LockGuard lock(mutex_);
  if (Entry* found = Find(entry.handle, entry.kind)) {
    ++found->references_;
    return false;
  }
  if (entries_.Append(entry)) entries_.end()[-1].references_ = 1;
  UpdateSize();
  return true;
}

HandleTable::Dropped HandleTable::Drop(std::uint64_t handle, HandleKind kind, Entry* entry) {
  if (size_.load(std::memory_order_relaxed) == 0) return Dropped::kUnknown;
  LockGuard lock(mutex_);
  Entry* found = Find(handle, kind);
  if (found == nullptr) return Dropped::kUnknown;
  if (entry != nullptr) *entry = *found;
  if (--found->references_ > 0) return Dropped::kReferenced;
  entries_.Erase(found);
  UpdateSize();
  return Dropped::kRemoved;
}

bool HandleTable::Get(std::uint64_t handle, HandleKind kind, Entry* entry) {
  if (size_.load(std::memory_order_relaxed) == 0) return false;
  LockGuard lock(mutex_);
  const Entry* found = Find(handle, kind);
  if (found != nullptr && entry != nullptr) *entry = *found;
  return found != nullptr;
}

bool HandleTable::TakeOwned(std::uint64_t owner, HandleKind kind, Entry* entry) {
  if (size_.load(std::memory_order_relaxed) == 0) return false;
  LockGuard lock(mutex_);
  const Entry* found = entries_.Find(
      [=](const Entry& candidate) { return candidate.owner == owner && candidate.kind == kind; });
  if (found == nullptr) return false;
  *entry = *found;
  entries_.Erase(found);
  UpdateSize();
  return true;
}

void HandleTable::EndContext(std::uint32_t context) {
  if (context == 0 || size_.load(std::memory_order_relaxed) == 0) return;
  LockGuard lock(mutex_);
  entries_.EraseIf([context](const Entry& entry) { return entry.context == context; });
  UpdateSize();
}

}  // namespace memprof::recorder
