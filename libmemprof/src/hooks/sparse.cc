// Events of memory bound to arrays.
#include "libmemprof/src/hooks/sparse.h"

namespace memprof::recorder {
namespace {

std::uint64_t ArrayOf(const CUarrayMapInfo& info) {
  return reinterpret_cast<std::uint64_t>(info.resource.array);  // or mipmap: a union of pointers
}

// The part of the array that is meant, and its bytes: 0 where the array's elements are not known.
TileMap::Region RegionOf(Hook* hook, const CUarrayMapInfo& info, std::uint64_t* bytes) {
  constexpr std::uint64_t kMost = 0xffff'ffff'ffff;
  TileMap::Region region;
  HandleTable::Entry array;
  const bool known = hook->driver()->handles()->Get(ArrayOf(info), HandleKind::kSparse, &array);
  *bytes = 0;
  if (known && array.owner != 0) {  // deferred: always all of it
    region.to[0] = kMost;
    *bytes = array.bytes;
    return region;
  }
  if (info.subresourceType == CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL) {
    const auto& tail = info.subresource.miptail;
    region.is_tail = true;
    region.layer = tail.layer;
    region.from[0] = tail.offset;
    region.to[0] = tail.offset + tail.size;
    *bytes = tail.size;
    return region;
  }
  const auto& part = info.subresource.sparseLevel;
  region.level = part.level;
  region.layer = part.layer;
  const unsigned from[] = {part.offsetX, part.offsetY, part.offsetZ};
  const unsigned extent[] = {part.extentWidth, part.extentHeight, part.extentDepth};
  std::uint64_t elements = 1;
  for (int axis = 0; axis < 3; ++axis) {
    region.from[axis] = from[axis];
    region.to[axis] = std::uint64_t{from[axis]} + extent[axis];
    elements *= extent[axis];
  }
  if (known) *bytes = elements * array.aux / 8;
  return region;
}

void RecordAllGone(Hook* hook, const TileMap::Gone& gone, std::uint64_t before_ns) {
  for (const VmmLedger::Physical& physical : gone) RecordGone(hook, physical, before_ns);
}

}  // namespace

void RecordArrayMap(Hook* hook, const CUarrayMapInfo& info, std::uint64_t before_ns,
                    CUstream stream) {
  DriverState* driver = hook->driver();
  std::uint64_t bytes = 0;
  const TileMap::Region region = RegionOf(hook, info, &bytes);
  const bool maps = info.memOperationType == CU_MEM_OPERATION_TYPE_MAP;
  const CallContext context = hook->Context();
  const std::uint64_t asked = maps ? info.memHandle.memHandle : 0;
  const VmmLedger::Physical memory = driver->vmm()->Known(asked);
  const std::uint64_t handle = memory.handle != 0 ? memory.handle : asked;
  TileMap::Gone gone;
  if (maps)
    driver->tiles()->Map(ArrayOf(info), context.id, region, handle, driver->vmm(), &gone);
  else
    driver->tiles()->Unmap(ArrayOf(info), region, driver->vmm(), &gone);
  RecordAllGone(hook, gone, before_ns);
  ring::RingEvent event = hook->Event(maps ? kOpMap : kOpUnmap, kLayerArray);
  if (!maps) event.time_ns = before_ns;
  event.context = context.id;
  event.SetDevice(context.device);
  event.address = ArrayOf(info);
  event.bytes = bytes;
  event.stream = reinterpret_cast<std::uint64_t>(stream);
  event.aux0 = handle;
  event.aux1 = maps ? info.offset : 0;
  hook->Emit(&event);
}

void RecordArrayMapFailed(Hook* hook, CUresult result, const CUarrayMapInfo* list, unsigned count) {
  std::uint64_t all = 0;
  for (unsigned i = 0; i < count; ++i) {
    std::uint64_t bytes = 0;
    RegionOf(hook, list[i], &bytes);
    if (list[i].memOperationType == CU_MEM_OPERATION_TYPE_MAP) all += bytes;
  }
  hook->Failed(result, kLayerArray, all);
}

void RecordArrayEnd(Hook* hook, std::uint64_t array, std::uint64_t before_ns) {
  HandleTable::Entry known;
  hook->driver()->handles()->Drop(array, HandleKind::kSparse, &known);
  TileMap::Gone gone;
  hook->driver()->tiles()->EndArray(array, hook->driver()->vmm(), &gone);
  RecordAllGone(hook, gone, before_ns);
}

void RecordArraysEnd(Hook* hook, std::uint32_t context, std::uint64_t before_ns) {
  TileMap::Gone gone;
  hook->driver()->tiles()->EndContext(context, hook->driver()->vmm(), &gone);
  RecordAllGone(hook, gone, before_ns);
}

}  // namespace memprof::recorder
