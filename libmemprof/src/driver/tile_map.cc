// Boxes, which later boxes cut.
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

void TileMap::Drop(const Tile& tile, VmmLedger* memory, Freed* freed) {
  const VmmLedger::Physical physical = memory->Drop(tile.handle);
  if (physical.last) freed->Append(physical);
}

// Cuts the region out of the array's tiles. Of each tile up to two boxes on each axis remain,
// within the cuts of the axes before.
void TileMap::Cut(std::uint64_t array, const Region& region, VmmLedger* memory, Freed* freed) {
  for (std::size_t i = tiles_.size(); i-- > 0;) {
    if (tiles_[i].array != array || !Overlap(tiles_[i].region, region)) continue;
    const Tile cut = tiles_[i];
    Tile rest = cut;
    for (int axis = 0; axis < 3; ++axis) {
      const std::uint64_t from = rest.region.from[axis], to = rest.region.to[axis];
      if (from < region.from[axis]) {
        rest.region.to[axis] = region.from[axis];
        if (memory->Hold(rest.handle)) tiles_.Append(rest);
        rest.region.to[axis] = to;
        rest.region.from[axis] = region.from[axis];
      }
      if (to > region.to[axis]) {
        rest.region.from[axis] = region.to[axis];
        if (memory->Hold(rest.handle)) tiles_.Append(rest);
        rest.region.from[axis] = from < region.from[axis] ? region.from[axis] : from;
        rest.region.to[axis] = region.to[axis];
      }
    }
    tiles_.Erase(&tiles_[i]);
    Drop(cut, memory, freed);
  }
}

void TileMap::Map(std::uint64_t array, std::uint32_t context, const Region& region,
                  std::uint64_t handle, VmmLedger* memory, Freed* freed) {
  LockGuard lock(mutex_);
  const bool known = memory->Hold(handle);  // first: it may already be bound there
  Cut(array, region, memory, freed);
  if (!known) return;
  tiles_.Append({array, handle, context, region});
}

void TileMap::Unmap(std::uint64_t array, const Region& region, VmmLedger* memory, Freed* freed) {
  LockGuard lock(mutex_);
  Cut(array, region, memory, freed);
}

void TileMap::EndArray(std::uint64_t array, VmmLedger* memory, Freed* freed) {
  LockGuard lock(mutex_);
  tiles_.EraseIf([=](const Tile& tile) {
    if (tile.array != array) return false;
    Drop(tile, memory, freed);
    return true;
  });
}

void TileMap::EndContext(std::uint32_t context, VmmLedger* memory, Freed* freed) {
  if (context == 0) return;
  LockGuard lock(mutex_);
  tiles_.EraseIf([=](const Tile& tile) {
    if (tile.context != context) return false;
    Drop(tile, memory, freed);
    return true;
  });
}

}  // namespace memprof::recorder
