// Events of advice about managed memory.
#include "libmemprof/src/events/managed.h"

#include "libmemprof/src/driver/pool_place.h"

namespace memprof::recorder {
namespace {

void RecordRange(Call* call, Op op, std::uint64_t address, std::uint64_t bytes,
                 const CUmemLocation* place, std::uint64_t advice, CUstream stream) {
  ring::RingEvent event = call->Event(op, kLayerManaged);
  event.context = call->Context().id;
  event.address = address;
  event.bytes = bytes;
  event.aux0 = advice;
  event.stream = Number(stream);
  if (place != nullptr) {
    event.aux1 = static_cast<std::uint64_t>(place->type);
    if (const std::int32_t device = LocationDevice(*place); device >= 0) event.SetDevice(device);
  }
  call->Emit(&event, true);
}

}  // namespace

CUmemLocation PlaceOf(CUdevice device) {
  CUmemLocation place{};
  place.type = device >= 0 ? CU_MEM_LOCATION_TYPE_DEVICE : static_cast<CUmemLocationType>(2);
  if (device >= 0) place.id = device;
  return place;
}

void RecordAdvice(Call* call, CUresult result, Op op, CUdeviceptr address, std::size_t bytes,
                  CUmemLocation place, std::uint64_t advice, CUstream stream) {
  call->Failed(result, kLayerManaged, bytes);
  if (result == CUDA_SUCCESS) RecordRange(call, op, address, bytes, &place, advice, stream);
}

void RecordBatch(Call* call, CUresult result, const RangeBatch& batch) {
  if (result != CUDA_SUCCESS) {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < batch.count && batch.sizes != nullptr; ++i) bytes += batch.sizes[i];
    return call->Failed(result, kLayerManaged, bytes);
  }
  if (batch.addresses == nullptr || batch.sizes == nullptr) return;
  std::size_t place = 0;
  for (std::size_t i = 0; i < batch.count; ++i) {
    const std::uint64_t address = batch.addresses[i], bytes = batch.sizes[i];
    if (batch.discards) RecordRange(call, kOpDiscard, address, bytes, nullptr, 0, batch.stream);
    if (batch.places == nullptr || batch.firsts == nullptr || batch.place_count == 0) continue;
    while (place + 1 < batch.place_count && batch.firsts[place + 1] <= i) ++place;
    RecordRange(call, kOpPrefetch, address, bytes, &batch.places[place], 0, batch.stream);
  }
}

}  // namespace memprof::recorder
