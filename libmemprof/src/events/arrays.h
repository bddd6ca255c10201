// Arrays. They have no address, so their handle identifies them. A sparse array, whose tiles are
// bound one by one, and an array with deferred mapping, which is bound as a whole, have no bytes of
// their own: the memory that is bound to them is counted with its own handle.
#pragma once

#include "libmemprof/src/driver/array_bytes.h"
#include "libmemprof/src/events/call.h"

namespace memprof::recorder {

struct CreateArray : MemoryEvent {
  void After(Call* call, CUresult result, CUarray* array,
             const CUDA_ARRAY_DESCRIPTOR* descriptor) const;
};

struct CreateArray3D : MemoryEvent {
  void After(Call* call, CUresult result, CUarray* array,
             const CUDA_ARRAY3D_DESCRIPTOR* descriptor) const;
};

struct CreateMipmap : MemoryEvent {
  void After(Call* call, CUresult result, CUmipmappedArray* array,
             const CUDA_ARRAY3D_DESCRIPTOR* descriptor, unsigned levels) const;
};

// Ends an array or a mipmapped array, which may be a view of external memory.
class EndArray : public MemoryEvent {
 protected:
  void Begin(Call* call, std::uint64_t array);
  void End(Call* call, CUresult result, std::uint64_t array);

 private:
  Layer layer_ = kLayerArray;
  HandleTable::Entry imported_;
  std::uint64_t before_ns_ = 0;
};

template <typename Handle>
struct DestroySomeArray : EndArray {
  void Before(Call* call, Handle array) { Begin(call, Number(array)); }
  void After(Call* call, CUresult result, Handle array) { End(call, result, Number(array)); }
};
using DestroyArray = DestroySomeArray<CUarray>;
using DestroyMipmap = DestroySomeArray<CUmipmappedArray>;

// Memory is bound to parts of arrays, or unbound: OP_MAP and OP_UNMAP of LAYER_ARRAY.
struct MapArrays : MemoryEvent {
  std::uint64_t before_ns = 0;
  void Before(Call*, CUarrayMapInfo*, unsigned, CUstream) { before_ns = NowNs(); }
  void After(Call* call, CUresult result, CUarrayMapInfo* list, unsigned count,
             CUstream stream) const;
};

// A context has ended, and with it all of its arrays.
void RecordArraysEnd(Call* call, std::uint32_t context, std::uint64_t before_ns);

}  // namespace memprof::recorder
