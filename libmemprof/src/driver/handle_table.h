// Handles and addresses that the hooks must remember: what was imported from elsewhere, which
// modules are loaded, which of their variables were looked up. Each has an owner, a count of how
// often it was handed out, and the context with which it ends.
//
// Thread-safe. Such calls are rare and slow: one lock and a linear array are enough.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "libmemprof/src/base/locks.h"
#include "libmemprof/src/base/mapped_array.h"

namespace memprof::recorder {

enum class HandleKind : std::uint8_t {
  kIpc,           // address opened from another process
  kMipmap,        // mipmapped array over external memory
  kPool,          // pool of another process; of the CUPTI source, any on a device
  kGraphicsView,  // mapped address or array; owner = the resource
  kGreen,         // green context; aux = its device
  kGreenContext,  // what a green context was converted to; owner = the green context
  kAttached,      // context that cuCtxAttach keeps beyond one cuCtxDetach
  kSparse,      // array without memory of its own; bytes = of all of it, aux = bits of an element,
                // owner = 1 if memory is bound to it as a whole
  kModule,      // module or library
  kGlobal,      // address of a variable; owner = the module
  kNvtxHeap,    // address of a heap that NVTX told of; aux = its device
  kNvtxRegion,  // address of a region; owner = its heap or 0, aux = kNvtxNamed if it has a name
};

class HandleTable {
 public:
  struct Entry {
    std::uint64_t handle = 0;
    HandleKind kind = HandleKind::kIpc;
    std::uint32_t context = 0;  // log.Context.id with which it ends; 0 = with none
    std::uint64_t owner = 0;
    std::uint64_t bytes = 0;
    std::uint64_t aux = 0;
    std::uint32_t references = 1;
  };
  enum class Dropped { kUnknown, kStays, kGone };

  // True when it is new; else there is one reference more to the known one.
  bool Add(const Entry& entry);
  // One reference less. `entry`, if given, gets what was known.
  Dropped Drop(std::uint64_t handle, HandleKind kind, Entry* entry = nullptr);
  bool Has(std::uint64_t handle, HandleKind kind) { return Get(handle, kind, nullptr); }
  // What is known of it goes to `entry`, if given.
  bool Get(std::uint64_t handle, HandleKind kind, Entry* entry);
  // Takes one entry of that owner out; false when there is none left.
  bool TakeOwned(std::uint64_t owner, HandleKind kind, Entry* entry);
  std::uint32_t size() const { return known_.load(std::memory_order_relaxed); }
  // Everything of the context is gone.
  void EndContext(std::uint32_t context);

 private:
  Entry* Find(std::uint64_t handle, HandleKind kind);
  void Count() {
    known_.store(static_cast<std::uint32_t>(entries_.size()), std::memory_order_relaxed);
  }

  std::atomic<std::uint32_t> known_{0};  // entries, to find nothing without the lock
  Mutex<LockRank::kHandles> mutex_;
  MappedArray<Entry> entries_;
};

}  // namespace memprof::recorder
