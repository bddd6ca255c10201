// Advice on managed memory: where it should be, how it will be used, that its contents may be
// dropped. Nothing is allocated or freed; the events explain why memory moved.
#pragma once

#include "libmemprof/src/events/call.h"

namespace memprof::recorder {

// Before CUDA 12.2 a place was an ordinal, or CU_DEVICE_CPU.
CUmemLocation PlaceOf(CUdevice device);
inline CUmemLocation PlaceOf(CUmemLocation place) { return place; }

void RecordAdvice(Call* call, CUresult result, Op op, CUdeviceptr address, std::size_t bytes,
                  CUmemLocation place, std::uint64_t advice, CUstream stream);

struct Prefetch : MemoryEvent {
  void After(Call* call, CUresult result, CUdeviceptr address, std::size_t bytes, CUdevice device,
             CUstream stream) const {
    RecordAdvice(call, result, kOpPrefetch, address, bytes, PlaceOf(device), 0, stream);
  }
};

struct PrefetchTo : MemoryEvent {
  void After(Call* call, CUresult result, CUdeviceptr address, std::size_t bytes,
             CUmemLocation place, unsigned, CUstream stream) const {
    RecordAdvice(call, result, kOpPrefetch, address, bytes, place, 0, stream);
  }
};

struct Advise : MemoryEvent {
  template <typename Place>
  void After(Call* call, CUresult result, CUdeviceptr address, std::size_t bytes,
             CUmem_advise advice, Place place) const {
    RecordAdvice(call, result, kOpAdvise, address, bytes, PlaceOf(place),
                 static_cast<std::uint64_t>(advice), nullptr);
  }
};

// Ranges of managed memory in one call. Place i applies to the ranges from index firsts[i] up to
// the next first.
struct RangeBatch {
  const CUdeviceptr* addresses;
  const std::size_t* sizes;
  std::size_t count;
  bool discards;
  const CUmemLocation* places;
  const std::size_t* firsts;
  std::size_t place_count;
  CUstream stream;
};
// One event for each range; one for the whole batch if it failed.
void RecordBatch(Call* call, CUresult result, const RangeBatch& batch);

struct DiscardBatch : MemoryEvent {
  void After(Call* call, CUresult result, CUdeviceptr* addresses, std::size_t* sizes,
             std::size_t count, unsigned long long, CUstream stream) const {
    RecordBatch(call, result, {addresses, sizes, count, true, nullptr, nullptr, 0, stream});
  }
};

template <bool kDiscards>
struct PlaceBatch : MemoryEvent {
  void After(Call* call, CUresult result, CUdeviceptr* addresses, std::size_t* sizes,
             std::size_t count, CUmemLocation* places, std::size_t* firsts, std::size_t place_count,
             unsigned long long, CUstream stream) const {
    RecordBatch(call, result,
                {addresses, sizes, count, kDiscards, places, firsts, place_count, stream});
  }
};
using PrefetchBatch = PlaceBatch<false>;
using DiscardAndPrefetchBatch = PlaceBatch<true>;

}  // namespace memprof::recorder
