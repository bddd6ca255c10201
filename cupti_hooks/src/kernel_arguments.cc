// Layouts of kernel arguments, kept in a fixed table, and the pointers found with them.
#include "cupti_hooks/src/kernel_arguments.h"

#include <atomic>
#include <cstring>

#include "cupti_hooks/src/address_map.h"
#include "cupti_hooks/src/recorder.h"

namespace memprof::cupti {
namespace {

constexpr std::size_t kSlots = 1 << 14;           // handles that can be stored at once
constexpr std::size_t kProbes = 64;               // slots that are searched for one handle
constexpr std::size_t kMaxParameters = 64;        // of one kernel; later ones are ignored
constexpr std::size_t kMaxArgumentBytes = 32768;  // of all arguments: above the driver's own limit
constexpr std::uint32_t kUnknown = 0xffffffff;

// A slot is claimed once for a handle, and kept until ClearKernelHandles. Its version is odd while
// a thread writes the rest. A thread that reads an odd version, or sees the version change while it
// reads, treats the layout as unknown.
struct Slot {
  std::atomic<std::uintptr_t> handle;
  std::atomic<std::uint32_t> version;
  std::atomic<std::uint32_t> kind;   // KernelHandleKind; 0 = cleared
  std::atomic<std::uint32_t> count;  // of parameters; kUnknown = not yet queried
  std::atomic<std::uint16_t> bytes[kMaxParameters];
};
Slot g_slots[kSlots];  // zero pages until used

struct Layout {
  std::size_t count = 0;
  std::uint16_t bytes[kMaxParameters];
};

std::size_t FirstSlot(std::uintptr_t handle) {
  return (handle >> 4) * 0x9E3779B97F4A7C15ull >> (64 - 14);
}

Slot* FindSlot(std::uintptr_t handle, bool claim) {
  for (std::size_t probe = 0; probe < kProbes; ++probe) {
    Slot& slot = g_slots[(FirstSlot(handle) + probe) % kSlots];
    std::uintptr_t owner = slot.handle.load(std::memory_order_acquire);
    if (owner == handle) return &slot;
    if (owner != 0) continue;
    if (!claim) return nullptr;
    if (slot.handle.compare_exchange_strong(owner, handle, std::memory_order_acq_rel) ||
        owner == handle) {
      return &slot;
    }
  }
  return nullptr;
}

// Makes the slot's version odd; false when another thread is writing.
bool BeginWrite(Slot& slot) {
  std::uint32_t version = slot.version.load(std::memory_order_relaxed);
  return (version & 1) == 0 &&
         slot.version.compare_exchange_strong(version, version + 1, std::memory_order_acquire);
}
void EndWrite(Slot& slot) { slot.version.fetch_add(1, std::memory_order_release); }

// Queries the driver until it answers "invalid value", which ends the list. Any other error may be
// temporary.
bool QueryLayout(void* handle, KernelHandleKind kind, Layout* layout) {
  constexpr int kInvalidValue = 1;  // CUDA_ERROR_INVALID_VALUE
  const auto query =
      kind == KernelHandleKind::kKernel ? Driver().kernel_parameter : Driver().function_parameter;
  if (query == nullptr) return false;
  layout->count = 0;
  while (layout->count < kMaxParameters) {
    std::size_t offset = 0;
    std::size_t bytes = 0;
    const int result = query(handle, layout->count, &offset, &bytes);
    if (result != 0) return result == kInvalidValue;
    if (bytes > kMaxArgumentBytes) bytes = 0;
    layout->bytes[layout->count++] = static_cast<std::uint16_t>(bytes);
  }
  return true;
}

// Reads the layout of the slot at this version; false when it has none, or another thread writes
// it.
bool ReadLayout(const Slot& slot, std::uint32_t version, Layout* layout) {
  const std::uint32_t count = slot.count.load(std::memory_order_acquire);
  if (count > kMaxParameters) return false;
  layout->count = count;
  for (std::size_t i = 0; i < count; ++i) {
    layout->bytes[i] = slot.bytes[i].load(std::memory_order_acquire);
  }
  return slot.version.load(std::memory_order_relaxed) == version;
}

bool FindLayout(void* kernel, Layout* layout) {
  const auto handle = reinterpret_cast<std::uintptr_t>(kernel);
  Slot* slot = FindSlot(handle, false);
  if (slot == nullptr) return false;
  const std::uint32_t version = slot->version.load(std::memory_order_acquire);
  // A thread that takes the slot for another handle from here on changes its version too.
  if (slot->handle.load(std::memory_order_acquire) != handle) return false;
  const std::uint32_t kind = slot->kind.load(std::memory_order_acquire);
  if (kind == 0 || (version & 1) != 0) return false;
  if (slot->count.load(std::memory_order_acquire) != kUnknown) {
    return ReadLayout(*slot, version, layout);
  }
  if (!QueryLayout(kernel, static_cast<KernelHandleKind>(kind), layout)) return false;
  if (BeginWrite(*slot)) {
    // Skipped when the driver has returned the same handle again meanwhile: its layout is then
    // queried next time.
    if (slot->version.load(std::memory_order_relaxed) == version + 1) {
      for (std::size_t i = 0; i < layout->count; ++i) {
        slot->bytes[i].store(layout->bytes[i], std::memory_order_release);
      }
      slot->count.store(static_cast<std::uint32_t>(layout->count), std::memory_order_release);
    }
    EndWrite(*slot);
  }
  return true;
}

}  // namespace

void NoteKernelHandle(const void* handle, KernelHandleKind kind) {
  if (handle == nullptr) return;
  Slot* slot = FindSlot(reinterpret_cast<std::uintptr_t>(handle), true);
  // No free slot, or another thread writes it: the handle stays as it is, at worst unknown.
  if (slot == nullptr || !BeginWrite(*slot)) return;
  slot->kind.store(static_cast<std::uint32_t>(kind), std::memory_order_release);
  slot->count.store(kUnknown, std::memory_order_release);
  EndWrite(*slot);
}

void ClearKernelHandles() {
  for (Slot& slot : g_slots) {
    if (slot.handle.load(std::memory_order_relaxed) == 0) continue;
    slot.kind.store(0, std::memory_order_relaxed);
    slot.handle.store(0, std::memory_order_release);
  }
}

void TouchedAddresses::Add(std::uint64_t word) {
  if (size_ == kMaxTouches || !IsMarked(word)) return;
  for (std::size_t i = 0; i < size_; ++i) {
    if (addresses_[i] == word) return;
  }
  addresses_[size_++] = word;
}

// Pointers lie at multiples of 8 within an argument, because it is aligned as its widest member.
void TouchedAddresses::Scan(const void* bytes, std::size_t size) {
  const char* from = static_cast<const char*>(bytes);
  for (std::size_t offset = 0; offset + 8 <= size; offset += 8) {
    std::uint64_t word;
    std::memcpy(&word, from + offset, sizeof word);
    Add(word);
  }
}

void TouchedAddresses::Collect(void* kernel, void* const* arguments, void* const* extra) {
  if (extra != nullptr) {
    // CU_LAUNCH_PARAM_END ends the list; the bound is for a program that left it out.
    const void* buffer = nullptr;
    std::size_t bytes = 0;
    for (int i = 0; i < 8 && extra[i] != nullptr; i += 2) {
      const auto key = reinterpret_cast<std::uintptr_t>(extra[i]);
      if (key == 1) buffer = extra[i + 1];
      if (key == 2 && extra[i + 1] != nullptr) {
        std::memcpy(&bytes, extra[i + 1], sizeof bytes);
      }
    }
    if (buffer != nullptr && bytes <= kMaxArgumentBytes) Scan(buffer, bytes);
    return;
  }
  Layout layout;
  if (arguments == nullptr || !FindLayout(kernel, &layout)) return;
  for (std::size_t i = 0; i < layout.count; ++i) {
    if (arguments[i] != nullptr) Scan(arguments[i], layout.bytes[i]);
  }
}

}  // namespace memprof::cupti
