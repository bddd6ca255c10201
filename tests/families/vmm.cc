// Virtual memory management: physical memory with several references, maps, memory of two devices
// bound to a multicast object, arrays whose memory is mapped piece by piece.
#include "calls.h"
#include "families.h"

namespace {

CUdeviceptr Reserve(std::size_t bytes) {
  const auto reserve = PROC(cuMemAddressReserve, "cuMemAddressReserve", 10020);
  return TAKE(reserve, "vmm-address", 0, bytes, bytes, 0, 0, 0);
}

void FreeAddresses(CUdeviceptr range, std::size_t bytes) {
  const auto release = PROC(cuMemAddressFree, "cuMemAddressFree", 10020);
  GIVE(release, "vmm-address", 0, bytes, range, bytes);
}

void Map(CUdeviceptr range, std::size_t bytes, std::size_t offset,
         CUmemGenericAllocationHandle memory) {
  const auto map = PROC(cuMemMap, "cuMemMap", 10020);
  ON("map", map, "vmm-address", 0, bytes, range, bytes, offset, memory, 0);
}

void Release(CUmemGenericAllocationHandle memory) {
  MUST(PROC(cuMemRelease, "cuMemRelease", 10020)(memory));
}

// From its map on, only that holds the memory, and the second handle if it is imported: the memory
// exists once, however many handles refer to it.
template <bool kImported>
Block TakeMapped(std::uint64_t bytes) {
  bytes = (bytes + kPage - 1) / kPage * kPage;
  const CUdeviceptr range = Reserve(bytes);
  const CUmemGenericAllocationHandle memory = Create(bytes, 0, kFile);
  const CUmemGenericAllocationHandle second = kImported ? Imported(Exported(memory)) : 0;
  Map(range, bytes, 0, memory);
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, {0}},
                               CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CALL(cuMemSetAccess, range, bytes, &access, 1);
  Release(memory);
  return {bytes, [=] {
            MUST(SYMBOL(cuMemUnmap)(range, bytes));
            if (!kImported) Expect("free", "vmm", 0, memory, bytes, "cuMemUnmap");
            Expect("unmap", "vmm-address", 0, range, bytes, "cuMemUnmap");
            FreeAddresses(range, bytes);
            if (!kImported) return;
            Expect("free", "vmm", 0, memory, bytes, "cuMemRelease");
            Release(second);
          }};
}

void Physical() {
  const auto unmap = SYMBOL(cuMemUnmap);
  const CUmemGenericAllocationHandle first = Create(2 * kPage), second = Create(kPage);
  const CUmemAllocationProp here = On(0);
  CUmemGenericAllocationHandle again = 0, none = 0;
  const auto create = PROC(cuMemCreate, "cuMemCreate", 10020);
  MUST_FAIL(CUDA_ERROR_OUT_OF_MEMORY, create(&none, std::size_t{1} << 45, &here, 0));
  Expect("alloc_failed", "vmm", 0, 0, std::uint64_t{1} << 45, "cuMemCreate");
  const CUdeviceptr range = Reserve(8 * kPage);
  Map(range, 2 * kPage, 0, first);
  Map(range + 2 * kPage, kPage, kPage, first);
  Map(range + 4 * kPage, kPage, 0, second);
  const auto retain = PROC(cuMemRetainAllocationHandle, "cuMemRetainAllocationHandle", 11000);
  MUST(retain(&again, reinterpret_cast<void*>(range)));
  Release(first);
  Release(again);
  // Unmaps both mappings of the first memory in one call; the memory ends with the last one.
  MUST(unmap(range, 3 * kPage));
  Expect("free", "vmm", 0, first, 2 * kPage, "cuMemUnmap");
  Expect("unmap", "vmm-address", 0, range, 3 * kPage, "cuMemUnmap");
  ON("unmap", unmap, "vmm-address", 0, kPage, range + 4 * kPage, kPage);
  FreeAddresses(range, 8 * kPage);
}

