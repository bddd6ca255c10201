// Reference counts of VMM physical memory (cuMemCreate). The memory is held by its handle, by every
// handle that was retained or imported for it, and by every mapping. The ledger finds the release
// or unmap that drops the last reference, so that the log has one allocation and one free for each
// memory.
//
// Thread-safe. VMM calls are rare and slow: one lock and linear arrays are enough.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libmemprof/src/base/locks.h"
#include "libmemprof/src/base/mapped_array.h"

namespace memprof::recorder {

class VmmLedger {
 public:
  // The memory of a handle, also of a released one.
  struct Physical {
    std::uint64_t handle = 0;  // 0 = unknown
    std::uint64_t bytes = 0;
    std::int32_t device = -1;
    std::uint8_t layer = 0;
    bool last = false;  // the last reference was dropped
  };
  struct Mapping {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint64_t handle = 0;
    std::uint64_t time_ns = 0;  // since when
  };
  static constexpr std::uint64_t kAnyTime = ~std::uint64_t{0};

  // False when the handle is in the ledger; its memory then gets one more reference.
  bool Create(std::uint64_t handle, std::uint64_t bytes, std::int32_t device, std::uint8_t layer);
  void Retain(std::uint64_t handle);
  // Adds `alias`, another handle of the memory of `handle`, and a reference. False, and nothing
  // happens, if `handle` is unknown.
  bool Alias(std::uint64_t alias, std::uint64_t handle);
  // The memory of a handle or alias; its `handle` is 0 if it is unknown.
  Physical PhysicalOf(std::uint64_t handle);
  // The same, but for unknown memory `handle` itself, without bytes or device: events of mappings
  // and bindings name it.
  Physical PhysicalOrHandle(std::uint64_t handle);
  // Drops a reference. Sets `last` if it was the last one.
  Physical Release(std::uint64_t handle);
  void Map(std::uint64_t address, std::uint64_t bytes, std::uint64_t handle);
  // Binds memory, or what is mapped at an address, to a multicast object, which holds it like a
  // mapping. Does nothing for unknown memory.
  void Bind(std::uint64_t multicast, std::uint64_t offset, std::uint64_t bytes,
            std::uint64_t handle);
  void BindMapped(std::uint64_t multicast, std::uint64_t offset, std::uint64_t bytes,
                  std::uint64_t address);
  // Removes one binding within that range of the object, as Unmap does.
  bool Unbind(std::uint64_t multicast, std::uint64_t offset, std::uint64_t bytes,
              std::int32_t device, Physical* physical, std::uint64_t before_ns = kAnyTime);
  // As Map and Unmap, for references other than by an address range. Hold returns whether the
  // memory is known.
  bool Hold(std::uint64_t handle);
  Physical Drop(std::uint64_t handle);
  // The device of a handle's memory; -1 when unknown.
  std::int32_t DeviceOf(std::uint64_t handle);
  // Copies up to `most` mappings that overlap [from, end), the newest first, after the first `skip`
  // of them; returns their number.
  std::size_t CopyMappings(std::uint64_t from, std::uint64_t end, std::size_t skip, Mapping* out,
                           std::size_t most);
  // Removes one mapping that lies within the range; false when there is none left. Sets
  // `physical->last` if its memory has lost its last reference. Only mappings that existed at
  // `before_ns`: once the driver has unmapped a range, another thread may map other memory there.
  bool Unmap(std::uint64_t address, std::uint64_t bytes, Mapping* mapping, Physical* physical,
             std::uint64_t before_ns = kAnyTime);

 private:
  struct Handle {
    Physical physical;
    std::uint32_t references;
    std::uint32_t mappings;
  };
  struct Binding {
    std::uint64_t multicast;
    std::uint64_t offset;
    std::uint64_t bytes;
    std::uint64_t handle;
    std::uint64_t time_ns;
  };
  struct OtherName {
    std::uint64_t alias;
    std::uint64_t handle;
  };
  Handle* Find(std::uint64_t handle);
  void BindLocked(const Binding& binding);
  Physical DropMapping(std::uint64_t handle);
  Physical DropIfLast(Handle* handle);

  Mutex<LockRank::kVmm> mutex_;
  MappedArray<Handle> handles_;
  MappedArray<Mapping> mappings_;
  MappedArray<Binding> bindings_;
  MappedArray<OtherName> aliases_;
};

}  // namespace memprof::recorder
