// Events of driver calls that hand out or take back memory.
#include "cupti_hooks/src/allocation_handlers.h"

#include <atomic>
#include <new>

#include "cupti_hooks/src/graph_handlers.h"
#include "libmemprof/src/base/sys.h"
#include "libmemprof/src/driver/array_bytes.h"
#include "libmemprof/src/driver/handle_table.h"
#include "libmemprof/src/driver/pool_place.h"

namespace memprof::cupti {
namespace {

// Left in Call::shared from the entry of a call that frees to its exit. The upper half is unlike
// what may be there by chance, the lower one says what graphs' memory is freed (NoteFreeing).
constexpr std::uint64_t kFreeReported = 0x66726565'00000000;
constexpr std::uint64_t kFreeMask = 0xffffffff'00000000;

bool IsOnDevice(std::uint32_t layer) { return layer != kLayerPinned && layer != kLayerRegistered; }

// Whether the layer's address is one that kernels and copies can use.
bool HasPointers(std::uint32_t layer) {
  return layer != kLayerArray && layer != kLayerVmmPhysical && layer != kLayerVmmAddress;
}

// The device that freed memory is on: not always the current one. Asked for only where there are
// several.
std::int32_t DeviceOfMemory(std::uint64_t address) {
  const DriverFunctions& driver = Driver();
  static std::atomic<int> count{0};
  int devices = count.load(std::memory_order_relaxed);
  if (devices == 0 && driver.device_count != nullptr && driver.device_count(&devices) == 0) {
    count.store(devices, std::memory_order_relaxed);
  }
  int device = 0;
  if (devices < 2 || driver.pointer_attribute == nullptr ||
      driver.pointer_attribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) != 0) {
    return kCurrentDevice;
  }
  return device;
}

using recorder::HandleKind;
using recorder::HandleTable;

// Never destroyed: callbacks may come in while the process ends.
alignas(HandleTable) unsigned char g_pools_memory[sizeof(HandleTable)];
HandleTable* g_pools = nullptr;  // set before anything listens

// Whether the pool lies in the host's memory. Of one whose creation was not seen, the driver is
// asked by what it handed out, `address`; 0 = nothing.
bool LiesOnHost(std::uint64_t pool, std::uint64_t address) {
  if (g_pools->Has(pool, HandleKind::kHostPool)) return true;
  if (address == 0 || g_pools->Has(pool, HandleKind::kPool)) return false;
  const bool on_host = recorder::IsHostMemory(Driver().pointer_attribute, address);
  g_pools->Add({pool, on_host ? HandleKind::kHostPool : HandleKind::kPool});
  return on_host;
}

std::uint64_t CurrentPool() {
  void* pool = nullptr;
  const std::int32_t device = CurrentDevice();
  const auto query = Driver().device_pool;
  return device >= 0 && query != nullptr && query(&pool, device) == 0 ? Number(pool) : 0;
}

// Pools belong to devices, not to contexts.
SourceEvent NewPoolEvent(const Call& call, std::uint32_t op) {
  SourceEvent event = NewEvent(call, op, kLayerStreamOrdered);
  event.context = 0;
  event.device = CurrentDevice();
  return event;
}

// What a pool holds: at most once a millisecond, unless something just changed it.
void SamplePool(const Call& call, std::uint64_t pool, bool now) {
  constexpr std::uint64_t kSampleNs = 1'000'000;
  static std::atomic<std::uint64_t> next{0};
  const DriverFunctions& driver = Driver();
  if (pool == 0 || driver.pool_attribute == nullptr) return;
  const std::uint64_t time = recorder::NowNs();
  std::uint64_t due = next.load(std::memory_order_relaxed);
  if (!now && (time < due ||
               !next.compare_exchange_strong(due, time + kSampleNs, std::memory_order_relaxed))) {
    return;
  }
  cuuint64_t reserved = 0;
  cuuint64_t used = 0;
  void* handle = reinterpret_cast<void*>(pool);
  if (driver.pool_attribute(handle, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved) != 0 ||
      driver.pool_attribute(handle, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used) != 0) {
    return;
  }
  SourceEvent event = NewPoolEvent(call, kOpPoolSample);
  event.result = 0;
  event.address = pool;
  event.bytes = reserved;
  event.aux0 = used;
  Record(event);
}

}  // namespace

