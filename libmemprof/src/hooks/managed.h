// Hooks of what a program says about managed memory: where it should be, how it will be used, that
// its contents may be dropped. Nothing is allocated or freed; the events tell why memory moved.
#pragma once

#include "libmemprof/src/hooks/hooks.h"

namespace memprof::recorder {

// Before CUDA 12.2 a place was an ordinal, or CU_DEVICE_CPU.
inline CUmemLocation PlaceOf(CUdevice device) {
  CUmemLocation place{};
  place.type = device >= 0 ? CU_MEM_LOCATION_TYPE_DEVICE : static_cast<CUmemLocationType>(2);
  if (device >= 0) place.id = device;
  return place;
}

inline void RecordAdvice(Hook* hook, Op op, std::uint64_t address, std::uint64_t bytes,
                         const CUmemLocation* place, std::uint64_t advice, CUstream stream) {
  ring::RingEvent event = hook->Event(op, kLayerManaged);
  event.context = hook->Context().id;
  event.address = address;
  event.bytes = bytes;
  event.aux0 = advice;
  event.stream = reinterpret_cast<std::uint64_t>(stream);
  if (place != nullptr) {
    event.aux1 = static_cast<std::uint64_t>(place->type);
    if (place->type == CU_MEM_LOCATION_TYPE_DEVICE) event.SetDevice(place->id);
  }
  hook->Emit(&event, true);
}

template <typename Real>
CUresult Prefetch(FunctionId id, Real real, CUdeviceptr address, std::size_t bytes, CUdevice device,
                  CUstream stream) {
  Hook hook(id);
  const CUresult result = real(address, bytes, device, stream);
  if (!RecordsAllocations(hook)) return result;
  hook.Failed(result, kLayerManaged, bytes);
  if (result != CUDA_SUCCESS) return result;
  const CUmemLocation place = PlaceOf(device);
  RecordAdvice(&hook, kOpPrefetch, address, bytes, &place, 0, stream);
  return result;
}

template <typename Real>
CUresult PrefetchTo(FunctionId id, Real real, CUdeviceptr address, std::size_t bytes,
                    CUmemLocation place, unsigned flags, CUstream stream) {
  Hook hook(id);
  const CUresult result = real(address, bytes, place, flags, stream);
  if (!RecordsAllocations(hook)) return result;
  hook.Failed(result, kLayerManaged, bytes);
  if (result == CUDA_SUCCESS) RecordAdvice(&hook, kOpPrefetch, address, bytes, &place, 0, stream);
  return result;
}

template <typename Real, typename Place>
CUresult Advise(FunctionId id, Real real, CUdeviceptr address, std::size_t bytes,
                CUmem_advise advice, Place where) {
  Hook hook(id);
  const CUresult result = real(address, bytes, advice, where);
  if (!RecordsAllocations(hook)) return result;
  hook.Failed(result, kLayerManaged, bytes);
  if (result != CUDA_SUCCESS) return result;
  CUmemLocation place{};
  if constexpr (std::is_same_v<Place, CUmemLocation>)
    place = where;
  else
    place = PlaceOf(where);
  RecordAdvice(&hook, kOpAdvise, address, bytes, &place, static_cast<std::uint64_t>(advice),
               nullptr);
  return result;
}

// One event for each range, or one for all of a batch that failed.
// Place i is meant for the ranges from index i of `firsts` up to the next one.
inline void RecordBatch(Hook* hook, CUresult result, const CUdeviceptr* addresses,
                        const std::size_t* sizes, std::size_t count, bool discards,
                        const CUmemLocation* places, const std::size_t* firsts,
                        std::size_t place_count, CUstream stream) {
  if (result != CUDA_SUCCESS) {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < count && sizes != nullptr; ++i) bytes += sizes[i];
    return hook->Failed(result, kLayerManaged, bytes);
  }
  if (addresses == nullptr || sizes == nullptr) return;
  std::size_t place = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (discards) RecordAdvice(hook, kOpDiscard, addresses[i], sizes[i], nullptr, 0, stream);
    if (places == nullptr || firsts == nullptr || place_count == 0) continue;
    while (place + 1 < place_count && firsts[place + 1] <= i) ++place;
    RecordAdvice(hook, kOpPrefetch, addresses[i], sizes[i], &places[place], 0, stream);
  }
}

template <typename Real>
CUresult DiscardBatch(FunctionId id, Real real, CUdeviceptr* addresses, std::size_t* sizes,
                      std::size_t count, unsigned long long flags, CUstream stream) {
  Hook hook(id);
  const CUresult result = real(addresses, sizes, count, flags, stream);
  if (RecordsAllocations(hook))
    RecordBatch(&hook, result, addresses, sizes, count, true, nullptr, nullptr, 0, stream);
  return result;
}

template <bool kDiscards, typename Real>
CUresult PlaceBatch(FunctionId id, Real real, CUdeviceptr* addresses, std::size_t* sizes,
                    std::size_t count, CUmemLocation* places, std::size_t* firsts,
                    std::size_t place_count, unsigned long long flags, CUstream stream) {
  Hook hook(id);
  const CUresult result = real(addresses, sizes, count, places, firsts, place_count, flags, stream);
  if (RecordsAllocations(hook))
    RecordBatch(&hook, result, addresses, sizes, count, kDiscards, places, firsts, place_count,
                stream);
  return result;
}

template <typename Real>
CUresult PrefetchBatch(FunctionId id, Real real, CUdeviceptr* addresses, std::size_t* sizes,
                       std::size_t count, CUmemLocation* places, std::size_t* firsts,
                       std::size_t place_count, unsigned long long flags, CUstream stream) {
  return PlaceBatch<false>(id, real, addresses, sizes, count, places, firsts, place_count, flags,
                           stream);
}

template <typename Real>
CUresult DiscardAndPrefetchBatch(FunctionId id, Real real, CUdeviceptr* addresses,
                                 std::size_t* sizes, std::size_t count, CUmemLocation* places,
                                 std::size_t* firsts, std::size_t place_count,
                                 unsigned long long flags, CUstream stream) {
  return PlaceBatch<true>(id, real, addresses, sizes, count, places, firsts, place_count, flags,
                          stream);
}

}  // namespace memprof::recorder
