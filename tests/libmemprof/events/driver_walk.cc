// Makes random driver calls and models their effects.
#include "driver_walk.h"

#include <algorithm>
#include <cstdlib>

namespace memprof::testing {
namespace {

bool OccupiesDevice(const std::string& layer) {
  return layer == "linear" || layer == "pitched" || layer == "managed" || layer == "array" ||
         layer == "stream_ordered" || layer == "vmm_physical" || layer == "graph";
}

}  // namespace

DriverWalk::~DriverWalk() {
  for (const Block& block : live_) std::free(block.host);
}

void DriverWalk::Note(const std::string& op, const std::string& layer, std::uint64_t address,
                      std::uint64_t bytes, CUresult result) {
  events_.push_back({op, layer, address, bytes, static_cast<std::uint32_t>(result)});
  if (!OccupiesDevice(layer)) return;
  if (op == "alloc") {
    ++totals_.allocations;
    totals_.live_bytes += bytes;
    totals_.peak_bytes = std::max(totals_.peak_bytes, totals_.live_bytes);
  } else if (op == "free") {
    ++totals_.frees;
  }
}

bool DriverWalk::Began(Block block) {
  Note("alloc", block.layer, block.address, block.bytes);
  live_.push_back(std::move(block));
  return live_.back().address != 0;
}

bool DriverWalk::Step() {
  const std::uint64_t chance = Random(100);
  if (chance < 4) return FailToAllocate();
  if (chance < 7) return FailToFree();
  // At most about sixty live blocks, so that addresses are soon reused.
  if (!live_.empty() && chance < 7 + live_.size() * 3 / 2) return Free();
  return Allocate();
}

bool DriverWalk::Allocate() {
  const std::uint64_t bytes = 1 + Random(200000);
  switch (Random(18)) {
    case 0:
    case 1:
      return AllocatePlain("linear", "cuMemAlloc_v2", bytes);
    case 2:
      return AllocatePitched();
    case 3:
      return AllocatePlain("managed", "cuMemAllocManaged", bytes);
    case 4:
      return AllocateHost(false);
    case 5:
      return AllocateHost(true);
    case 6:
      return RegisterHost();
    case 7:
      return AllocateAsync("cuMemAllocAsync");
    case 8:
      return AllocateAsync("cuMemAllocAsync_ptsz");
    case 9:
    case 10:
      return CreateArray(static_cast<int>(Random(3)));
    case 11:
    case 12:
      return LaunchGraph();
    case 13:
      return ImportExternal();
    case 14:
      return MapGraphics();
    case 15:
      return MapTile();
    case 16:
      return BindMulticast();
    default:
      return MapPhysical();
  }
}

bool DriverWalk::AllocatePlain(const char* layer, const char* function, std::uint64_t bytes) {
  CUdeviceptr pointer = 0;
  const bool managed = layer == std::string("managed");
  const CUresult result = managed ? Find<CUresult(CUdeviceptr*, size_t, unsigned)>(function)(
                                        &pointer, bytes, CU_MEM_ATTACH_GLOBAL)
                                  : Find<CUresult(CUdeviceptr*, size_t)>(function)(&pointer, bytes);
  return result == CUDA_SUCCESS && Began({layer, pointer, bytes, {"cuMemFree_v2"}});
}

bool DriverWalk::AllocatePitched() {
  CUdeviceptr pointer = 0;
  std::size_t pitch = 0;
  const std::size_t height = 1 + Random(50);
  const CUresult result = Find<CUresult(CUdeviceptr*, size_t*, size_t, size_t, unsigned)>(
      "cuMemAllocPitch_v2")(&pointer, &pitch, 1 + Random(3000), height, 4);
  return result == CUDA_SUCCESS && Began({"pitched", pointer, pitch * height, {"cuMemFree_v2"}});
}

bool DriverWalk::AllocateAsync(const char* function) {
  CUdeviceptr pointer = 0;
  const std::uint64_t bytes = 1 + Random(200000);
  const CUresult result =
      Find<CUresult(CUdeviceptr*, size_t, CUstream)>(function)(&pointer, bytes, nullptr);
  return result == CUDA_SUCCESS &&
         Began({"stream_ordered",
                pointer,
                bytes,
                {"cuMemFreeAsync", "cuMemFreeAsync_ptsz", "cuMemFree_v2"}});
}

bool DriverWalk::AllocateHost(bool flags) {
  void* pointer = nullptr;
  const std::uint64_t bytes = 1 + Random(100000);
  const CUresult result =
      flags ? Find<CUresult(void**, size_t, unsigned)>("cuMemHostAlloc")(&pointer, bytes, 0)
            : Find<CUresult(void**, size_t)>("cuMemAllocHost_v2")(&pointer, bytes);
  return result == CUDA_SUCCESS && Began({"pinned", Number(pointer), bytes, {"cuMemFreeHost"}});
}

bool DriverWalk::RegisterHost() {
  constexpr std::size_t kBytes = 8192;
  void* own = std::aligned_alloc(4096, kBytes);
  Block block{"registered", Number(own), kBytes, {"cuMemHostUnregister"}};
  block.host = own;
  const CUresult result =
      Find<CUresult(void*, size_t, unsigned)>("cuMemHostRegister_v2")(own, kBytes, 0);
  return result == CUDA_SUCCESS && Began(block);
}

bool DriverWalk::CreateArray(int kind) {
  void* handle = nullptr;
  const std::size_t width = 1 + Random(300), height = 1 + Random(20);
  if (kind == 0) {
    const CUDA_ARRAY_DESCRIPTOR flat{width, height, CU_AD_FORMAT_FLOAT, 2};
    const auto create = Find<CUresult(void**, const CUDA_ARRAY_DESCRIPTOR*)>("cuArrayCreate_v2");
    return create(&handle, &flat) == CUDA_SUCCESS &&
           Began({"array", Number(handle), width * height * 4 * 2, {"cuArrayDestroy"}});
  }
  const CUDA_ARRAY3D_DESCRIPTOR deep{width, height, 3, CU_AD_FORMAT_HALF, 4, 0};
  if (kind == 1) {
    const auto create =
        Find<CUresult(void**, const CUDA_ARRAY3D_DESCRIPTOR*)>("cuArray3DCreate_v2");
    return create(&handle, &deep) == CUDA_SUCCESS &&
           Began({"array", Number(handle), width * height * 3 * 2 * 4, {"cuArrayDestroy"}});
  }
  const auto create =
      Find<CUresult(void**, const CUDA_ARRAY3D_DESCRIPTOR*, unsigned)>("cuMipmappedArrayCreate");
  const auto half = [](std::size_t extent) { return std::max<std::size_t>(extent / 2, 1); };
  const std::uint64_t elements = width * height * 3 + half(width) * half(height) * half(3);
  return create(&handle, &deep, 2) == CUDA_SUCCESS &&
         Began({"array", Number(handle), elements * 2 * 4, {"cuMipmappedArrayDestroy"}});
}

bool DriverWalk::CreatePhysical(std::uint64_t bytes, std::uint64_t* handle) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemGenericAllocationHandle made = 0;
  const CUresult result =
      Find<CUresult(CUmemGenericAllocationHandle*, size_t, const CUmemAllocationProp*,
                    unsigned long long)>("cuMemCreate")(&made, bytes, &properties, 0);
  *handle = made;
  return result == CUDA_SUCCESS;
}