void OpenPools() {
  if (g_pools == nullptr) g_pools = new (g_pools_memory) HandleTable;
}

void ReportAllocation(const Call& call, const Allocation& allocation) {
  const bool is_handle = allocation.layer == kLayerImported && allocation.aux1 == kImportExternal;
  if (call.result == 0 && HasPointers(allocation.layer) && !is_handle) {
    MarkAddresses(IsOnDevice(allocation.layer) ? MemorySide::kDevice : MemorySide::kHost,
                  allocation.address, allocation.bytes);
  }
  if (!call.allocations) return;
  SourceEvent event =
      NewEvent(call, call.result == 0 ? kOpAlloc : kOpAllocFailed, allocation.layer);
  event.device = allocation.device;
  if (allocation.outlives_context) event.context = 0;
  event.bytes = allocation.bytes;
  event.stream = allocation.stream;
  event.with_stack = 1;
  if (call.result == 0) {
    event.address = allocation.address;
    event.aux0 = allocation.aux0;
    event.aux1 = allocation.aux1;
  } else {
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
    event.device =
        device == kCurrentDevice && HasPointers(layer) ? DeviceOfMemory(address) : device;
    event.address = address;
    event.bytes = bytes;
    event.stream = stream;
    Record(event);
    if (call.shared != nullptr) *call.shared = kFreeReported | NoteFreeing(address);
    return;
  }
  // Only what this source reported is taken back: listening may have begun inside the call.
  const bool told = call.shared != nullptr && (*call.shared & kFreeMask) == kFreeReported;
  const bool reported = call.shared == nullptr || told;
  const bool freed = call.result == 0;
  if (told)
    NoteFreed(static_cast<std::uint32_t>(*call.shared), freed);
  else if (freed)
    NoteFreed(NoteFreeing(address), true);
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
  // While a stream is captured, nothing is allocated: the call becomes a node of a graph.
  std::uint64_t graph = 0;
  if (call.allocations && Capturing(call, params.hStream, &graph)) {
    return NoteAllocNode(call, graph, Output(call, params.dptr), params.bytesize, CurrentDevice());
  }
  ReportAllocation(call, {kLayerStreamOrdered, kCurrentDevice, Output(call, params.dptr),
                          params.bytesize, pool, 0, Number(params.hStream)});
  if (call.allocations) SamplePool(call, pool, call.result != 0);
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
  const std::uint64_t pool = Number(params.pool);
  const std::uint64_t address = Output(call, params.dptr);
  if (!LiesOnHost(pool, address)) return ReportStreamOrdered(call, params, pool);
  Allocation allocation{kLayerPinned,          kNoDevice, address, params.bytesize, pool, 0,
                        Number(params.hStream)};
  allocation.outlives_context = true;
  ReportAllocation(call, allocation);
}

void FreeAsync(const Call& call) {
  const auto& params = call.As<cuMemFreeAsync_params>();
  std::uint64_t graph = 0;
  if (call.allocations && Capturing(call, params.hStream, &graph)) {
    return NoteFreeNode(call, graph, params.dptr);
  }
  ReportFree(call, kLayerStreamOrdered, kCurrentDevice, params.dptr, 0, Number(params.hStream));
}

void PoolCreate(const Call& call) {
  if (!call.exit || call.result != 0 || !call.allocations) return;
  const auto& params = call.As<cuMemPoolCreate_params>();
  SourceEvent event = NewPoolEvent(call, kOpPoolCreate);
  event.address = Output(call, params.pool);
  if (params.poolProps != nullptr) {
    if (recorder::IsHostPool(*params.poolProps)) {
      event.device = kNoDevice;
      event.layer = kLayerPinned;
    } else if (params.poolProps->location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
      event.device = params.poolProps->location.id;
    }
  }
  g_pools->Add(
      {event.address, event.device == kNoDevice ? HandleKind::kHostPool : HandleKind::kPool});
  event.with_stack = 1;
  Record(event);
}

