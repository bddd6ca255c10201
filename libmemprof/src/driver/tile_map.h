// Which physical memory lies under which part of a sparse array, or under a whole one whose memory
// comes later. The array has no bytes of its own: the memory is counted with its handle, which
// every tile holds as a map does (VmmLedger).
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
  // A box of elements of one level and layer, or a range of bytes of a tail of small levels (then
  // only the first axis counts). `to` lies outside.
  struct Region {
    bool is_tail = false;
    std::uint32_t level = 0;
    std::uint32_t layer = 0;
    std::uint64_t from[3] = {0, 0, 0};
    std::uint64_t to[3] = {0, 1, 1};
  };

  using Gone = MappedArray<VmmLedger::Physical>;  // memory that has lost its last reference

  // Memory is there from now on, instead of what was. Appends what is gone by that to `gone`.
  void Map(std::uint64_t array, std::uint32_t context, const Region& region, std::uint64_t handle,
           VmmLedger* memory, Gone* gone);
  void Unmap(std::uint64_t array, const Region& region, VmmLedger* memory, Gone* gone);
  // The array ends, or every array of the context (log.Context.id).
  void EndArray(std::uint64_t array, VmmLedger* memory, Gone* gone);
  void EndContext(std::uint32_t context, VmmLedger* memory, Gone* gone);

 private:
  struct Tile {
    std::uint64_t array;
    std::uint64_t handle;
    std::uint32_t context;
    Region region;
  };
  static void Drop(const Tile& tile, VmmLedger* memory, Gone* gone);
  void Cut(std::uint64_t array, const Region& region, VmmLedger* memory, Gone* gone);

  Mutex<LockRank::kTiles> mutex_;
  MappedArray<Tile> tiles_;  // no two of an array overlap
};

}  // namespace memprof::recorder
