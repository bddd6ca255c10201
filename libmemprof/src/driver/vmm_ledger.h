// Reference counts of VMM physical memory (cuMemCreate): its bytes are held until the handle, every
// handle retained or imported for it, and every mapping of it are gone. The ledger tells which
// release or unmap is the last one, so that the log has one allocation and one free per handle.
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
  // What a handle stands for; released with the same.
  struct Physical {
    std::uint64_t handle = 0;  // 0 = unknown
    std::uint64_t bytes = 0;
    std::int32_t device = -1;
    std::uint8_t layer = 0;
    bool last = false;  // nothing refers to it any more
  };
  struct Mapping {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint64_t handle = 0;
    std::uint64_t time_ns = 0;  // since when
  };
  static constexpr std::uint64_t kAnyTime = ~std::uint64_t{0};

  // False when the handle is known: then there is one reference more to its memory.
  bool Create(std::uint64_t handle, std::uint64_t bytes, std::int32_t device, std::uint8_t layer);
  void Retain(std::uint64_t handle);
  // `alias` is one more handle of the memory of `handle`, and a reference to it. False, and nothing
  // happens, when that is not known.
  bool Alias(std::uint64_t alias, std::uint64_t handle);
  // What the handle, or one that it is an alias of, stands for; `handle` is 0 when not known.
  Physical Known(std::uint64_t handle);
  // Another reference is dropped. `last` is set when the memory goes with it.
  Physical Release(std::uint64_t handle);
  void Map(std::uint64_t address, std::uint64_t bytes, std::uint64_t handle);
  // Memory, or what is mapped at an address, becomes part of a multicast object. While it is, and
  // the object lives, it is held as by a mapping. Nothing happens where it is not known.
  void Bind(std::uint64_t multicast, std::uint64_t offset, std::uint64_t bytes,
            std::uint64_t handle);
  void BindMapped(std::uint64_t multicast, std::uint64_t offset, std::uint64_t bytes,
                  std::uint64_t address);
  // Takes one binding within that range of the object out, as Unmap does.
  bool Unbind(std::uint64_t multicast, std::uint64_t offset, std::uint64_t bytes,
              std::int32_t device, Physical* physical, std::uint64_t before_ns = kAnyTime);
  // As Map and Unmap, for memory that something else than an address range refers to. Hold tells
  // whether the memory is known.
  bool Hold(std::uint64_t handle);
  Physical Drop(std::uint64_t handle);
  // The device of a handle's memory; -1 when unknown.
  std::int32_t DeviceOf(std::uint64_t handle);
  // Copies up to `most` mappings that have a byte in [from, end), the newest first, without the
  // first `skip` of them; returns how many.
  std::size_t CopyMappings(std::uint64_t from, std::uint64_t end, std::size_t skip, Mapping* out,
                           std::size_t most);
  // Takes one mapping that lies within the range out of the ledger; false when there is none left.
  // `physical->last` is set when its memory goes with it. Only what was there at `before_ns`: once
  // the driver has unmapped a range, another thread may map something else there.
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