// Importing memory that this process already has gives one more handle of it.
void Own() {
  const CUmemGenericAllocationHandle memory = Create(2 * kPage, 0, kFile);
  const CUmemGenericAllocationHandle again = Imported(Exported(memory));
  ON("free", SYMBOL(cuMemRelease), "vmm", 0, 2 * kPage, memory);
  MUST(SYMBOL(cuMemRelease)(again));
}

#if CUDA_VERSION >= 12010
CUmemGenericAllocationHandle NewMulticast(const CUmulticastObjectProp& properties) {
  const auto create = PROC(cuMulticastCreate, "cuMulticastCreate", 12010);
  return TAKE(create, "multicast", -1, 0, &properties);
}

// An object of one device, without bound memory.
Block TakeMulticast(std::uint64_t bytes) {
  int supported = 0;
  CALL(cuDeviceGetAttribute, &supported, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0);
  if (supported == 0) throw Skipped("the device does not support multicast");
  CUmulticastObjectProp properties{};
  properties.numDevices = 1;
  properties.handleTypes = kFile;
  std::size_t granularity = 0;
  properties.size = bytes;
  CALL(cuMulticastGetGranularity, &granularity, &properties, CU_MULTICAST_GRANULARITY_MINIMUM);
  properties.size = (bytes + granularity - 1) / granularity * granularity;
  CUmemGenericAllocationHandle object = 0;
  try {
    object = NewMulticast(properties);
  } catch (const std::runtime_error& error) {
    throw Skipped(std::string("for one device ") + error.what());
  }
  return {properties.size,
          [=] { GIVE(PROC(cuMemRelease, "cuMemRelease", 10020), "multicast", -1, 0, object); }};
}

void Bound() {
  CUmulticastObjectProp properties{};
  properties.numDevices = 2;
  properties.size = 4 * kPage;
  const CUmemGenericAllocationHandle object = NewMulticast(properties);
  const auto add = PROC(cuMulticastAddDevice, "cuMulticastAddDevice", 12010);
  for (const int device : {0, 1}) {
    ON("map", add, "multicast", device, 0, object, device);
  }
  const CUmemGenericAllocationHandle mine = Create(2 * kPage), theirs = Create(2 * kPage, 1);
  const auto bind = PROC(cuMulticastBindMem, "cuMulticastBindMem", 12010);
  ON("map", bind, "multicast", 0, 2 * kPage, object, 0, mine, 0, 2 * kPage, 0);
  const auto reserve = SYMBOL(cuMemAddressReserve);
  const auto range = TAKE(reserve, "vmm-address", 0, 8 * kPage, 8 * kPage, 0, 0, 0);
  ON("map", SYMBOL(cuMemMap), "vmm-address", 1, 2 * kPage, range, 2 * kPage, 0, theirs, 0);
  const auto bind_address = PROC(cuMulticastBindAddr, "cuMulticastBindAddr", 12010);
  ON("map", bind_address, "multicast", 0, kPage, object, kPage, range, kPage, 0);
  MUST(SYMBOL(cuMemMap)(range + 4 * kPage, 4 * kPage, 0, object, 0));
  Expect("map", "vmm-address", -1, range + 4 * kPage, 4 * kPage, "cuMemMap");
  // Bound memory lives on; the end of the object releases it.
  Release(mine);
  MUST(PROC(cuMulticastUnbind, "cuMulticastUnbind", 12010)(object, 0, 0, 2 * kPage));
  Expect("free", "vmm", 0, mine, 2 * kPage, "cuMulticastUnbind");
  Expect("unmap", "multicast", 0, object, 2 * kPage, "cuMulticastUnbind");
  ON("unmap", SYMBOL(cuMemUnmap), "vmm-address", -1, 4 * kPage, range + 4 * kPage, 4 * kPage);
  ON("unmap", SYMBOL(cuMemUnmap), "vmm-address", 1, 2 * kPage, range, 2 * kPage);
  Release(theirs);
  Expect("free", "multicast", -1, object, 0, "cuMemRelease");
  Expect("free", "vmm", 1, theirs, 2 * kPage, "cuMemRelease");
  Release(object);
}
#endif

