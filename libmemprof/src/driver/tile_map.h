// Which physical memory lies under which part of a sparse array, or under a whole one whose memory
// comes later. The array has no bytes of its own: the memory is counted with its handle, which
// every tile holds as a map does (VmmLedger).
//
// Thread-safe. Such calls are rare and slow: one lock and a linear array are enough.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libmemprof/src/base/byte_buffer.h"
#include "libmemprof/src/base/sys.h"
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

  // Memory is there from now on, instead of what was. Appends the VmmLedger::Physical that lost its
  // last reference by that to `gone`.
  void Map(std::uint64_t array, std::uint32_t context, const Region& region, std::uint64_t handle,
           VmmLedger* memory, ByteBuffer* gone);
  void Unmap(std::uint64_t array, const Region& region, VmmLedger* memory, ByteBuffer* gone);
  // The array ends, or every array of the context (log.Context.id).
  void EndArray(std::uint64_t array, VmmLedger* memory, ByteBuffer* gone);
  void EndContext(std::uint32_t context, VmmLedger* memory, ByteBuffer* gone);

 private:
  struct Tile {
    std::uint64_t array;
    std::uint64_t handle;
    std::uint32_t context;
    Region region;
  };
  std::size_t count() const { return tiles_.size() / sizeof(Tile); }
  Tile* at(std::size_t i) { return reinterpret_cast<Tile*>(tiles_.data()) + i; }
  void Remove(std::size_t i, VmmLedger* memory, ByteBuffer* gone);
  void Cut(std::uint64_t array, const Region& region, VmmLedger* memory, ByteBuffer* gone);

  Mutex mutex_;
  ByteBuffer tiles_;  // of Tile; no two of an array overlap
};

}  // namespace memprof::recorder
