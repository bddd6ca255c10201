// Events of driver calls that hand out or take back memory.
#include "cupti_hooks/src/allocation_handlers.h"

#include <algorithm>
#include <string_view>

#include "cupti_hooks/src/callbacks.h"

namespace memprof::cupti {
namespace {

constexpr std::uint64_t kFreeReported = 1;  // left in Call::shared from entry to exit

bool IsOnDevice(std::uint32_t layer) { return layer != kLayerPinned && layer != kLayerRegistered; }

// Whether the layer's address is one that kernels and copies can use.
bool HasPointers(std::uint32_t layer) {
  return layer != kLayerArray && layer != kLayerVmmPhysical && layer != kLayerVmmAddress;
}

// What is recorded of a stream while it is captured becomes part of a graph and gets its memory
// when that is launched: no memory changes hands now, but launches will use the address.
bool IsCapturing(const Call& call, CUstream stream) {
  if (!call.allocations) return false;
  const std::string_view name = call.entry->name;
  const bool per_thread = name.ends_with("_ptsz");
  const auto query =
      per_thread ? Driver().stream_is_capturing_per_thread : Driver().stream_is_capturing;
  int status = 0;
  return query != nullptr && query(stream, &status) == 0 && status != 0;
}

std::uint64_t CurrentPool() {
  const DriverFunctions& driver = Driver();
  int device = 0;
  void* pool = nullptr;
  if (driver.current_device == nullptr || driver.device_pool == nullptr) return 0;
  if (driver.current_device(&device) != 0 || driver.device_pool(&pool, device) != 0) return 0;
  return Number(pool);
}

std::int32_t DeviceOf(const CUmemLocation& location) {
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? location.id : kNoDevice;
}

unsigned FormatBytes(unsigned format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
      return 4;
    default:
      return 1;
  }
}

}  // namespace

void ReportAllocation(const Call& call, const Allocation& allocation) {
  if (call.result == 0 && HasPointers(allocation.layer)) {
    MarkAddresses(IsOnDevice(allocation.layer) ? MemorySide::kDevice : MemorySide::kHost,
                  allocation.address, allocation.bytes);
  }
  if (!call.allocations) return;
  SourceEvent event =
      NewEvent(call, call.result == 0 ? kOpAlloc : kOpAllocFailed, allocation.layer);
  event.device = allocation.device;
  event.bytes = allocation.bytes;
  event.stream = allocation.stream;
  event.with_stack = 1;
  if (call.result == 0) {
    event.address = allocation.address;
    event.aux0 = allocation.aux0;
    event.aux1 = allocation.aux1;
  } else if (call.result == CUDA_ERROR_OUT_OF_MEMORY && IsOnDevice(allocation.layer)) {
    std::size_t free = 0;
    std::size_t total = 0;
    if (Driver().memory_info != nullptr && Driver().memory_info(&free, &total) == 0) {
      event.aux0 = free;
      event.aux1 = total;
    }
  }
  Record(event);
}

void ReportFree(const Call& call, std::uint32_t layer, std::int32_t device, std::uint64_t address,
                std::uint64_t bytes, std::uint64_t stream) {
  if (address == 0 || !call.allocations) return;
  if (!call.exit) {
    SourceEvent event = NewEvent(call, kOpFree, layer);
    event.device = device;
    event.address = address;
    event.bytes = bytes;
    event.stream = stream;
    Record(event);
    if (call.shared != nullptr) *call.shared = kFreeReported;
    return;
  }
  // Only what this source reported is taken back: listening may have begun inside the call.
  const bool reported = call.shared == nullptr || *call.shared == kFreeReported;
  if (call.result == 0 || !reported) return;
  SourceEvent event = NewEvent(call, kOpFreeFailed, layer);
  event.device = device;
  event.address = address;
  Record(event);
}

void AllocManaged(const Call& call) {
  if (!call.exit) return;
  const auto& params = call.As<cuMemAllocManaged_params>();
  ReportAllocation(call,
                   {kLayerManaged, kCurrentDevice, Output(call, params.dptr), params.bytesize});
}

void FreePinned(const Call& call) {
  ReportFree(call, kLayerPinned, kNoDevice, Number(call.As<cuMemFreeHost_params>().p));
}

void UnregisterHost(const Call& call) {
  ReportFree(call, kLayerRegistered, kNoDevice, Number(call.As<cuMemHostUnregister_params>().p));
}

namespace {

template <typename Params>
void ReportStreamOrdered(const Call& call, const Params& params, std::uint64_t pool) {
  Call outside_graph = call;
  outside_graph.allocations = call.allocations && !IsCapturing(call, params.hStream);
  ReportAllocation(outside_graph, {kLayerStreamOrdered, kCurrentDevice, Output(call, params.dptr),
                                   params.bytesize, pool, 0, Number(params.hStream)});
}

}  // namespace

void AllocAsync(const Call& call) {
  const auto& params = call.As<cuMemAllocAsync_params>();
  if (!call.exit) return;
  ReportStreamOrdered(call, params, call.allocations ? CurrentPool() : 0);
}

void AllocFromPool(const Call& call) {
  const auto& params = call.As<cuMemAllocFromPoolAsync_params>();
  if (!call.exit) return;
  ReportStreamOrdered(call, params, Number(params.pool));
}

void FreeAsync(const Call& call) {
  const auto& params = call.As<cuMemFreeAsync_params>();
  if (!call.exit && IsCapturing(call, params.hStream)) return;
  ReportFree(call, kLayerStreamOrdered, kCurrentDevice, params.dptr, 0, Number(params.hStream));
}

