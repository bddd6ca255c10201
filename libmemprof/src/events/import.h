// Memory that belongs to somebody else: other processes (IPC, pools) and other interfaces (external
// memory). Never part of this process's totals; recorded so that what is never closed can be told.
// An import is one event; buffers and arrays that show it are views, which name it.
#pragma once

#include "libmemprof/src/events/call.h"

namespace memprof::recorder {

// cuIpcGetMemHandle and cuMemPoolExportPointer: what comes back by this is the process's own.
template <typename Shared>
struct ExportAddress : MemoryEvent {
  void After(Call* call, CUresult result, Shared* shared, CUdeviceptr pointer) const {
    if (result == CUDA_SUCCESS && shared != nullptr)
      call->driver()->exports()->AddContent(ExportTable::Kind::kAddress, shared,
                                            {pointer, 0, 0, 0});
  }
};
using GetIpc = ExportAddress<CUipcMemHandle>;
using ExportPoolPointer = ExportAddress<CUmemPoolPtrExportData>;

// Opened again in the same context, a handle gives the same address: one event for all of them.
struct OpenIpc : MemoryEvent {
  void After(Call* call, CUresult result, CUdeviceptr* pointer, CUipcMemHandle handle,
             unsigned flags) const;
};

class CloseIpc : public MemoryEvent {
 public:
  void Before(Call* call, CUdeviceptr pointer);
  void After(Call* call, CUresult result, CUdeviceptr pointer);

 private:
  HandleTable::Entry known_;
  HandleTable::Dropped dropped_ = HandleTable::Dropped::kStays;
};

struct ImportPool : MemoryEvent {
  void After(Call* call, CUresult result, CUmemoryPool* pool, void* shared,
             CUmemAllocationHandleType type, unsigned long long flags) const;
};

// Freed by cuMemFree or cuMemFreeAsync, like the program's own.
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