// Physical memory is created and mapped, then its handle is released: only the mapping holds the
// memory.
bool DriverWalk::MapPhysical() {
  const std::uint64_t bytes = kPage * (1 + Random(3));
  CUdeviceptr range = 0;
  if (Find<CUresult(CUdeviceptr*, size_t, size_t, CUdeviceptr, unsigned long long)>(
          "cuMemAddressReserve")(&range, bytes, 0, 0, 0) != CUDA_SUCCESS)
    return false;
  Note("alloc", "vmm_address", range, bytes);
  std::uint64_t handle = 0;
  if (!CreatePhysical(bytes, &handle)) return false;
  Block block{"vmm_physical", handle, bytes, {}};
  block.mapped_at = range;
  if (!Began(block)) return false;
  if (Find<CUresult(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long)>(
          "cuMemMap")(range, bytes, 0, handle, 0) != CUDA_SUCCESS)
    return false;
  Note("map", "vmm_address", range, bytes);
  return Find<CUresult(CUmemGenericAllocationHandle)>("cuMemRelease")(handle) == CUDA_SUCCESS;
}

bool DriverWalk::UnmapPhysical(const Block& block) {
  Note("free", block.layer, block.address, block.bytes);
  Note("unmap", "vmm_address", block.mapped_at, block.bytes);
  Note("free", "vmm_address", block.mapped_at, block.bytes);
  return Find<CUresult(CUdeviceptr, size_t)>("cuMemUnmap")(block.mapped_at, block.bytes) ==
             CUDA_SUCCESS &&
         Find<CUresult(CUdeviceptr, size_t)>("cuMemAddressFree")(block.mapped_at, block.bytes) ==
             CUDA_SUCCESS;
}

bool DriverWalk::Free() {
  const std::size_t which = Random(live_.size());
  const Block block = live_[which];
  live_[which] = live_.back();
  live_.pop_back();
  if (OccupiesDevice(block.layer)) totals_.live_bytes -= block.bytes;
  if (block.mapped_at != 0) return UnmapPhysical(block);
  if (block.view != 0) return FreeGraphics(block);
  if (block.held != 0) return FreeHolder(block);
  Note("free", block.layer, block.address, 0);
  const std::string function = block.frees[Random(block.frees.size())];
  // x86-64 passes addresses and handles in the same way.
  const CUresult result =
      function.find("Async") != std::string::npos
          ? Find<CUresult(CUdeviceptr, CUstream)>(function.c_str())(block.address, nullptr)
          : Find<CUresult(CUdeviceptr)>(function.c_str())(block.address);
  std::free(block.host);
  if (block.external != 0 && result == CUDA_SUCCESS) {
    Note("free", "imported", block.external, 0);
    return Find<CUresult(CUdeviceptr)>("cuDestroyExternalMemory")(block.external) == CUDA_SUCCESS;
  }
  return result == CUDA_SUCCESS;
}

bool DriverWalk::FailToAllocate() {
  CUdeviceptr pointer = 0;
  const char* layer = Random(2) == 0 ? "linear" : "stream_ordered";
  const CUresult result =
      layer[0] == 'l' ? Find<CUresult(CUdeviceptr*, size_t)>("cuMemAlloc_v2")(&pointer, kTooMuch)
                      : Find<CUresult(CUdeviceptr*, size_t, CUstream)>("cuMemAllocAsync")(
                            &pointer, kTooMuch, nullptr);
  Note("alloc_failed", layer, 0, kTooMuch, result);
  return result == CUDA_ERROR_OUT_OF_MEMORY;
}

bool DriverWalk::FailToFree() {
  const CUresult result = Find<CUresult(CUdeviceptr)>("cuMemFree_v2")(kNowhere);
  Note("free", "linear", kNowhere, 0);
  --totals_.frees;  // a free of nothing does not count
  Note("free_failed", "linear", kNowhere, 0, result);
  return result == CUDA_ERROR_INVALID_VALUE;
}

}  // namespace memprof::testing