void PoolCreate(const Call& call) {
  if (!call.exit || call.result != 0 || !call.allocations) return;
  const auto& params = call.As<cuMemPoolCreate_params>();
  SourceEvent event = NewEvent(call, kOpPoolCreate, kLayerStreamOrdered);
  event.address = Output(call, params.pool);
  if (params.poolProps != nullptr) event.device = DeviceOf(params.poolProps->location);
  Record(event);
}

void PoolDestroy(const Call& call) {
  if (call.exit || !call.allocations) return;
  SourceEvent event = NewEvent(call, kOpPoolDestroy, kLayerStreamOrdered);
  event.address = Number(call.As<cuMemPoolDestroy_params>().pool);
  Record(event);
}

void PoolTrim(const Call& call) {
  if (!call.exit || call.result != 0 || !call.allocations) return;
  const auto& params = call.As<cuMemPoolTrimTo_params>();
  SourceEvent event = NewEvent(call, kOpPoolTrim, kLayerStreamOrdered);
  event.address = Number(params.pool);
  event.bytes = params.minBytesToKeep;
  Record(event);
}

void AddressReserve(const Call& call) {
  if (!call.exit) return;
  const auto& params = call.As<cuMemAddressReserve_params>();
  ReportAllocation(call, {kLayerVmmAddress, kNoDevice, Output(call, params.ptr), params.size});
}

void AddressFree(const Call& call) {
  const auto& params = call.As<cuMemAddressFree_params>();
  ReportFree(call, kLayerVmmAddress, kNoDevice, params.ptr, params.size);
}

void CreatePhysical(const Call& call) {
  if (!call.exit) return;
  const auto& params = call.As<cuMemCreate_params>();
  const std::int32_t device =
      params.prop == nullptr ? kCurrentDevice : DeviceOf(params.prop->location);
  ReportAllocation(call, {kLayerVmmPhysical, device, Output(call, params.handle), params.size});
}

void ReleasePhysical(const Call& call) {
  ReportFree(call, kLayerVmmPhysical, kCurrentDevice, call.As<cuMemRelease_params>().handle);
}

void MapPhysical(const Call& call) {
  if (!call.exit || call.result != 0) return;
  const auto& params = call.As<cuMemMap_params>();
  MarkAddresses(MemorySide::kDevice, params.ptr, params.size);
  if (!call.allocations) return;
  SourceEvent event = NewEvent(call, kOpMap, kLayerVmmPhysical);
  event.address = params.ptr;
  event.bytes = params.size;
  event.aux0 = params.handle;
  event.aux1 = params.offset;
  Record(event);
}

void UnmapPhysical(const Call& call) {
  if (call.exit || !call.allocations) return;
  const auto& params = call.As<cuMemUnmap_params>();
  SourceEvent event = NewEvent(call, kOpUnmap, kLayerVmmPhysical);
  event.address = params.ptr;
  event.bytes = params.size;
  Record(event);
}

std::uint64_t ArrayBytes(std::uint64_t width, std::uint64_t height, std::uint64_t depth,
                         unsigned format, unsigned channels, bool layered, unsigned levels) {
  const std::uint64_t element = std::uint64_t{FormatBytes(format)} * std::max(channels, 1u);
  std::uint64_t bytes = 0;
  for (unsigned level = 0; level < std::min(std::max(levels, 1u), 32u); ++level) {
    const auto scaled = [level](std::uint64_t size) {
      return std::max<std::uint64_t>(size >> level, 1);
    };
    const std::uint64_t layers = layered ? std::max<std::uint64_t>(depth, 1) : scaled(depth);
    bytes += scaled(width) * scaled(height) * layers * element;
  }
  return bytes;
}

void CreateMipmappedArray(const Call& call) {
  const auto& params = call.As<cuMipmappedArrayCreate_params>();
  if (!call.exit || params.pMipmappedArrayDesc == nullptr) return;
  const auto& array = *params.pMipmappedArrayDesc;
  const bool layered = (array.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
  ReportAllocation(call, {kLayerArray, kCurrentDevice, Output(call, params.pHandle),
                          ArrayBytes(array.Width, array.Height, array.Depth, array.Format,
                                     array.NumChannels, layered, params.numMipmapLevels)});
}

void DestroyArray(const Call& call) {
  ReportFree(call, kLayerArray, kCurrentDevice, Number(call.As<cuArrayDestroy_params>().hArray));
}

void DestroyMipmappedArray(const Call& call) {
  ReportFree(call, kLayerArray, kCurrentDevice,
             Number(call.As<cuMipmappedArrayDestroy_params>().hMipmappedArray));
}

void ReportIpcOpen(const Call& call, std::uint64_t address) {
  unsigned long long base = 0;
  std::size_t bytes = 0;
  if (call.result == 0 && Driver().address_range != nullptr) {
    if (Driver().address_range(&base, &bytes, address) != 0) bytes = 0;
  }
  ReportAllocation(call, {kLayerImported, kCurrentDevice, address, bytes});
}

void IpcClose(const Call& call) {
  ReportFree(call, kLayerImported, kCurrentDevice, call.As<cuIpcCloseMemHandle_params>().dptr);
}

void PrimaryReset(const Call& call) {
  if (call.exit || !call.allocations) return;
  SourceEvent event = NewEvent(call, kOpDeviceReset, kLayerNone);
  event.device = call.As<cuDevicePrimaryCtxReset_params>().dev;
  Record(event);
}

}  // namespace memprof::cupti
