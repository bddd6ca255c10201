// Events of stream-ordered memory and its pools.
#include "libmemprof/src/events/pool.h"

#include "libmemprof/src/driver/pool_place.h"
#include "libmemprof/src/events/memory_samples.h"

namespace memprof::recorder {
namespace {

// For a pool on another device than the current context, or on none: the memory is where the pool
// is.
void RecordFromElsewhere(Call* call, CUdeviceptr pointer, std::size_t bytes, std::uint64_t pool,
                         std::int32_t device, CUstream stream) {
  const bool on_host = device == DriverState::kHost;
  ring::RingEvent event = call->Event(kOpAlloc, on_host ? kLayerPinned : kLayerStreamOrdered);
  event.context = on_host ? 0 : call->Context().id;
  event.SetDevice(device);
  event.address = pointer;
  event.bytes = bytes;
  event.aux0 = pool;
  event.stream = Number(stream);
  call->Emit(&event, true);
}

}  // namespace

void AllocateFromPool::After(Call* call, CUresult result, CUdeviceptr* pointer, std::size_t bytes,
                             CUmemoryPool pool, CUstream stream) const {
  const std::uint64_t handle = Number(pool);
  const std::int32_t current = call->Context().device;
  if (result == CUDA_SUCCESS) call->driver()->DefineSeenPool(handle, *pointer, current);
  const std::int32_t device = call->driver()->PoolDevice(handle, current);
  if (device != current && result == CUDA_SUCCESS && !Capturing(call->id(), stream))
    RecordFromElsewhere(call, *pointer, bytes, handle, device, stream);
  else if (device == DriverState::kHost && result != CUDA_SUCCESS)
    call->AllocatedHost(result, kLayerPinned, nullptr, bytes);
  else
    RecordStreamOrdered(call, result, pointer, bytes, handle, stream);
}

void CreatePool::After(Call* call, CUresult result, CUmemoryPool* pool,
                       const CUmemPoolProps* properties) const {
  call->Failed(result, kLayerStreamOrdered);
  if (result != CUDA_SUCCESS) return;
  std::int32_t device = LocationDevice(properties->location);
  if (device < 0) device = IsHostPool(*properties) ? DriverState::kHost : call->Context().device;
  call->driver()->DefinePool(Number(*pool), device, false);
  ring::RingEvent event =
      call->Event(kOpPoolCreate, device == DriverState::kHost ? kLayerPinned : kLayerStreamOrdered);
  event.address = Number(*pool);
  event.SetDevice(device);
  call->Emit(&event, true);
}

void DestroyPool::Before(Call* call, CUmemoryPool pool) {
  imported_ = call->driver()->handles()->Drop(Number(pool), HandleKind::kPool, &import_) !=
              HandleTable::Dropped::kUnknown;
  known_ = call->driver()->RemovePool(Number(pool), &device_);
  before_ns_ = NowNs();
}

void DestroyPool::After(Call* call, CUresult result, CUmemoryPool pool) {
  if (result != CUDA_SUCCESS) {
    if (imported_) call->driver()->handles()->Add(import_);
    if (known_) call->driver()->AddPool(Number(pool), device_);
    return;
  }
  ring::RingEvent event =
      call->Event(kOpPoolDestroy, imported_ ? kLayerImported : kLayerStreamOrdered);
  event.time_ns = before_ns_;
  event.address = Number(pool);
  event.SetDevice(device_);
  call->Emit(&event);
}

void TrimPool::After(Call* call, CUresult result, CUmemoryPool pool, std::size_t keep) const {
  if (result != CUDA_SUCCESS) return;
  const std::int32_t device = call->driver()->PoolDevice(Number(pool), call->Context().device);
  ring::RingEvent event = call->Event(kOpPoolTrim, kLayerStreamOrdered);
  event.address = Number(pool);
  event.bytes = keep;
  event.SetDevice(device);
  call->Emit(&event);
  SamplePool(call->slot(), Number(pool), device);
}

}  // namespace memprof::recorder