constexpr std::size_t kTile = 64 << 10;

CUarrayMapInfo Tiles(CUarray array, unsigned y, unsigned rows) {
  CUarrayMapInfo info{};
  info.resourceType = CU_RESOURCE_TYPE_ARRAY;
  info.resource.array = array;
  info.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL;
  info.subresource.sparseLevel.offsetY = y;
  info.subresource.sparseLevel.extentWidth = 256;
  info.subresource.sparseLevel.extentHeight = rows;
  info.subresource.sparseLevel.extentDepth = 1;
  info.deviceBitMask = 1;
  return info;
}

// Two rows of tiles of 128 x 128 elements in two memories; replaced or unmapped memory ends.
void Sparse() {
  const CUDA_ARRAY3D_DESCRIPTOR plane{256, 256, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SPARSE};
  CUarray array = TAKE(PROC(cuArray3DCreate_v2, "cuArray3DCreate", 3020), "array", 0, 0, &plane);
  CUmemGenericAllocationHandle memory[2];
  for (auto& one : memory)
    one = Create(kPage, 0, CU_MEM_HANDLE_TYPE_NONE, CU_MEM_CREATE_USAGE_TILE_POOL);
  CUarrayMapInfo list[] = {Tiles(array, 0, 128), Tiles(array, 128, 128)};
  for (CUarrayMapInfo& info : list) info.memOperationType = CU_MEM_OPERATION_TYPE_MAP;
  for (CUarrayMapInfo& info : list) info.memHandleType = CU_MEM_HANDLE_TYPE_GENERIC;
  list[0].memHandle.memHandle = memory[0];
  list[1].memHandle.memHandle = memory[1];
  list[1].offset = 4 * kTile;
  MUST(PROC(cuMemMapArrayAsync, "cuMemMapArrayAsync", 11010)(list, 2, nullptr));
  Expect("map", "array", 0, array, 2 * kTile, "cuMemMapArrayAsync");
  Expect("map", "array", 0, array, 2 * kTile, "cuMemMapArrayAsync");
  Release(memory[0]);  // only the tiles hold both
  Release(memory[1]);
  CUarrayMapInfo gone = Tiles(array, 0, 128);
  gone.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP;
  MUST(PROC_PER_THREAD(cuMemMapArrayAsync, "cuMemMapArrayAsync", 11010)(&gone, 1, nullptr));
  Expect("free", "vmm", 0, memory[0], kPage, "cuMemMapArrayAsync_ptsz");
  Expect("unmap", "array", 0, array, 2 * kTile, "cuMemMapArrayAsync_ptsz");
  gone.flags = 1;
  const auto map = PROC(cuMemMapArrayAsync, "cuMemMapArrayAsync", 11010);
  MUST_FAIL(CUDA_ERROR_INVALID_VALUE, map(&gone, 1, nullptr));
  Expect("alloc_failed", "array", 0, 0, 0, "cuMemMapArrayAsync");
  MUST(PROC(cuCtxSynchronize, "cuCtxSynchronize", 2000)());
}

constexpr Family kFamilies[] = {
#if CUDA_VERSION >= 12010
    {"multicast", TakeMulticast},
#endif
    {"vmm", TakeMapped<false>},
    {"vmm-imported", TakeMapped<true>}};
constexpr Scenario kScenarios[] = {{"physical", Physical},
                                   {"own", Own},
#if CUDA_VERSION >= 12010
                                   {"bound", Bound},
#endif
                                   {"sparse", Sparse}};

}  // namespace

const Group kVmm{kFamilies, kScenarios};
