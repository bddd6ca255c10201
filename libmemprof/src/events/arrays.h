// Arrays, which have no address: their handle stands for it. Sparse ones, of which tiles are bound
// one by one, and such with deferred mapping, which are bound as a whole, have no bytes of their
// own: the memory bound to them is counted with its handle.
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

// An array or a mipmapped one, which may stand for external memory.
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

// Memory bound to parts of arrays, or taken from them: OP_MAP and OP_UNMAP of LAYER_ARRAY.
struct MapArrays : MemoryEvent {
  std::uint64_t before_ns = 0;
  void Before(Call*, CUarrayMapInfo*, unsigned, CUstream) { before_ns = NowNs(); }
  void After(Call* call, CUresult result, CUarrayMapInfo* list, unsigned count,
             CUstream stream) const;
};

// A context has ended, and with it all of its arrays.
void RecordArraysEnd(Call* call, std::uint32_t context, std::uint64_t before_ns);

}  // namespace memprof::recorder
