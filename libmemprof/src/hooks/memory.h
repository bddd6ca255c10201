// Hooks of linear, pitched, managed, pinned and registered memory, and arrays. Templates,
// because most functions exist with 32-bit and 64-bit sizes; `real` is the driver's function.
#pragma once

#include "libmemprof/src/driver/array_bytes.h"
#include "libmemprof/src/hooks/sparse.h"

namespace memprof::recorder {

template <typename Real, typename Pointer, typename Size>
CUresult AllocateLinear(FunctionId id, Real real, Pointer* pointer, Size bytes) {
  Hook hook(id);
  const CUresult result = real(pointer, bytes);
  if (RecordsAllocations(hook))
    hook.Allocated(result, kLayerLinear, result == CUDA_SUCCESS ? *pointer : 0, bytes);
  return result;
}

template <typename Real, typename Pointer, typename Size>
CUresult AllocatePitched(FunctionId id, Real real, Pointer* pointer, Size* pitch, Size width,
                         Size height, unsigned element) {
  Hook hook(id);
  const CUresult result = real(pointer, pitch, width, height, element);
  if (!RecordsAllocations(hook)) return result;
  const bool success = result == CUDA_SUCCESS;
  // What was asked for, where no pitch is known.
  const std::uint64_t row = success ? *pitch : width;
  hook.Allocated(result, kLayerPitched, success ? *pointer : 0, row * height, success ? row : 0,
                 success ? width : 0);
  return result;
}

template <typename Real>
CUresult AllocateManaged(FunctionId id, Real real, CUdeviceptr* pointer, std::size_t bytes,
                         unsigned flags) {
  Hook hook(id);
  const CUresult result = real(pointer, bytes, flags);
  if (RecordsAllocations(hook))
    hook.Allocated(result, kLayerManaged, result == CUDA_SUCCESS ? *pointer : 0, bytes);
  return result;
}

template <typename Real, typename Pointer>
CUresult FreeLinear(FunctionId id, Real real, Pointer pointer) {
  Hook hook(id);
  const bool records = RecordsAllocations(hook);
  if (records) hook.Freeing(kLayerLinear, pointer);
  const CUresult result = real(pointer);
  if (records) hook.Freed(result, kLayerLinear, pointer);
  return result;
}

template <typename Real, typename Size, typename... Flags>
CUresult AllocateHost(FunctionId id, Real real, void** pointer, Size bytes, Flags... flags) {
  Hook hook(id);
  const CUresult result = real(pointer, bytes, flags...);
  if (RecordsAllocations(hook))
    hook.AllocatedHost(result, kLayerPinned, result == CUDA_SUCCESS ? *pointer : nullptr, bytes);
  return result;
}

template <typename Real>
CUresult FreeHost(FunctionId id, Real real, void* pointer) {
  Hook hook(id);
  const bool records = RecordsAllocations(hook);
  if (records) hook.FreeingHost(kLayerPinned, pointer);
  const CUresult result = real(pointer);
  if (records) hook.Freed(result, kLayerPinned, reinterpret_cast<std::uint64_t>(pointer));
  return result;
}

template <typename Real>
CUresult RegisterHost(FunctionId id, Real real, void* pointer, std::size_t bytes, unsigned flags) {
  Hook hook(id);
  const CUresult result = real(pointer, bytes, flags);
  if (RecordsAllocations(hook)) hook.AllocatedHost(result, kLayerRegistered, pointer, bytes);
  return result;
}

template <typename Real>
CUresult UnregisterHost(FunctionId id, Real real, void* pointer) {
  Hook hook(id);
  const bool records = RecordsAllocations(hook);
  if (records) hook.FreeingHost(kLayerRegistered, pointer);
  const CUresult result = real(pointer);
  if (records) hook.Freed(result, kLayerRegistered, reinterpret_cast<std::uint64_t>(pointer));
  return result;
}

// Arrays have no address: their handle stands for it.
template <typename Real, typename Handle, typename Descriptor, typename... Levels>
CUresult CreateSomeArray(FunctionId id, Real real, std::uint64_t bytes, Handle* array,
                         Descriptor* descriptor, Levels... levels) {
  Hook hook(id);
  const CUresult result = real(array, descriptor, levels...);
  if (RecordsAllocations(hook))
    hook.Allocated(result, kLayerArray,
                   result == CUDA_SUCCESS ? reinterpret_cast<std::uint64_t>(*array) : 0, bytes);
  return result;
}

template <typename Real, typename Handle, typename... Levels>
CUresult Create3D(FunctionId id, Real real, Handle* array,
                  const CUDA_ARRAY3D_DESCRIPTOR* descriptor, unsigned levels, Levels... passed) {
  if (!IsMappedLater(descriptor))
    return CreateSomeArray(id, real, ArrayBytes3D(descriptor, levels), array, descriptor,
                           passed...);
  Hook hook(id);
  const CUresult result = real(array, descriptor, passed...);
  if (!RecordsAllocations(hook)) return result;
  hook.Failed(result, kLayerArray);
  if (result == CUDA_SUCCESS) RecordMappedLater(&hook, *array, descriptor, levels);
  return result;
}

template <typename Real>
CUresult CreateArray32(FunctionId id, Real real, CUarray* array, const void* descriptor) {
  return CreateSomeArray(id, real, ArrayBytes32(descriptor), array, descriptor);
}

template <typename Real>
CUresult CreateArray(FunctionId id, Real real, CUarray* array,
                     const CUDA_ARRAY_DESCRIPTOR* descriptor) {
  return CreateSomeArray(id, real, ArrayBytes(descriptor), array, descriptor);
}

template <typename Real>
CUresult CreateArray3D32(FunctionId id, Real real, CUarray* array, const void* descriptor) {
  return CreateSomeArray(id, real, ArrayBytes3D32(descriptor), array, descriptor);
}

template <typename Real>
CUresult CreateArray3D(FunctionId id, Real real, CUarray* array,
                       const CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
  return Create3D(id, real, array, descriptor, 1);
}

template <typename Real>
CUresult CreateMipmap(FunctionId id, Real real, CUmipmappedArray* array,
                      const CUDA_ARRAY3D_DESCRIPTOR* descriptor, unsigned levels) {
  return Create3D(id, real, array, descriptor, levels, levels);
}

template <typename Real, typename Handle>
CUresult DestroyArray(FunctionId id, Real real, Handle array) {
  Hook hook(id);
  const bool records = RecordsAllocations(hook);
  const auto address = reinterpret_cast<std::uint64_t>(array);
  // A mipmapped array may stand for external memory.
  Layer layer = kLayerArray;
  HandleTable::Entry imported;
  if (records && hook.driver()->handles()->Drop(address, HandleKind::kMipmap, &imported) !=
                     HandleTable::Dropped::kUnknown)
    layer = kLayerImported;
  const std::uint64_t before_ns = records ? NowNs() : 0;
  if (records) hook.Freeing(layer, address);
  const CUresult result = real(array);
  if (records) hook.Freed(result, layer, address);
  if (records && result == CUDA_SUCCESS) RecordArrayEnd(&hook, address, before_ns);
  if (layer == kLayerImported && result != CUDA_SUCCESS) hook.driver()->handles()->Add(imported);
  return result;
}

}  // namespace memprof::recorder
