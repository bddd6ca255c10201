// Hooks of memory that belongs to somebody else: other processes (IPC, pools) and other interfaces
// (external memory). Never part of this process's totals; recorded so that what is never closed can
// be told. An import is one event; buffers and arrays that show it are views, which name it.
#pragma once

#include "libmemprof/src/driver/array_bytes.h"
#include "libmemprof/src/hooks/hooks.h"

namespace memprof::recorder {

template <typename Handle>
std::uint64_t HandleNumber(Handle handle) {
  return reinterpret_cast<std::uint64_t>(handle);
}

// Memory of another process at an address here, or of this one: CUDA does not promise that a
// process can open what it exported, but where it can, nothing foreign has come in.
inline void RecordSharedAddress(Hook* hook, CUdeviceptr address, const void* exported,
                                std::uint64_t pool, ImportKind kind) {
  ExportTable::Memory own;
  const bool is_own =
      hook->driver()->exports()->FindContent(ExportTable::Kind::kAddress, exported, &own);
  hook->Allocated(CUDA_SUCCESS, kLayerImported, address, DriverState::BytesAt(address),
                  is_own ? own.handle : pool, is_own ? kImportOwn : kind);
}

// Opened again in the same context, a handle gives the same address: one event for all of them.
template <typename Real>
CUresult OpenIpc(FunctionId id, Real real, CUdeviceptr* pointer, CUipcMemHandle handle,
                 unsigned flags) {
  Hook hook(id);
  const CUresult result = real(pointer, handle, flags);
  if (!RecordsAllocations(hook)) return result;
  hook.Failed(result, kLayerImported);
  if (result == CUDA_SUCCESS &&
      hook.driver()->handles()->Add({*pointer, HandleKind::kIpc, hook.Context().id, 0, 0, 0, 1}))
    RecordSharedAddress(&hook, *pointer, &handle, 0, kImportIpc);
  return result;
}

template <typename Real>
CUresult CloseIpc(FunctionId id, Real real, CUdeviceptr pointer) {
  Hook hook(id);
  const bool records = RecordsAllocations(hook);
  HandleTable::Entry known;
  const auto dropped = records ? hook.driver()->handles()->Drop(pointer, HandleKind::kIpc, &known)
                               : HandleTable::Dropped::kStays;
  const bool last = dropped != HandleTable::Dropped::kStays;
  if (last) hook.Freeing(kLayerImported, pointer);
  const CUresult result = real(pointer);
  if (last) hook.Freed(result, kLayerImported, pointer);
  if (records && result != CUDA_SUCCESS && dropped != HandleTable::Dropped::kUnknown) {
    known.references = 1;
    hook.driver()->handles()->Add(known);
  }
  return result;
}

template <typename Real>
CUresult ImportPool(FunctionId id, Real real, CUmemoryPool* pool, void* shared,
                    CUmemAllocationHandleType type, unsigned long long flags) {
  Hook hook(id);
  const CUresult result = real(pool, shared, type, flags);
  if (!RecordsAllocations(hook)) return result;
  hook.Failed(result, kLayerImported);
  if (result != CUDA_SUCCESS) return result;
  hook.driver()->handles()->Add({HandleNumber(*pool), HandleKind::kPool, 0, 0, 0, 0, 1});
  ring::RingEvent event = hook.Event(kOpPoolCreate, kLayerImported);
  event.address = HandleNumber(*pool);
  event.SetDevice(hook.Context().device);
  hook.Emit(&event, true);
  return result;
}

// Freed by cuMemFree or cuMemFreeAsync, like the program's own.
template <typename Real>
CUresult ImportPoolPointer(FunctionId id, Real real, CUdeviceptr* pointer, CUmemoryPool pool,
                           CUmemPoolPtrExportData* data) {
  Hook hook(id);
  const CUresult result = real(pointer, pool, data);
  if (!RecordsAllocations(hook)) return result;
  hook.Failed(result, kLayerImported);
  if (result == CUDA_SUCCESS)
    RecordSharedAddress(&hook, *pointer, data, HandleNumber(pool), kImportPoolPointer);
  return result;
}

template <typename Real>
CUresult ImportExternal(FunctionId id, Real real, CUexternalMemory* memory,
                        const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* description) {
  Hook hook(id);
  const CUresult result = real(memory, description);
  if (RecordsAllocations(hook))
    hook.Allocated(result, kLayerImported, result == CUDA_SUCCESS ? HandleNumber(*memory) : 0,
                   description == nullptr ? 0 : description->size, 0, kImportExternal);
  return result;
}

template <typename Real>
CUresult MapExternalBuffer(FunctionId id, Real real, CUdeviceptr* pointer, CUexternalMemory memory,
                           const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* description) {
  Hook hook(id);
  const CUresult result = real(pointer, memory, description);
  if (RecordsAllocations(hook))
    hook.Allocated(result, kLayerImported, result == CUDA_SUCCESS ? *pointer : 0,
                   description == nullptr ? 0 : description->size, HandleNumber(memory),
                   kImportExternalView);
  return result;
}

template <typename Real>
CUresult MapExternalMipmap(FunctionId id, Real real, CUmipmappedArray* array,
                           CUexternalMemory memory,
                           const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC* description) {
  Hook hook(id);
  const CUresult result = real(array, memory, description);
  if (!RecordsAllocations(hook)) return result;
  const bool success = result == CUDA_SUCCESS;
  if (success)
    hook.driver()->handles()->Add(
        {HandleNumber(*array), HandleKind::kMipmap, hook.Context().id, 0, 0, 0, 1});
  hook.Allocated(
      result, kLayerImported, success ? HandleNumber(*array) : 0,
      description == nullptr ? 0 : ArrayBytes3D(&description->arrayDesc, description->numLevels),
      HandleNumber(memory), kImportExternalArray);
  return result;
}

// Gives the import of that handle back.
template <typename Real, typename Handle>
CUresult CloseImport(FunctionId id, Real real, Handle handle) {
  Hook hook(id);
  const bool records = RecordsAllocations(hook);
  if (records) hook.Freeing(kLayerImported, HandleNumber(handle));
  const CUresult result = real(handle);
  if (records) hook.Freed(result, kLayerImported, HandleNumber(handle));
  return result;
}

}  // namespace memprof::recorder