void PoolDestroy(const Call& call) {
  if (call.exit || !call.allocations) return;
  const std::uint64_t pool = Number(call.As<cuMemPoolDestroy_params>().pool);
  for (const HandleKind kind : {HandleKind::kHostPool, HandleKind::kPool})
    g_pools->Drop(pool, kind);
  SourceEvent event = NewPoolEvent(call, kOpPoolDestroy);
  event.address = pool;
  Record(event);
}

void PoolTrim(const Call& call) {
  if (!call.exit || call.result != 0 || !call.allocations) return;
  const auto& params = call.As<cuMemPoolTrimTo_params>();
  SourceEvent event = NewPoolEvent(call, kOpPoolTrim);
  event.address = Number(params.pool);
  event.bytes = params.minBytesToKeep;
  Record(event);
  SamplePool(call, Number(params.pool), true);
}

std::uint64_t BytesOf(const CUDA_ARRAY_DESCRIPTOR* array) { return recorder::ArrayBytes(array); }
// Memory of sparse arrays, and of such with deferred mapping, is that of the handles bound to them.
std::uint64_t BytesOf(const CUDA_ARRAY3D_DESCRIPTOR* array) {
  return recorder::IsMappedLater(array) ? 0 : recorder::ArrayBytes3D(array, 1);
}
std::uint64_t BytesOf(const CUDA_ARRAY_DESCRIPTOR_v1* array) {
  return recorder::ArrayBytes32(array);
}
std::uint64_t BytesOf(const CUDA_ARRAY3D_DESCRIPTOR_v1* array) {
  return recorder::ArrayBytes3D32(array);
}

void CreateMipmappedArray(const Call& call) {
  if (!call.exit) return;
  const auto& params = call.As<cuMipmappedArrayCreate_params>();
  const CUDA_ARRAY3D_DESCRIPTOR* array = params.pMipmappedArrayDesc;
  ReportAllocation(
      call,
      {kLayerArray, kCurrentDevice, Output(call, params.pHandle),
       recorder::IsMappedLater(array) ? 0 : recorder::ArrayBytes3D(array, params.numMipmapLevels)});
}

void DestroyArray(const Call& call) {
  ReportFree(call, kLayerArray, kCurrentDevice, Number(call.As<cuArrayDestroy_params>().hArray));
}

void DestroyMipmappedArray(const Call& call) {
  ReportFree(call, kLayerArray, kCurrentDevice,
             Number(call.As<cuMipmappedArrayDestroy_params>().hMipmappedArray));
}

std::uint64_t BytesAt(std::uint64_t address) {
  unsigned long long base = 0;
  std::size_t bytes = 0;
  const auto query = Driver().address_range;
  return address != 0 && query != nullptr && query(&base, &bytes, address) == 0 ? bytes : 0;
}

void ReportIpcOpen(const Call& call, std::uint64_t address) {
  ReportAllocation(call,
                   {kLayerImported, kCurrentDevice, address, BytesAt(address), 0, kImportIpc});
}

void IpcClose(const Call& call) {
  ReportFree(call, kLayerImported, kCurrentDevice, call.As<cuIpcCloseMemHandle_params>().dptr);
}

void PrimaryReset(const Call& call) {
  if (call.exit || !call.allocations) return;
  const std::int32_t device = call.As<cuDevicePrimaryCtxReset_params>().dev;
  EndGraphMemory(device);
  // Like all ends of contexts, the hooks report it themselves where they are in place.
  if (Recorder()->inside_hook() != 0) return;
  SourceEvent event = NewEvent(call, kOpDeviceReset, kLayerNone);
  event.device = device;
  Record(event);
}

}  // namespace memprof::cupti
