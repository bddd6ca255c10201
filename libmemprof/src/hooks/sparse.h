// Hooks of arrays whose memory comes later: sparse ones, of which tiles are bound one by one, and
// such with deferred mapping, which are bound as a whole. They have no bytes of their own: the
// memory bound to them is counted with its handle.
#pragma once

#include "libmemprof/src/driver/array_bytes.h"
#include "libmemprof/src/hooks/vmm.h"

namespace memprof::recorder {

// After the creation of such an array: an allocation without bytes; aux0 = bytes of all of it.
template <typename Handle>
void RecordMappedLater(Hook* hook, Handle array, const CUDA_ARRAY3D_DESCRIPTOR* descriptor,
                       unsigned levels) {
  const auto handle = reinterpret_cast<std::uint64_t>(array);
  const std::uint64_t bytes = ArrayBytes3D(descriptor, levels);
  hook->driver()->handles()->Add({handle, HandleKind::kSparse, hook->Context().id,
                                  IsMappedAsWhole(descriptor), bytes,
                                  ElementBits(descriptor->Format, descriptor->NumChannels), 1});
  hook->Allocated(CUDA_SUCCESS, kLayerArray, handle, 0, bytes);
}

// Memory bound to parts of arrays, or taken from them: OP_MAP and OP_UNMAP of LAYER_ARRAY.
void RecordArrayMap(Hook* hook, const CUarrayMapInfo& info, std::uint64_t before_ns,
                    CUstream stream);
void RecordArrayMapFailed(Hook* hook, CUresult result, const CUarrayMapInfo* list, unsigned count);
// The array has ended, or with a context all of its arrays.
void RecordArrayEnd(Hook* hook, std::uint64_t array, std::uint64_t before_ns);
void RecordArraysEnd(Hook* hook, std::uint32_t context, std::uint64_t before_ns);

template <typename Real>
CUresult MapArrays(FunctionId id, Real real, CUarrayMapInfo* list, unsigned count,
                   CUstream stream) {
  Hook hook(id);
  const bool records = RecordsAllocations(hook) && list != nullptr;
  const std::uint64_t before_ns = records ? NowNs() : 0;
  const CUresult result = real(list, count, stream);
  if (!records) return result;
  if (result != CUDA_SUCCESS) RecordArrayMapFailed(&hook, result, list, count);
  for (unsigned i = 0; i < count && result == CUDA_SUCCESS; ++i)
    RecordArrayMap(&hook, list[i], before_ns, stream);
  return result;
}

}  // namespace memprof::recorder
