// A guest of memory that is created elsewhere or bound later: resources of OpenGL, arrays whose
// memory is mapped piece by piece, green contexts.
#include "by_name.h"

namespace {

constexpr std::size_t kPage = 2 << 20, kTile = 64 << 10, kBuffer = 64 << 10;
constexpr unsigned kTexture2D = 0x0de1;

// From <cudaGL.h>, which would need OpenGL headers.
extern "C" {
using RegisterBuffer = CUresult (*)(CUgraphicsResource*, unsigned, unsigned);
using RegisterImage = CUresult (*)(CUgraphicsResource*, unsigned, unsigned, unsigned);
}

template <typename Function>
Function Foreign(const char* name, int version) {
  return reinterpret_cast<Function>(FindByAddress(name, version, 0));
}

// A buffer mapped twice, a texture mapped once, and one that stays registered.
void Graphics() {
  UsePrimary();
  const auto add_buffer = Foreign<RegisterBuffer>("cuGraphicsGLRegisterBuffer", 3000);
  const auto add_image = Foreign<RegisterImage>("cuGraphicsGLRegisterImage", 3000);
  CUgraphicsResource buffer = nullptr, image = nullptr, kept = nullptr;
  MUST(add_buffer(&buffer, 3, 0));
  Expect("alloc", "imported", 0, buffer, 0, "cuGraphicsGLRegisterBuffer");
  MUST(add_image(&image, 100, kTexture2D, 0));
  Expect("alloc", "imported", 0, image, 0, "cuGraphicsGLRegisterImage");
  MUST(add_buffer(&kept, 5, 0));
  Expect("alloc", "imported", 0, kept, 0, "cuGraphicsGLRegisterBuffer");
  const auto map = PROC(cuGraphicsMapResources, "cuGraphicsMapResources", 7000);
  CUgraphicsResource both[] = {buffer, image};
  MUST(map(2, both, nullptr));
  Expect("map", "imported", 0, buffer, 0, "cuGraphicsMapResources");
  Expect("map", "imported", 0, image, 0, "cuGraphicsMapResources");
  const auto pointer_of =
      PROC(cuGraphicsResourceGetMappedPointer_v2, "cuGraphicsResourceGetMappedPointer", 3020);
  CUdeviceptr view = 0;
  std::size_t bytes = 0;
  MUST(pointer_of(&view, &bytes, buffer));
  Expect("alloc", "imported", 0, view, 3 * kBuffer, "cuGraphicsResourceGetMappedPointer_v2");
  MUST(pointer_of(&view, &bytes, buffer));  // the same view
  CUarray array = nullptr;
  const auto array_of =
      PROC(cuGraphicsSubResourceGetMappedArray, "cuGraphicsSubResourceGetMappedArray", 3000);
  MUST(array_of(&array, image, 0, 0));
  Expect("alloc", "imported", 0, array, 100 * 100 * 4, "cuGraphicsSubResourceGetMappedArray");
  const auto unmap = PROC(cuGraphicsUnmapResources, "cuGraphicsUnmapResources", 7000);
  MUST(unmap(2, both, nullptr));
  Expect("free", "imported", 0, view, 3 * kBuffer, "cuGraphicsUnmapResources");
  Expect("unmap", "imported", 0, buffer, 0, "cuGraphicsUnmapResources");
  Expect("free", "imported", 0, array, 100 * 100 * 4, "cuGraphicsUnmapResources");
  Expect("unmap", "imported", 0, image, 0, "cuGraphicsUnmapResources");
  MUST(
      PROC_PER_THREAD(cuGraphicsMapResources, "cuGraphicsMapResources", 7000)(1, &buffer, nullptr));
  Expect("map", "imported", 0, buffer, 0, "cuGraphicsMapResources_ptsz");
  const auto own_unmap =
      PROC_PER_THREAD(cuGraphicsUnmapResources, "cuGraphicsUnmapResources", 7000);
  MUST(own_unmap(1, &buffer, nullptr));
  Expect("unmap", "imported", 0, buffer, 0, "cuGraphicsUnmapResources_ptsz");
  const auto remove = PROC(cuGraphicsUnregisterResource, "cuGraphicsUnregisterResource", 3000);
  for (const CUgraphicsResource gone : both) {
    Expect("free", "imported", 0, gone, 0, "cuGraphicsUnregisterResource");
    MUST(remove(gone));
  }
  AskForTooMuch();
}

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
  UsePrimary();
  const auto create = PROC(cuMemCreate, "cuMemCreate", 10020);
  CUDA_ARRAY3D_DESCRIPTOR plane{256, 256, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SPARSE};
  CUarray array = nullptr;
  MUST(PROC(cuArray3DCreate_v2, "cuArray3DCreate", 3020)(&array, &plane));
  Expect("alloc", "array", 0, array, 0, "cuArray3DCreate_v2");
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  properties.allocFlags.usage = CU_MEM_CREATE_USAGE_TILE_POOL;
  CUmemGenericAllocationHandle first = 0, second = 0;
  MUST(create(&first, kPage, &properties, 0));
  Expect("alloc", "vmm", 0, first, kPage, "cuMemCreate");
  MUST(create(&second, kPage, &properties, 0));
  Expect("alloc", "vmm", 0, second, kPage, "cuMemCreate");
  CUarrayMapInfo list[] = {Tiles(array, 0, 128), Tiles(array, 128, 128)};
  for (CUarrayMapInfo& info : list) info.memOperationType = CU_MEM_OPERATION_TYPE_MAP;
  for (CUarrayMapInfo& info : list) info.memHandleType = CU_MEM_HANDLE_TYPE_GENERIC;
  list[0].memHandle.memHandle = first;
  list[1].memHandle.memHandle = second;
  list[1].offset = 4 * kTile;
  MUST(PROC(cuMemMapArrayAsync, "cuMemMapArrayAsync", 11010)(list, 2, nullptr));
  Expect("map", "array", 0, array, 2 * kTile, "cuMemMapArrayAsync");
  Expect("map", "array", 0, array, 2 * kTile, "cuMemMapArrayAsync");
  const auto release = PROC(cuMemRelease, "cuMemRelease", 10020);
  MUST(release(first));  // only the tiles hold both
  MUST(release(second));
  CUarrayMapInfo gone = Tiles(array, 0, 128);
  gone.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP;
  MUST(PROC_PER_THREAD(cuMemMapArrayAsync, "cuMemMapArrayAsync", 11010)(&gone, 1, nullptr));
  Expect("free", "vmm", 0, first, kPage, "cuMemMapArrayAsync_ptsz");
  Expect("unmap", "array", 0, array, 2 * kTile, "cuMemMapArrayAsync_ptsz");
  gone.flags = 1;
  const auto map = PROC(cuMemMapArrayAsync, "cuMemMapArrayAsync", 11010);
  MUST_FAIL(CUDA_ERROR_INVALID_VALUE, map(&gone, 1, nullptr));
  Expect("alloc_failed", "array", 0, 0, 0, "cuMemMapArrayAsync");
  MUST(PROC(cuCtxSynchronize, "cuCtxSynchronize", 2000)());
  AskForTooMuch();
}

