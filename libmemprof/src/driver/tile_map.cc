// Boxes that are cut by later ones.
#include "libmemprof/src/driver/tile_map.h"

namespace memprof::recorder {
namespace {

bool Overlap(const TileMap::Region& a, const TileMap::Region& b) {
  if (a.is_tail != b.is_tail || a.level != b.level || a.layer != b.layer) return false;
  for (int axis = 0; axis < 3; ++axis)
    if (a.from[axis] >= b.to[axis] || b.from[axis] >= a.to[axis]) return false;
  return true;
}

}  // namespace

void TileMap::Remove(std::size_t i, VmmLedger* memory, ByteBuffer* gone) {
  const std::uint64_t handle = at(i)->handle;
  tiles_.Erase(i * sizeof(Tile), (i + 1) * sizeof(Tile));
  const VmmLedger::Physical physical = memory->Drop(handle);
  if (physical.last) gone->Append(&physical, sizeof physical);
}

// What is left of a tile are up to two boxes on each axis, between the cuts of the axes before.
void TileMap::Cut(std::uint64_t array, const Region& region, VmmLedger* memory, ByteBuffer* gone) {
  for (std::size_t i = count(); i-- > 0;) {
    if (at(i)->array != array || !Overlap(at(i)->region, region)) continue;
    Tile rest = *at(i);
    for (int axis = 0; axis < 3; ++axis) {
      const std::uint64_t from = rest.region.from[axis], to = rest.region.to[axis];
      if (from < region.from[axis]) {
        rest.region.to[axis] = region.from[axis];
        if (memory->Hold(rest.handle)) tiles_.Append(&rest, sizeof rest);
        rest.region.to[axis] = to;
        rest.region.from[axis] = region.from[axis];
      }
      if (to > region.to[axis]) {
        rest.region.from[axis] = region.to[axis];
        if (memory->Hold(rest.handle)) tiles_.Append(&rest, sizeof rest);
        rest.region.from[axis] = from < region.from[axis] ? region.from[axis] : from;
        rest.region.to[axis] = region.to[axis];
      }
    }
    Remove(i, memory, gone);
  }
}

void TileMap::Map(std::uint64_t array, std::uint32_t context, const Region& region,
                  std::uint64_t handle, VmmLedger* memory, ByteBuffer* gone) {
  LockGuard lock(mutex_);
  const bool known = memory->Hold(handle);  // first: it may be what is there already
  Cut(array, region, memory, gone);
  if (!known) return;
  const Tile tile{array, handle, context, region};
  tiles_.Append(&tile, sizeof tile);
}

void TileMap::Unmap(std::uint64_t array, const Region& region, VmmLedger* memory,
                    ByteBuffer* gone) {
  LockGuard lock(mutex_);
  Cut(array, region, memory, gone);
}

void TileMap::EndArray(std::uint64_t array, VmmLedger* memory, ByteBuffer* gone) {
  LockGuard lock(mutex_);
  for (std::size_t i = count(); i-- > 0;)
    if (at(i)->array == array) Remove(i, memory, gone);
}

void TileMap::EndContext(std::uint32_t context, VmmLedger* memory, ByteBuffer* gone) {
  if (context == 0) return;
  LockGuard lock(mutex_);
  for (std::size_t i = count(); i-- > 0;)
    if (at(i)->context == context) Remove(i, memory, gone);
}

}  // namespace memprof::recorder
