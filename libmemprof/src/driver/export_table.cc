// Marks file descriptions; compares other exports.
#include "libmemprof/src/driver/export_table.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <cerrno>

namespace memprof::recorder {

int ExportTable::SlotOf(int descriptor) {
  const int kept = errno;
  const int owner = fcntl(descriptor, F_GETOWN);
  const int signal = owner == getpid() ? fcntl(descriptor, F_GETSIG) : 0;
  errno = kept;
  return signal >= 1 && signal <= static_cast<int>(kDescriptors) ? signal - 1 : -1;
}

void ExportTable::AddDescriptor(int descriptor, const Memory& memory) {
  LockGuard lock(mutex_);
  std::size_t slot = next_;
  for (std::size_t tries = 0; used_[slot] && descriptors_[slot].handle != 0; ++tries) {
    if (tries == kDescriptors) return;
    slot = (slot + 1) % kDescriptors;
  }
  const int kept = errno;
  const bool marked = fcntl(descriptor, F_GETOWN) == 0 &&
                      fcntl(descriptor, F_SETSIG, static_cast<int>(slot) + 1) == 0 &&
                      fcntl(descriptor, F_SETOWN, getpid()) == 0;
  errno = kept;
  if (!marked) return;
  used_[slot] = true;
  descriptors_[slot] = memory;
  next_ = (slot + 1) % kDescriptors;
}

bool ExportTable::FindDescriptor(int descriptor, Memory* memory) {
  LockGuard lock(mutex_);
  const int slot = SlotOf(descriptor);
  if (slot < 0 || !used_[slot]) return false;
  *memory = descriptors_[slot];
  return true;
}

ExportTable::Content* ExportTable::Find(Kind kind, const void* content) {
  return contents_.Find([=](const Content& known) {
    return known.kind == kind && memcmp(known.bytes, content, kContentBytes) == 0;
  });
}

bool ExportTable::AddContent(Kind kind, const void* content, const Memory& memory) {
  LockGuard lock(mutex_);
  if (Content* known = Find(kind, content)) {
    const bool is_new = known->memory.handle != memory.handle;
    known->memory = memory;
    return is_new;
  }
  if (contents_.size() >= kContents) contents_.Erase(contents_.begin());
  Content added{};
  added.kind = kind;
  memcpy(added.bytes, content, kContentBytes);
  added.memory = memory;
  contents_.Append(added);
  return true;
}

bool ExportTable::FindContent(Kind kind, const void* content, Memory* memory) {
  LockGuard lock(mutex_);
  const Content* known = Find(kind, content);
  if (known != nullptr) *memory = known->memory;
  return known != nullptr;
}

void ExportTable::End(std::uint64_t handle) {
  LockGuard lock(mutex_);
  for (Memory& memory : descriptors_)
    if (memory.handle == handle) memory.handle = 0;
  for (Content& known : contents_)
    if (known.kind == Kind::kPhysical && known.memory.handle == handle) known.memory.handle = 0;
}

void ExportTable::ReviveDescriptor(int descriptor, std::uint64_t handle) {
  LockGuard lock(mutex_);
  const int slot = SlotOf(descriptor);
  if (slot >= 0 && used_[slot]) descriptors_[slot].handle = handle;
}

void ExportTable::ReviveContent(Kind kind, const void* content, std::uint64_t handle) {
  LockGuard lock(mutex_);
  if (Content* known = Find(kind, content)) known->memory.handle = handle;
}

}  // namespace memprof::recorder
