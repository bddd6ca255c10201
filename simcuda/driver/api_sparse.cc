// Arrays that get their memory later, tile by tile or as a whole, from handles of cuMemCreate. The
// array stores what is written to a tile; another mapping of the handle does not see it.
#include "driver_api.h"
#include "simcuda/driver/array.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/device.h"
#include "simcuda/driver/vmm.h"

namespace memprof::simcuda {
namespace {

// The levels of an array or mipmapped array; empty for other kinds.
std::vector<std::shared_ptr<Array>> LevelsOf(const CUarrayMapInfo& info) {
  std::vector<std::shared_ptr<Array>> levels;
  if (info.resourceType == CU_RESOURCE_TYPE_ARRAY) {
    if (auto array = AllHandles<Array>().Find(info.resource.array)) levels.push_back(array);
  } else if (info.resourceType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) {
    if (auto mipmap = AllHandles<Mipmap>().Find(info.resource.mipmap)) levels = mipmap->levels;
  }
  if (!levels.empty() && !levels[0]->sparse() && !levels[0]->deferred()) levels.clear();
  return levels;
}

uint64_t BytesOf(const std::vector<std::shared_ptr<Array>>& levels) {
  uint64_t bytes = 0;
  for (const auto& level : levels) bytes += RoundUp(level->bytes(), kTileBytes);
  return bytes;
}

// Begins on a tile, and ends on one or with the level.
bool Whole(uint64_t offset, uint64_t extent, uint64_t tile, uint64_t side) {
  return offset % tile == 0 && extent != 0 && offset + extent <= side &&
         (extent % tile == 0 || offset + extent == side);
}

// One checked entry: its tiles, and what is bound to them from now on.
struct Change {
  std::shared_ptr<Array> array;
  std::vector<std::array<uint64_t, 4>> places;
  std::shared_ptr<Physical> memory;  // null: unmapped
};

CUresult PlacesOf(const CUarrayMapInfo& info, const std::vector<std::shared_ptr<Array>>& levels,
                  Change* change, uint64_t* bytes) {
  change->array = levels[0];
  if (levels[0]->deferred()) {
    *bytes = BytesOf(levels);
    change->places.push_back({});
    return CUDA_SUCCESS;
  }
  // Every level has tiles of its own: there is no tail.
  if (info.subresourceType != CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto& part = info.subresource.sparseLevel;
  if (part.level >= levels.size() || part.layer != 0) return CUDA_ERROR_INVALID_VALUE;
  change->array = levels[part.level];
  const auto& sides = change->array->descriptor();
  const auto tile = change->array->TileExtent();
  if (!Whole(part.offsetX, part.extentWidth, tile[0], sides.Width) ||
      !Whole(part.offsetY, part.extentHeight, tile[1], std::max<size_t>(sides.Height, 1)) ||
      !Whole(part.offsetZ, part.extentDepth, tile[2], std::max<size_t>(sides.Depth, 1))) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (uint64_t z = part.offsetZ; z < part.offsetZ + part.extentDepth; z += tile[2]) {
    for (uint64_t y = part.offsetY; y < part.offsetY + part.extentHeight; y += tile[1]) {
      for (uint64_t x = part.offsetX; x < part.offsetX + part.extentWidth; x += tile[0]) {
        change->places.push_back({part.level, z, y, x});
      }
    }
  }
  *bytes = change->places.size() * kTileBytes;
  return CUDA_SUCCESS;
}

CUresult CheckChange(const CUarrayMapInfo& info, Change* change) {
  const auto levels = LevelsOf(info);
  if (levels.empty() || info.flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const int device = levels[0]->context()->device().id();
  uint64_t bytes = 0;
  const CUresult known = PlacesOf(info, levels, change, &bytes);
  if (known != CUDA_SUCCESS || info.deviceBitMask != 1u << device) return CUDA_ERROR_INVALID_VALUE;
  if (info.memOperationType == CU_MEM_OPERATION_TYPE_UNMAP) {
    return info.memHandle.memHandle == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  if (info.memOperationType != CU_MEM_OPERATION_TYPE_MAP ||
      info.memHandleType != CU_MEM_HANDLE_TYPE_GENERIC) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  change->memory = Vmm::Get().Find(info.memHandle.memHandle);
  if (change->memory == nullptr || change->memory->multicast() != nullptr ||
      change->memory->device().id() != device || info.offset % kTileBytes != 0 ||
      info.offset > change->memory->bytes() || bytes > change->memory->bytes() - info.offset) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult Requirements(const std::vector<std::shared_ptr<Array>>& levels,
                      CUDA_ARRAY_MEMORY_REQUIREMENTS* requirements) {
  if (requirements == nullptr || levels.empty()) return CUDA_ERROR_INVALID_VALUE;
  *requirements = {};
  requirements->size = BytesOf(levels);
  requirements->alignment = kTileBytes;
  return CUDA_SUCCESS;
}

CUresult Properties(const std::vector<std::shared_ptr<Array>>& levels,
                    CUDA_ARRAY_SPARSE_PROPERTIES* properties) {
  if (properties == nullptr || levels.empty() || !levels[0]->sparse()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto tile = levels[0]->TileExtent();
  *properties = {};
  properties->tileExtent.width = static_cast<unsigned>(tile[0]);
  properties->tileExtent.height = static_cast<unsigned>(tile[1]);
  properties->tileExtent.depth = static_cast<unsigned>(tile[2]);
  properties->miptailFirstLevel = static_cast<unsigned>(levels.size());
  return CUDA_SUCCESS;
}

CUarrayMapInfo Named(CUarray array) {
  CUarrayMapInfo info = {};
  info.resourceType = CU_RESOURCE_TYPE_ARRAY;
  info.resource.array = array;
  return info;
}

CUarrayMapInfo Named(CUmipmappedArray mipmap) {
  CUarrayMapInfo info = {};
  info.resourceType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  info.resource.mipmap = mipmap;
  return info;
}

}  // namespace

namespace api {

CUresult cuMemMapArrayAsync(CUarrayMapInfo* mapInfoList, unsigned int count, CUstream hStream) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  const CUresult known = RequireStream(hStream, &context, &stream);
  if (known != CUDA_SUCCESS) return known;
  if (mapInfoList == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  std::vector<Change> changes(count);
  for (unsigned i = 0; i < count; ++i) {
    const CUresult result = CheckChange(mapInfoList[i], &changes[i]);
    if (result != CUDA_SUCCESS) return result;
  }
  context->Enqueue(
      stream,
      [changes = std::move(changes)] {
        for (const Change& change : changes) {
          for (const auto& place : change.places) change.array->SetTile(place, change.memory);
        }
      },
      Stream::Mode::kQuick);
  return CUDA_SUCCESS;
}

CUresult cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS* memoryRequirements,
                                      CUarray array, CUdevice /*device*/) {
  if (AllHandles<Array>().Find(array) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return Requirements(LevelsOf(Named(array)), memoryRequirements);
}

CUresult cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS* memoryRequirements,
                                               CUmipmappedArray mipmap, CUdevice /*device*/) {
  if (AllHandles<Mipmap>().Find(mipmap) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return Requirements(LevelsOf(Named(mipmap)), memoryRequirements);
}

CUresult cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES* sparseProperties, CUarray array) {
  return Properties(LevelsOf(Named(array)), sparseProperties);
}

CUresult cuMipmappedArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES* sparseProperties,
                                             CUmipmappedArray mipmap) {
  return Properties(LevelsOf(Named(mipmap)), sparseProperties);
}

}  // namespace api
}  // namespace memprof::simcuda
