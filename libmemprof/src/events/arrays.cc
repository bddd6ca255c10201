// Events of arrays and of memory bound to them.
#include "libmemprof/src/events/arrays.h"

#include "libmemprof/src/events/vmm.h"

namespace memprof::recorder {
namespace {

std::uint64_t ArrayOf(const CUarrayMapInfo& info) {
  return reinterpret_cast<std::uint64_t>(info.resource.array);  // or mipmap: a union of pointers
}

// The bound part of the array, and its bytes; 0 bytes when the array's elements are not known.
TileMap::Region RegionOf(Call* call, const CUarrayMapInfo& info, std::uint64_t* bytes) {
  constexpr std::uint64_t kMax = 0xffff'ffff'ffff;
  TileMap::Region region;
  HandleTable::Entry array;
  const bool known = call->driver()->handles()->Get(ArrayOf(info), HandleKind::kSparse, &array);
  *bytes = 0;
  if (known && array.bound_as_whole()) {
    region.to[0] = kMax;
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
  if (known) *bytes = elements * array.element_bits() / 8;
  return region;
}

void RecordPhysicalFrees(Call* call, const TileMap::Freed& freed, std::uint64_t before_ns) {
  for (const VmmLedger::Physical& physical : freed) RecordPhysicalFree(call, physical, before_ns);
}

// Records the creation of an array that is mapped later: an allocation without bytes; aux0 = the
// bytes of the whole array.
void RecordMappedLater(Call* call, std::uint64_t array, const CUDA_ARRAY3D_DESCRIPTOR* descriptor,
                       unsigned levels) {
  const std::uint64_t bytes = ArrayBytes3D(descriptor, levels);
  const std::uint32_t context = call->Context().id;
  call->driver()->handles()->Add(
      IsMappedAsWhole(descriptor)
          ? HandleTable::Entry::DeferredArray(array, context, bytes)
          : HandleTable::Entry::SparseArray(
                array, context, bytes, ElementBits(descriptor->Format, descriptor->NumChannels)));
  call->Allocated(CUDA_SUCCESS, kLayerArray, array, 0, bytes);
}

void RecordArray(Call* call, CUresult result, std::uint64_t array,
                 const CUDA_ARRAY3D_DESCRIPTOR* descriptor, unsigned levels) {
  if (!IsMappedLater(descriptor))
    return call->Allocated(result, kLayerArray, array, ArrayBytes3D(descriptor, levels));
  call->Failed(result, kLayerArray);
  if (result == CUDA_SUCCESS) RecordMappedLater(call, array, descriptor, levels);
}

void RecordArrayMap(Call* call, const CUarrayMapInfo& info, std::uint64_t before_ns,
                    CUstream stream) {
  DriverState* driver = call->driver();
  std::uint64_t bytes = 0;
  const TileMap::Region region = RegionOf(call, info, &bytes);
  const bool maps = info.memOperationType == CU_MEM_OPERATION_TYPE_MAP;
  const CallContext context = call->Context();
  const std::uint64_t handle =
      maps ? driver->vmm()->PhysicalOrHandle(info.memHandle.memHandle).handle : 0;
  TileMap::Freed freed;
  if (maps)
    driver->tiles()->Map(ArrayOf(info), context.id, region, handle, driver->vmm(), &freed);
  else
    driver->tiles()->Unmap(ArrayOf(info), region, driver->vmm(), &freed);
  RecordPhysicalFrees(call, freed, before_ns);
  ring::RingEvent event = call->Event(maps ? kOpMap : kOpUnmap, kLayerArray);
  if (!maps) event.time_ns = before_ns;
  event.context = context.id;
  event.SetDevice(context.device);
  event.address = ArrayOf(info);
  event.bytes = bytes;
  event.stream = reinterpret_cast<std::uint64_t>(stream);
  event.aux0 = handle;
  event.aux1 = maps ? info.offset : 0;
  call->Emit(&event);
}

void RecordArrayMapFailed(Call* call, CUresult result, const CUarrayMapInfo* list, unsigned count) {
  std::uint64_t all = 0;
  for (unsigned i = 0; i < count; ++i) {
    std::uint64_t bytes = 0;
    RegionOf(call, list[i], &bytes);
    if (list[i].memOperationType == CU_MEM_OPERATION_TYPE_MAP) all += bytes;
  }
  call->Failed(result, kLayerArray, all);
}

}  // namespace

void CreateArray::After(Call* call, CUresult result, CUarray* array,
                        const CUDA_ARRAY_DESCRIPTOR* descriptor) const {
  call->Allocated(result, kLayerArray, Output(result, array), ArrayBytes(descriptor));
}

void CreateArray3D::After(Call* call, CUresult result, CUarray* array,
                          const CUDA_ARRAY3D_DESCRIPTOR* descriptor) const {
  RecordArray(call, result, Output(result, array), descriptor, 1);
}

void CreateMipmap::After(Call* call, CUresult result, CUmipmappedArray* array,
                         const CUDA_ARRAY3D_DESCRIPTOR* descriptor, unsigned levels) const {
  RecordArray(call, result, Output(result, array), descriptor, levels);
}

void EndArray::Begin(Call* call, std::uint64_t array) {
  if (call->driver()->handles()->Drop(array, HandleKind::kMipmap, &imported_) !=
      HandleTable::Dropped::kUnknown)
    layer_ = kLayerImported;
  before_ns_ = NowNs();
  call->Freeing(layer_, array);
}

void EndArray::End(Call* call, CUresult result, std::uint64_t array) {
  call->Freed(result, layer_, array);
  HandleTable* handles = call->driver()->handles();
  if (result != CUDA_SUCCESS) {
    if (layer_ == kLayerImported) handles->Add(imported_);
    return;
  }
  handles->Drop(array, HandleKind::kSparse);
  TileMap::Freed freed;
  call->driver()->tiles()->EndArray(array, call->driver()->vmm(), &freed);
  RecordPhysicalFrees(call, freed, before_ns_);
}

void MapArrays::After(Call* call, CUresult result, CUarrayMapInfo* list, unsigned count,
                      CUstream stream) const {
  if (list == nullptr) return;
  if (result != CUDA_SUCCESS) return RecordArrayMapFailed(call, result, list, count);
  for (unsigned i = 0; i < count; ++i) RecordArrayMap(call, list[i], before_ns, stream);
}

void RecordArraysEnd(Call* call, std::uint32_t context, std::uint64_t before_ns) {
  TileMap::Freed freed;
  call->driver()->tiles()->EndContext(context, call->driver()->vmm(), &freed);
  RecordPhysicalFrees(call, freed, before_ns);
}

}  // namespace memprof::recorder
