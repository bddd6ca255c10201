// Hooks of stream-ordered memory and its pools.
//
// An allocation moves bytes within a pool; what the pool holds beyond that is sampled, at most
// once a millisecond and whenever it is created, trimmed or cannot serve. While a stream is being
// captured nothing is allocated or freed: the call becomes a node of a graph (hooks_graph.h).
//
// A pool may lie in the host's memory (cuMemPoolCreate with a location of the host or one of its
// NUMA nodes): what it hands out is pinned memory, on no device and of no context.
#pragma once

#include "libmemprof/src/driver/pool_place.h"
#include "libmemprof/src/hooks/graph.h"

namespace memprof::recorder {

inline void RecordStreamOrdered(Hook* hook, CUresult result, CUdeviceptr* pointer,
                                std::size_t bytes, std::uint64_t pool, CUstream stream) {
  CUgraph graph = nullptr;
  if (Capturing(hook->id(), stream, &graph)) {
    CUDA_MEM_ALLOC_NODE_PARAMS node{};
    node.bytesize = bytes;
    if (result == CUDA_SUCCESS) node.dptr = *pointer;
    RecordAllocNode(hook, result, graph, &node);
    return;
  }
  hook->Allocated(result, kLayerStreamOrdered, result == CUDA_SUCCESS ? *pointer : 0, bytes, pool,
                  0, stream);
  if (result != CUDA_SUCCESS || hook->driver()->TimeForPoolSample(NowNs()))
    SamplePools(hook->slot());
}

// A pool may be on another device than the current context, or on none: there the memory is.
inline void RecordFromElsewhere(Hook* hook, CUdeviceptr pointer, std::size_t bytes,
                                std::uint64_t pool, std::int32_t device, CUstream stream) {
  const bool on_host = device == DriverState::kHost;
  ring::RingEvent event = hook->Event(kOpAlloc, on_host ? kLayerPinned : kLayerStreamOrdered);
  event.context = on_host ? 0 : hook->Context().id;
  event.SetDevice(device);
  event.address = pointer;
  event.bytes = bytes;
  event.aux0 = pool;
  event.stream = reinterpret_cast<std::uint64_t>(stream);
  hook->Emit(&event, true);
}

template <typename Real>
CUresult AllocateAsync(FunctionId id, Real real, CUdeviceptr* pointer, std::size_t bytes,
                       CUstream stream) {
  Hook hook(id);
  const CUresult result = real(pointer, bytes, stream);
  if (RecordsAllocations(hook)) {
    const std::uint64_t pool = hook.driver()->CurrentPool(hook.Context().device);
    RecordStreamOrdered(&hook, result, pointer, bytes, pool, stream);
  }
  return result;
}

template <typename Real>
CUresult AllocateFromPool(FunctionId id, Real real, CUdeviceptr* pointer, std::size_t bytes,
                          CUmemoryPool pool, CUstream stream) {
  Hook hook(id);
  const CUresult result = real(pointer, bytes, pool, stream);
  if (RecordsAllocations(hook)) {
    const auto handle = reinterpret_cast<std::uint64_t>(pool);
    const std::int32_t current = hook.Context().device;
    if (result == CUDA_SUCCESS) hook.driver()->MeetPool(handle, *pointer, current);
    const std::int32_t device = hook.driver()->PoolDevice(handle, current);
    if (device != current && result == CUDA_SUCCESS && !Capturing(id, stream))
      RecordFromElsewhere(&hook, *pointer, bytes, handle, device, stream);
    else if (device == DriverState::kHost && result != CUDA_SUCCESS)
      hook.AllocatedHost(result, kLayerPinned, nullptr, bytes);
    else
      RecordStreamOrdered(&hook, result, pointer, bytes, handle, stream);
  }
  return result;
}

template <typename Real>
CUresult FreeAsync(FunctionId id, Real real, CUdeviceptr pointer, CUstream stream) {
  Hook hook(id);
  const bool records = RecordsAllocations(hook);
  CUgraph graph = nullptr;
  if (records && Capturing(id, stream, &graph)) {
    const CUresult result = real(pointer, stream);
    RecordFreeNode(&hook, result, graph, pointer);
    return result;
  }
  if (records) hook.Freeing(kLayerStreamOrdered, pointer, stream);
  const CUresult result = real(pointer, stream);
  if (records) hook.Freed(result, kLayerStreamOrdered, pointer);
  return result;
}

template <typename Real>
CUresult CreatePool(FunctionId id, Real real, CUmemoryPool* pool,
                    const CUmemPoolProps* properties) {
  Hook hook(id);
  const CUresult result = real(pool, properties);
  if (!RecordsAllocations(hook)) return result;
  hook.Failed(result, kLayerStreamOrdered);
  if (result != CUDA_SUCCESS) return result;
  const std::int32_t device = properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE
                                  ? properties->location.id
                              : IsHostPool(*properties) ? DriverState::kHost
                                                        : hook.Context().device;
  const auto handle = reinterpret_cast<std::uint64_t>(*pool);
  hook.driver()->DefinePool(handle, device, false);
  ring::RingEvent event =
      hook.Event(kOpPoolCreate, device == DriverState::kHost ? kLayerPinned : kLayerStreamOrdered);
  event.address = handle;
  event.SetDevice(device);
  hook.Emit(&event, true);
  return result;
}

// Forgotten before the call: another thread may be given the same handle from then on.
template <typename Real>
CUresult DestroyPool(FunctionId id, Real real, CUmemoryPool pool) {
  Hook hook(id);
  if (!RecordsAllocations(hook)) return real(pool);
  const auto handle = reinterpret_cast<std::uint64_t>(pool);
  HandleTable* handles = hook.driver()->handles();
  HandleTable::Entry import;
  const bool imported =
      handles->Drop(handle, HandleKind::kPool, &import) != HandleTable::Dropped::kUnknown;
  std::int32_t device = -1;
  const bool known = hook.driver()->ForgetPool(handle, &device);
  const std::uint64_t before_ns = NowNs();
  const CUresult result = real(pool);
  if (result != CUDA_SUCCESS) {
    import.references = 1;
    if (imported) handles->Add(import);
    if (known) hook.driver()->RememberPool(handle, device);
    return result;
  }
  ring::RingEvent event =
      hook.Event(kOpPoolDestroy, imported ? kLayerImported : kLayerStreamOrdered);
  event.time_ns = before_ns;
  event.address = handle;
  event.SetDevice(device);
  hook.Emit(&event);
  return result;
}

template <typename Real>
CUresult TrimPool(FunctionId id, Real real, CUmemoryPool pool, std::size_t keep) {
  Hook hook(id);
  const CUresult result = real(pool, keep);
  if (!RecordsAllocations(hook) || result != CUDA_SUCCESS) return result;
  const auto handle = reinterpret_cast<std::uint64_t>(pool);
  const std::int32_t device = hook.driver()->PoolDevice(handle, hook.Context().device);
  ring::RingEvent event = hook.Event(kOpPoolTrim, kLayerStreamOrdered);
  event.address = handle;
  event.bytes = keep;
  event.SetDevice(device);
  hook.Emit(&event);
  SamplePool(hook.slot(), handle, device);
  return result;
}

}  // namespace memprof::recorder
