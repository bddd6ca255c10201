// Memory that others own: other processes (IPC, pools) and other interfaces (external memory). It
// never counts in this process's totals; it is recorded so that imports which are never closed can
// be reported. An import is one event. Buffers and arrays within it are views, which refer to it.
#pragma once

#include "libmemprof/src/events/call.h"

namespace memprof::recorder {

// `handle`: 64 bytes, by which other processes can open the memory at `address`.
void RecordExport(Call* call, const void* handle, CUdeviceptr address);

// cuIpcGetMemHandle and cuMemPoolExportPointer. An import of the same handle is then recognised as
// the process's own memory.
template <typename Shared>
struct ExportAddress : MemoryEvent {
  void After(Call* call, CUresult result, Shared* shared, CUdeviceptr pointer) const {
    static_assert(sizeof(Shared) == ExportTable::kContentBytes);
    if (result == CUDA_SUCCESS && shared != nullptr) RecordExport(call, shared, pointer);
  }
};
using GetIpc = ExportAddress<CUipcMemHandle>;
using ExportPoolPointer = ExportAddress<CUmemPoolPtrExportData>;

// Opening a handle again in the same context returns the same address: recorded once.
struct OpenIpc : MemoryEvent {
  void After(Call* call, CUresult result, CUdeviceptr* pointer, CUipcMemHandle handle,
             unsigned flags) const;
};

class CloseIpc : public MemoryEvent {
 public:
  void Before(Call* call, CUdeviceptr pointer);
  void After(Call* call, CUresult result, CUdeviceptr pointer);

 private:
  HandleTable::Entry entry_;
  HandleTable::Dropped dropped_ = HandleTable::Dropped::kReferenced;
};

struct ImportPool : MemoryEvent {
  void After(Call* call, CUresult result, CUmemoryPool* pool, void* shared,
             CUmemAllocationHandleType type, unsigned long long flags) const;
};

// Freed by cuMemFree or cuMemFreeAsync, like memory of the process itself.
struct ImportPoolPointer : MemoryEvent {
  void After(Call* call, CUresult result, CUdeviceptr* pointer, CUmemoryPool pool,
             CUmemPoolPtrExportData* data) const;
};

struct ImportExternal : MemoryEvent {
  void After(Call* call, CUresult result, CUexternalMemory* memory,
             const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* description) const;
};

struct MapExternalBuffer : MemoryEvent {
  void After(Call* call, CUresult result, CUdeviceptr* pointer, CUexternalMemory memory,
             const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* description) const;
};

struct MapExternalMipmap : MemoryEvent {
  void After(Call* call, CUresult result, CUmipmappedArray* array, CUexternalMemory memory,
             const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC* description) const;
};

struct CloseExternal : MemoryEvent {
  void Before(Call* call, CUexternalMemory memory) const {
    call->Freeing(kLayerImported, Number(memory));
  }
  void After(Call* call, CUresult result, CUexternalMemory memory) const {
    call->Freed(result, kLayerImported, Number(memory));
  }
};

}  // namespace memprof::recorder
