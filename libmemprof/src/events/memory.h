// Linear, pitched, managed, pinned and registered memory. Inlined, because no other function is
// called as often.
#pragma once

#include "libmemprof/src/events/call.h"

namespace memprof::recorder {

struct AllocateLinear : MemoryEvent {
  void After(Call* call, CUresult result, CUdeviceptr* pointer, std::size_t bytes) const {
    call->Allocated(result, kLayerLinear, Output(result, pointer), bytes);
  }
};

struct AllocatePitched : MemoryEvent {
  void After(Call* call, CUresult result, CUdeviceptr* pointer, std::size_t* pitch,
             std::size_t width, std::size_t height, unsigned) const {
    const bool success = result == CUDA_SUCCESS;
    // The requested width, where no pitch is known.
    const std::uint64_t row = success ? *pitch : width;
    call->Allocated(result, kLayerPitched, Output(result, pointer), row * height, success ? row : 0,
                    success ? width : 0);
  }
};

struct AllocateManaged : MemoryEvent {
  void After(Call* call, CUresult result, CUdeviceptr* pointer, std::size_t bytes, unsigned) const {
    call->Allocated(result, kLayerManaged, Output(result, pointer), bytes);
  }
};

struct FreeLinear : MemoryEvent {
  void Before(Call* call, CUdeviceptr pointer) const { call->Freeing(kLayerLinear, pointer); }
  void After(Call* call, CUresult result, CUdeviceptr pointer) const {
    call->Freed(result, kLayerLinear, pointer);
  }
};

struct AllocateHost : MemoryEvent {
  void After(Call* call, CUresult result, void** pointer, std::size_t bytes, unsigned = 0) const {
    call->AllocatedHost(result, kLayerPinned, result == CUDA_SUCCESS ? *pointer : nullptr, bytes);
  }
};

struct RegisterHost : MemoryEvent {
  void After(Call* call, CUresult result, void* pointer, std::size_t bytes, unsigned) const {
    call->AllocatedHost(result, kLayerRegistered, pointer, bytes);
  }
};

template <Layer kLayer>
struct EndHost : MemoryEvent {
  void Before(Call* call, void* pointer) const { call->FreeingHost(kLayer, pointer); }
  void After(Call* call, CUresult result, void* pointer) const {
    call->Freed(result, kLayer, Number(pointer));
  }
};
using FreeHost = EndHost<kLayerPinned>;
using UnregisterHost = EndHost<kLayerRegistered>;

}  // namespace memprof::recorder
