// Handles and addresses that the hooks have to remember: imports, loaded modules, the variables
// that were looked up in them. Each counts how often it was handed out, and ends with its context.
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
  kGraphicsView,  // mapped address or array; owned by the resource
  kGreen,         // green context
  kGreenContext,  // context that a green context was converted to; owned by the green context
  kAttached,      // context that cuCtxAttach keeps beyond one cuCtxDetach
  kSparse,        // array without memory of its own
  kModule,        // module or library
  kGlobal,        // address of a variable; owned by the module
  kNvtxHeap,      // address of a heap that was registered with NVTX
  kNvtxRegion,    // address of a region; owned by its heap, if it has one
};

class HandleTable {
 public:
  class Entry {
   public:
    Entry() = default;
    Entry(std::uint64_t at, HandleKind of_kind, std::uint32_t ends_with = 0,
          std::uint64_t owned_by = 0, std::uint64_t size = 0)
        : handle(at), kind(of_kind), context(ends_with), owner(owned_by), bytes(size) {}
    static Entry Green(std::uint64_t green, std::int32_t device) {
      return Entry(green, HandleKind::kGreen).With(static_cast<std::uint64_t>(device));
    }
    static Entry NvtxHeap(std::uint64_t address, std::uint64_t bytes, std::int32_t device) {
      return Entry(address, HandleKind::kNvtxHeap, 0, 0, bytes)
          .With(static_cast<std::uint32_t>(device));
    }
    // `device_bytes`: the memory that loading took; `image_bytes`: the size of the code.
    static Entry Module(std::uint64_t module, std::uint32_t context, std::uint64_t image_bytes,
                        std::uint64_t device_bytes) {
      return Entry(module, HandleKind::kModule, context, 0, image_bytes).With(device_bytes);
    }
    // Memory is bound to parts of the array, or to all of it at once.
    static Entry SparseArray(std::uint64_t array, std::uint32_t context, std::uint64_t bytes,
                             std::uint64_t element_bits) {
      return Entry(array, HandleKind::kSparse, context, 0, bytes).With(element_bits);
    }
    static Entry DeferredArray(std::uint64_t array, std::uint32_t context, std::uint64_t bytes) {
      return Entry(array, HandleKind::kSparse, context, 0, bytes).With(kBoundAsWhole);
    }

    // Of green contexts and heaps.
    std::int32_t device() const { return static_cast<std::int32_t>(value_); }
    std::uint64_t device_bytes() const { return value_; }
    bool bound_as_whole() const { return value_ == kBoundAsWhole; }
    std::uint64_t element_bits() const { return value_; }
    // Whether a heap or a region has a name.
    bool has_name() const { return (value_ & kNamed) != 0; }
    void set_has_name(bool has_name) { value_ = has_name ? value_ | kNamed : value_ & ~kNamed; }

    std::uint64_t handle = 0;
    HandleKind kind = HandleKind::kIpc;
    std::uint32_t context = 0;  // log.Context.id with which it ends; 0 = with none
    std::uint64_t owner = 0;    // handle; 0 = none
    std::uint64_t bytes = 0;

   private:
    static constexpr std::uint64_t kBoundAsWhole = ~std::uint64_t{0};
    static constexpr std::uint64_t kNamed = std::uint64_t{1} << 32;  // above the device
    Entry With(std::uint64_t value) const {
      Entry entry = *this;
      entry.value_ = value;
      return entry;
    }

    std::uint64_t value_ = 0;  // its meaning depends on the kind: see the accessors
  };
  enum class Dropped { kUnknown, kReferenced, kRemoved };

  // Inserts the entry with one reference and returns true. If its handle and kind are in the table,
  // adds one reference and returns false. Callers record a handle when this returns true, so it is
  // also true if there is no memory for the entry: a handle that is in the log twice is better than
  // one that is missing there.
  bool Add(const Entry& entry);
  // Drops one reference; the last one removes the entry. Copies the entry to `entry`, if given.
  Dropped Drop(std::uint64_t handle, HandleKind kind, Entry* entry = nullptr);
  bool Has(std::uint64_t handle, HandleKind kind) { return Get(handle, kind, nullptr); }
  // Copies the entry to `entry`, if given; false when there is none.
  bool Get(std::uint64_t handle, HandleKind kind, Entry* entry);
  // Replaces the entry with the same handle and kind, if there is one, and keeps its references.
  void Update(const Entry& entry);
  // Removes one entry of that owner; false when there is none left.
  bool TakeOwned(std::uint64_t owner, HandleKind kind, Entry* entry);
  std::uint32_t size() const { return size_.load(std::memory_order_relaxed); }
  // Removes everything that ends with the context.
  void EndContext(std::uint32_t context);

 private:
  struct Counted {
    Entry entry;
    std::uint32_t references;
  };
  static_assert(sizeof(Counted) == 48);

  Counted* Find(std::uint64_t handle, HandleKind kind);
  void UpdateSize() {
    size_.store(static_cast<std::uint32_t>(entries_.size()), std::memory_order_relaxed);
  }

  std::atomic<std::uint32_t> size_{0};  // read without the lock
  Mutex<LockRank::kHandles> mutex_;
  MappedArray<Counted> entries_;
};

}  // namespace memprof::recorder