#if CUDA_VERSION >= 12040
// Memory allocated in a green context lives until the primary context ends.
void Green() {
  UsePrimary();
  CUdevResource all{};
  CUdevResourceDesc some = nullptr;
  const auto resources = PROC(cuDeviceGetDevResource, "cuDeviceGetDevResource", 12040);
  MUST(resources(0, &all, CU_DEV_RESOURCE_TYPE_SM));
  MUST(PROC(cuDevResourceGenerateDesc, "cuDevResourceGenerateDesc", 12040)(&some, &all, 1));
  CUgreenCtx green = nullptr;
  CUcontext context = nullptr, primary = nullptr;
  MUST(PROC(cuGreenCtxCreate, "cuGreenCtxCreate", 12040)(&green, some, 0,
                                                         CU_GREEN_CTX_DEFAULT_STREAM));
  MUST(PROC(cuCtxFromGreenCtx, "cuCtxFromGreenCtx", 12040)(&context, green));
  Expect("context_create", "none", 0, 0, 0, "cuCtxFromGreenCtx");
  const auto use = PROC(cuCtxSetCurrent, "cuCtxSetCurrent", 4000);
  const auto allocate = PROC(cuMemAlloc_v2, "cuMemAlloc", 3020);
  MUST(use(context));
  CUdeviceptr freed = 0, lost = 0, kept = 0;
  MUST(allocate(&freed, 1000));
  Expect("alloc", "linear", 0, freed, 1000, "cuMemAlloc_v2");
  MUST(allocate(&lost, 2000));
  Expect("alloc", "linear", 0, lost, 2000, "cuMemAlloc_v2");
  MUST(PROC(cuGreenCtxDestroy, "cuGreenCtxDestroy", 12040)(green));
  MUST(PROC(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", 7000)(&primary, 0));
  MUST(use(primary));
  Expect("free", "linear", 0, freed, 1000, "cuMemFree_v2");
  MUST(PROC(cuMemFree_v2, "cuMemFree", 3020)(freed));
  const auto release = PROC(cuDevicePrimaryCtxRelease_v2, "cuDevicePrimaryCtxRelease", 11000);
  MUST(release(0));
  MUST(release(0));
  Expect("context_destroy", "none", 0, 0, 0, "cuDevicePrimaryCtxRelease_v2");
  Expect("context_destroy", "none", 0, 0, 0, "cuDevicePrimaryCtxRelease_v2");
  ExpectEnd("context", "linear", 0, lost, 2000);
  UsePrimary();
  MUST(allocate(&kept, 3000));
  Expect("alloc", "linear", 0, kept, 3000, "cuMemAlloc_v2");
  AskForTooMuch();
}
#else
void Green() {}
#endif

constexpr Scenario kScenarios[] = {{"graphics", Graphics}, {"sparse", Sparse}, {"green", Green}};

}  // namespace

int main(int argc, char** argv) { return RunScenario(kScenarios, argc, argv); }
