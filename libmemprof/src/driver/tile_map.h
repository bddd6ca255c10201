// Which physical memory is bound to which part of a sparse array, or to a whole array with deferred
// mapping. The array has no bytes of its own: the memory is counted with its handle, to which every
// tile is a reference, like a mapping (VmmLedger).
//
// Thread-safe. Such calls are rare and slow: one lock and a linear array are enough.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libmemprof/src/base/locks.h"
#include "libmemprof/src/base/mapped_array.h"
#include "libmemprof/src/driver/vmm_ledger.h"

namespace memprof::recorder {

class TileMap {
 public:
  // A box of elements of one level and layer, or a range of bytes in the tail of small levels
  // (which only uses the first axis). `to` is exclusive.
  struct Region {
    bool is_tail = false;
    std::uint32_t level = 0;
    std::uint32_t layer = 0;
    std::uint64_t from[3] = {0, 0, 0};
    std::uint64_t to[3] = {0, 1, 1};
  };

  using Freed = MappedArray<VmmLedger::Physical>;  // memory that has lost its last reference

  // Binds memory to the region, in place of what was bound there. Appends memory that loses its
  // last reference to `freed`.
  void Map(std::uint64_t array, std::uint32_t context, const Region& region, std::uint64_t handle,
           VmmLedger* memory, Freed* freed);
  void Unmap(std::uint64_t array, const Region& region, VmmLedger* memory, Freed* freed);
  // The array ends, or every array of the context (log.Context.id).
  void EndArray(std::uint64_t array, VmmLedger* memory, Freed* freed);
  void EndContext(std::uint32_t context, VmmLedger* memory, Freed* freed);

 private:
  struct Tile {
    std::uint64_t array;
    std::uint64_t handle;
    std::uint32_t context;
    Region region;
  };
  static void Drop(const Tile& tile, VmmLedger* memory, Freed* freed);
  void Cut(std::uint64_t array, const Region& region, VmmLedger* memory, Freed* freed);

  Mutex<LockRank::kTiles> mutex_;
  MappedArray<Tile> tiles_;  // no two of an array overlap
};

}  // namespace memprof::recorder
