// The part of a walk with memory of other interfaces, and with memory held by arrays and multicast
// objects.
#include <sys/mman.h>
#include <unistd.h>

#include "driver_walk.h"

namespace memprof::testing {

// An imported object and a buffer in it; both end when the buffer is freed.
bool DriverWalk::ImportExternal() {
  const std::uint64_t bytes = kPage * (1 + Random(3));
  const int file = memfd_create("walk", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) return false;
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC description{};
  description.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
  description.handle.fd = file;
  description.size = bytes;
  CUexternalMemory memory = nullptr;
  if (Find<CUresult(CUexternalMemory*, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC*)>(
          "cuImportExternalMemory")(&memory, &description) != CUDA_SUCCESS)
    return false;
  Note("alloc", "imported", Number(memory), bytes);
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC part{};
  part.size = kPage;
  CUdeviceptr pointer = 0;
  if (Find<CUresult(CUdeviceptr*, CUexternalMemory, const CUDA_EXTERNAL_MEMORY_BUFFER_DESC*)>(
          "cuExternalMemoryGetMappedBuffer")(&pointer, memory, &part) != CUDA_SUCCESS)
    return false;
  Block block{"imported", pointer, kPage, {"cuMemFree_v2"}};
  block.external = Number(memory);
  return Began(block);
}

// Registers and maps a graphics buffer, and finds its mapped address.
bool DriverWalk::MapGraphics() {
  CUgraphicsResource resource = nullptr;
  CUdeviceptr view = 0;
  std::size_t bytes = 0;
  if (Find<CUresult(CUgraphicsResource*, unsigned, unsigned)>("cuGraphicsGLRegisterBuffer")(
          &resource, static_cast<unsigned>(1 + Random(8)), 0) != CUDA_SUCCESS)
    return false;
  Note("alloc", "imported", Number(resource), 0);
  if (Find<CUresult(unsigned, CUgraphicsResource*, CUstream)>("cuGraphicsMapResources")(
          1, &resource, nullptr) != CUDA_SUCCESS)
    return false;
  Note("map", "imported", Number(resource), 0);
  if (Find<CUresult(CUdeviceptr*, size_t*, CUgraphicsResource)>(
          "cuGraphicsResourceGetMappedPointer_v2")(&view, &bytes, resource) != CUDA_SUCCESS)
    return false;
  Note("alloc", "imported", view, bytes);
  Block block{"imported", Number(resource), 0, {}};
  block.view = view;
  live_.push_back(block);
  return true;
}

bool DriverWalk::FreeGraphics(const Block& block) {
  auto resource = reinterpret_cast<CUgraphicsResource>(block.address);
  const char* unmap = Random(2) == 0 ? "cuGraphicsUnmapResources" : "cuGraphicsUnmapResources_ptsz";
  if (Find<CUresult(unsigned, CUgraphicsResource*, CUstream)>(unmap)(1, &resource, nullptr) !=
      CUDA_SUCCESS)
    return false;
  Note("free", "imported", block.view, 0);
  Note("unmap", "imported", block.address, 0);
  Note("free", "imported", block.address, 0);
  return Find<CUresult(CUgraphicsResource)>("cuGraphicsUnregisterResource")(resource) ==
         CUDA_SUCCESS;
}

// An array of one tile. The array alone holds the memory mapped to it.
bool DriverWalk::MapTile() {
  CUarray array = nullptr;
  const CUDA_ARRAY3D_DESCRIPTOR plane{128, 128, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SPARSE};
  if (Find<CUresult(CUarray*, const CUDA_ARRAY3D_DESCRIPTOR*)>("cuArray3DCreate_v2")(
          &array, &plane) != CUDA_SUCCESS)
    return false;
  Note("alloc", "array", Number(array), 0);
  Block block{"array", Number(array), 0, {}};
  block.held_bytes = kPage;
  if (!CreatePhysical(kPage, &block.held)) return false;
  Note("alloc", "vmm_physical", block.held, kPage);
  CUarrayMapInfo info{};
  info.resourceType = CU_RESOURCE_TYPE_ARRAY;
  info.resource.array = array;
  info.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL;
  info.subresource.sparseLevel.extentWidth = 128;
  info.subresource.sparseLevel.extentHeight = 128;
  info.subresource.sparseLevel.extentDepth = 1;
  info.memOperationType = CU_MEM_OPERATION_TYPE_MAP;
  info.memHandleType = CU_MEM_HANDLE_TYPE_GENERIC;
  info.memHandle.memHandle = block.held;
  info.offset = Random(32) * (64 << 10);
  info.deviceBitMask = 1;
  const char* map = Random(2) == 0 ? "cuMemMapArrayAsync" : "cuMemMapArrayAsync_ptsz";
  if (Find<CUresult(CUarrayMapInfo*, unsigned, CUstream)>(map)(&info, 1, nullptr) != CUDA_SUCCESS)
    return false;
  Note("map", "array", Number(array), 64 << 10);
  live_.push_back(block);
  return Find<CUresult(CUmemGenericAllocationHandle)>("cuMemRelease")(block.held) == CUDA_SUCCESS;
}

// A multicast object. The object alone holds the memory bound to it.
bool DriverWalk::BindMulticast() {
#if CUDA_VERSION >= 12010
  CUmulticastObjectProp properties{};
  properties.numDevices = 1;
  properties.size = kPage;
  CUmemGenericAllocationHandle object = 0;
  if (Find<CUresult(CUmemGenericAllocationHandle*, const CUmulticastObjectProp*)>(
          "cuMulticastCreate")(&object, &properties) != CUDA_SUCCESS)
    return false;
  Note("alloc", "multicast", object, 0);
  if (Find<CUresult(CUmemGenericAllocationHandle, CUdevice)>("cuMulticastAddDevice")(object, 0) !=
      CUDA_SUCCESS)
    return false;
  Note("map", "multicast", object, 0);
  Block block{"multicast", object, 0, {}};
  block.held_bytes = kPage;
  if (!CreatePhysical(kPage, &block.held)) return false;
  Note("alloc", "vmm_physical", block.held, kPage);
  if (Find<CUresult(CUmemGenericAllocationHandle, size_t, CUmemGenericAllocationHandle, size_t,
                    size_t, unsigned long long)>("cuMulticastBindMem")(object, 0, block.held, 0,
                                                                       kPage, 0) != CUDA_SUCCESS)
    return false;
  Note("map", "multicast", object, kPage);
  live_.push_back(block);
  return Find<CUresult(CUmemGenericAllocationHandle)>("cuMemRelease")(block.held) == CUDA_SUCCESS;
#else
  return MapPhysical();
#endif
}

// Destroys the holder, which frees the memory that it held.
bool DriverWalk::FreeHolder(const Block& block) {
  Note("free", block.layer, block.address, 0);
  Note("free", "vmm_physical", block.held, block.held_bytes);
  totals_.live_bytes -= block.held_bytes;
  const char* function = block.layer == "array" ? "cuArrayDestroy" : "cuMemRelease";
  return Find<CUresult(CUdeviceptr)>(function)(block.address) == CUDA_SUCCESS;
}

}  // namespace memprof::testing
